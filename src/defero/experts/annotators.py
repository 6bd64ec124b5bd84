"""Experts around a person's label: one drawn from recorded votes, one that is flipped at random, one who may guess."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import IntArray, float_matrix, index_numbers
from defero.core.checks.options import check_generator, probability, whole_number
from defero.core.errors import InputError
from defero.experts.specialists import right_with


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


def annotator_flip(human: ArrayLike, *, p_flip: float, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Give the human annotator's label, but another class with probability `p_flip`.

    | situation        | answer                  | probability      |
    | ---------------- | ----------------------- | ---------------- |
    | the human says h | h                       | 1 - p_flip       |
    |                  | each of the other K - 1 | p_flip / (K - 1) |

    A flip is a real one: the answer then differs from the human's. It may happen to be the truth.

    Parameters
    ----------
    human : (n,) int
        The class numbers 0..K-1 that a person gave.
    p_flip : float
        P(the answer is not the human's).
    n_classes : int
        K, at least 2: else there is nothing to flip to.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) int64
        The expert's answers.

    Examples
    --------
    >>> human = np.array([0, 1, 1])
    >>> annotator_flip(human, p_flip=0.0, n_classes=2, rng=np.random.default_rng(0)).tolist()
    [0, 1, 1]
    >>> annotator_flip(human, p_flip=1.0, n_classes=2, rng=np.random.default_rng(0)).tolist()
    [1, 0, 0]
    """
    check_generator(rng)
    n_classes = whole_number("n_classes", n_classes, least=2)
    human_idx = index_numbers("human", human, below=n_classes)
    return right_with(human_idx, 1 - probability("p_flip", p_flip), n_classes=n_classes, rng=rng)


def annotator_mixture(human: ArrayLike, *, p_human: float, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Give the human annotator's label with probability `p_human`, else guess over all K classes.

    | situation        | answer                  | probability                 |
    | ---------------- | ----------------------- | --------------------------- |
    | the human says h | h                       | p_human + (1 - p_human) / K |
    |                  | each of the other K - 1 | (1 - p_human) / K           |

    The guess may hit the human's label, so the two agree more often than `p_human`.

    Parameters
    ----------
    human : (n,) int
        The class numbers 0..K-1 that a person gave.
    p_human : float
        P(no guess is made).
    n_classes : int
        K.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) int64
        The expert's answers.

    Examples
    --------
    >>> annotator_mixture(np.array([0, 1, 1]), p_human=1.0, n_classes=2, rng=np.random.default_rng(0)).tolist()
    [0, 1, 1]
    """
    check_generator(rng)
    n_classes = whole_number("n_classes", n_classes, least=1)
    human_idx = index_numbers("human", human, below=n_classes)
    attends = rng.random(len(human_idx)) < probability("p_human", p_human)
    guess = rng.integers(n_classes, size=len(human_idx))
    return np.where(attends, human_idx, guess)
