"""Features that belong together, and so share one spread."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import FloatArray, IntArray
from defero.core.errors import InputError


def category_groups(phi: FloatArray) -> IntArray:
    """Give each feature a number, (d,): neighbours that code one category get the same, any other feature its own.

    Such neighbours are 0 or 1 and one of them is 1 in each row. Who is strong in one category of a column may be joined
    by somebody strong in another one, in which the known experts are all alike.

    >>> category_groups(np.array([[0.3, 1, 0, 0, 1], [0.8, 0, 1, 0, 1], [0.1, 0, 0, 1, 0]])).tolist()
    [0, 1, 1, 1, 2]
    """
    d = phi.shape[1]
    number = np.arange(d)
    binary = ((phi == 0) | (phi == 1)).all(axis=0)
    first = 0
    while len(phi) and first < d:
        total, last = np.zeros(len(phi)), first
        while last < d and binary[last] and total.min() < 1 and total.max() <= 1:
            total, last = total + phi[:, last], last + 1
        if total.min() == 1 == total.max():
            number[first:last] = first
            first = last
        else:
            first += 1
    return np.unique(number, return_inverse=True)[1].astype(np.int64)


def given_groups(groups: ArrayLike, *, n_features: int) -> IntArray:
    """Return groups as somebody gave them, numbered, (d,)."""
    given = np.asarray(groups)
    if given.shape != (n_features,):
        raise InputError(f"groups must have {n_features} entries, one per column of phi, got shape {given.shape}.")
    return np.unique(given, return_inverse=True)[1].astype(np.int64)
