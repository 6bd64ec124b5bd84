"""What the set predictors accept: each check returns a clean value or raises a sentence that names the argument."""

from collections.abc import Hashable

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray, true_or_false
from defero.core.errors import InputError
from defero.core.labels import is_missing

Group = Hashable
"""A group's name: text or a number. None where there are no groups."""


def known_right(correct: ArrayLike, observed: ArrayLike | None, *, shape: tuple[int, ...]) -> BoolArray:
    """Return (n, J): is expert j known to have been right on item i?

    >>> known_right([[1, 1]], [[True, False]], shape=(1, 2)).tolist()
    [[True, False]]
    """
    right = true_or_false("correct", correct, shape=shape)
    return right if observed is None else right & true_or_false("observed", observed, shape=shape)


def group_names(groups: ArrayLike, *, n_items: int) -> list[Group]:
    """Return the group of each item, n names.

    >>> group_names(np.array([1, 2]), n_items=2)
    [1, 2]
    """
    array = np.asarray(groups)
    if array.shape != (n_items,):
        raise InputError(f"groups must have shape ({n_items},), one group per item, got {array.shape}.")
    found = [one.item() if isinstance(one, np.generic) else one for one in array.tolist()]
    for one in dict.fromkeys(found):
        if is_missing(one):
            raise InputError(f"groups must name a group for each item, got {one} for item {found.index(one)}.")
    return found
