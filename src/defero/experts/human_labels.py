"""A person's label for each item: drawn from recorded votes, or a stand-in where there are none."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import IntArray, float_matrix
from defero.core.errors import InputError
from defero.experts.arguments import check_generator, class_numbers, probability, whole_number
from defero.experts.draws import right_with

STAND_IN_ACCURACY = 0.765  # of the human label on the authors' galaxies


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
            f"votes must not be negative, got {counts[row, column]:g} for item {row}, class {column}; "
            "pass counts or fractions."
        )
    up_to = np.cumsum(counts, axis=1)
    empty = np.flatnonzero(~(counts > 0).any(axis=1))
    if empty.size:
        raise InputError(f"votes must hold at least one vote per item, got none for item {empty[0]}; drop such items.")
    # u * total stays below the total for u < 1, so the classes after the last vote are never reached.
    point = rng.random(len(counts)) * up_to[:, -1]
    return (up_to <= point[:, None]).sum(axis=1)


def stand_in_human(
    labels: ArrayLike, *, rng: np.random.Generator, accuracy: float = STAND_IN_ACCURACY, n_classes: int = 2
) -> IntArray:
    """Simulate a stand-in for a person's label: right with probability `accuracy`, on every item alike.

    It is no person's answer. It stands in where the votes are not to be had, as for the 2,000 galaxies; real
    people err on hard items, the stand-in anywhere. A result that rests on it must say so.

    Parameters
    ----------
    labels : (n,) int
        The true class numbers 0..K-1.
    rng : numpy.random.Generator
    accuracy : float
        P(right); a wrong answer is uniform over the K - 1 other classes.
    n_classes : int
        K, at least 2.

    Returns
    -------
    (n,) int64
        The stand-in's labels.

    Examples
    --------
    >>> stand_in_human([0, 1, 1], rng=np.random.default_rng(0), accuracy=1.0).tolist()
    [0, 1, 1]
    """
    check_generator(rng)
    n_classes = whole_number("n_classes", n_classes, least=2)
    label_idx = class_numbers("labels", labels, n_classes=n_classes)
    return right_with(label_idx, probability("accuracy", accuracy), n_classes=n_classes, rng=rng)
