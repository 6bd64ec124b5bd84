"""A person's label, drawn from recorded votes."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import IntArray, check_generator, float_matrix
from defero.core.errors import InputError


def draw_human(votes: ArrayLike, *, rng: np.random.Generator) -> IntArray:
    """Draw one person's label from each item's votes.

    P(class k) = votes of class k / all votes of the item.

    Parameters
    ----------
    votes : (n, K)
        Counts or fractions, not negative; each item has at least one vote.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) int64
        A class that somebody voted for.

    Examples
    --------
    >>> draw_human([[0, 3, 0], [1, 0, 0]], rng=np.random.default_rng(0)).tolist()
    [1, 0]
    """
    check_generator(rng)
    counts = float_matrix("votes", votes)
    negative = np.argwhere(counts < 0)
    if len(negative):
        row, column = negative[0]
        raise InputError(
            f"must not be negative, got {counts[row, column]:g} for item {row}, class {column}; "
            "pass counts or fractions.",
            argument="votes",
        )
    up_to = np.cumsum(counts, axis=1)
    empty = np.flatnonzero(~(counts > 0).any(axis=1))
    if empty.size:
        raise InputError(
            f"must hold at least one vote per item, got none for item {empty[0]}; drop such items.", argument="votes"
        )
    # u * total stays below the total for u < 1, so the classes after the last vote are never reached.
    point = rng.random(len(counts)) * up_to[:, -1]
    return (up_to <= point[:, None]).sum(axis=1)
