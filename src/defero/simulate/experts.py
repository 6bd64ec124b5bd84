"""Simulated experts: a person drawn from recorded votes, a specialist of some classes, several side by side."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_generator,
    check_shape,
    float_matrix,
    index_numbers,
    probability,
    refuse,
    whole_number,
)
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
    refuse("votes", counts, counts < 0, "must not be negative", "pass counts or fractions")
    up_to = np.cumsum(counts, axis=1)
    empty = np.flatnonzero(~(counts > 0).any(axis=1))
    if empty.size:
        raise InputError(
            f"must hold at least one vote per item, got none for item {empty[0]}; drop such items.", argument="votes"
        )
    # u * total stays below the total for u < 1, so the classes after the last vote are never reached.
    point = rng.random(len(counts)) * up_to[:, -1]
    return (up_to <= point[:, None]).sum(axis=1)


def other_class(label_idx: IntArray, *, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Draw uniformly from the K - 1 classes that are not the label, (n,) -> (n,).

    >>> other_class(np.array([0, 1, 1]), n_classes=2, rng=np.random.default_rng(0)).tolist()
    [1, 0, 0]
    """
    # A step of 1..K-1 around the circle of classes never comes back to the label.
    return (label_idx + rng.integers(1, n_classes, size=len(label_idx))) % n_classes


def right_with(
    label_idx: IntArray, right_proba: FloatArray | float, *, n_classes: int, rng: np.random.Generator
) -> IntArray:
    """Give the label with probability `right_proba` (n,), else another class; P(right) is exactly that.

    For one state of `rng` the answers are nested: raising a probability never makes a right answer wrong.

    >>> right_with(np.array([2, 2, 2]), np.array([1.0, 1.0, 1.0]), n_classes=3, rng=np.random.default_rng(0)).tolist()
    [2, 2, 2]
    """
    is_right = rng.random(len(label_idx)) < right_proba  # random() < 1: p = 1 is always right, p = 0 never
    return np.where(is_right, label_idx, other_class(label_idx, n_classes=n_classes, rng=rng))


def class_mask(classes: Iterable[int], *, n_classes: int) -> BoolArray:
    """Return (K,): is class k one of `classes`?

    >>> class_mask({0, 2}, n_classes=3).tolist()
    [True, False, True]
    """
    mask = np.zeros(n_classes, dtype=np.bool_)
    mask[index_numbers("classes", list(classes), below=n_classes)] = True
    return mask


def specialist(
    labels: ArrayLike,
    *,
    classes: Iterable[int],
    p_in: float,
    p_out: float,
    n_classes: int,
    rng: np.random.Generator,
) -> IntArray:
    """Answer right with probability `p_in` on `classes` and `p_out` elsewhere.

    | situation        | answer                   | probability           |
    | ---------------- | ------------------------ | --------------------- |
    | y in classes     | y                        | p_in                  |
    |                  | each of the other K - 1  | (1 - p_in) / (K - 1)  |
    | y not in classes | y                        | p_out                 |
    |                  | each of the other K - 1  | (1 - p_out) / (K - 1) |

    A wrong answer is really wrong, so P(right) is exactly p_in or p_out, not a little more.

    Parameters
    ----------
    labels : (n,) int
        The true class numbers 0..K-1.
    classes : class numbers
        The expert's field; may be empty or all of them.
    p_in, p_out : float
        P(right) inside and outside the field.
    n_classes : int
        K, at least 2: else there is no wrong answer to give.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) int64
        The expert's answers.

    Examples
    --------
    >>> labels = np.array([0, 1, 2, 2])
    >>> specialist(labels, classes=[2], p_in=1.0, p_out=0.0, n_classes=3, rng=np.random.default_rng(0)).tolist()
    [1, 0, 2, 2]
    """
    check_generator(rng)
    n_classes = whole_number("n_classes", n_classes, least=2)
    label_idx = index_numbers("labels", labels, below=n_classes)
    in_field = class_mask(classes, n_classes=n_classes)[label_idx]
    right_proba = np.where(in_field, probability("p_in", p_in), probability("p_out", p_out))
    return right_with(label_idx, right_proba, n_classes=n_classes, rng=rng)


class ExpertLaw(Protocol):
    """Labels (n,) in, answers (n,) out: one of this package's laws with its options bound."""

    def __call__(self, labels: IntArray, /, *, rng: np.random.Generator) -> IntArray:
        """Draw the answers."""
        ...


def simulate_pool(labels: ArrayLike, laws: Sequence[ExpertLaw], *, rng: np.random.Generator) -> IntArray:
    """Draw every expert's answers, one column per law.

    Each law gets a child generator (`rng.spawn`), so that experts are independent given the labels, and an
    expert added at the end leaves the answers of those before it as they were. Called again with the same
    `rng`, it draws afresh.

    Parameters
    ----------
    labels : (n,) int
        The true class numbers; each law checks them.
    laws : J callables `law(labels, rng=...) -> (n,)`
        Bind a law's options with `functools.partial`. A law over a person's labels ignores the truth:
        `lambda labels, rng: specialist(human, classes=[], p_in=1, p_out=0.9, n_classes=2, rng=rng)`.
    rng : numpy.random.Generator

    Returns
    -------
    (n, J) int64
        The answers; no column where there is no law.

    Examples
    --------
    >>> from functools import partial
    >>> from defero.simulate import specialist
    >>> knows_0 = partial(specialist, classes=[0], p_in=1, p_out=0, n_classes=2)
    >>> knows_both = partial(specialist, classes=[0, 1], p_in=1, p_out=0, n_classes=2)
    >>> simulate_pool(np.array([0, 1]), [knows_both, knows_0], rng=np.random.default_rng(3)).tolist()
    [[0, 0], [1, 0]]
    """
    check_generator(rng)
    label_idx = np.asarray(labels)
    check_shape("labels", label_idx, ("n",), like=", one class number per item")
    pool = np.empty((len(label_idx), len(laws)), dtype=np.int64)
    for j, (law, child) in enumerate(zip(laws, rng.spawn(len(laws)), strict=True)):
        answers = np.asarray(law(label_idx, rng=child))
        if answers.shape != label_idx.shape or answers.dtype.kind not in "iu":
            raise InputError(
                f"must return {len(label_idx)} class numbers, one per label, "
                f"got shape {answers.shape} of {answers.dtype}.",
                argument=f"laws[{j}]",
            )
        pool[:, j] = answers
    return pool
