"""Specialists: experts who know the label better in a field than elsewhere."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_generator,
    index_numbers,
    probability,
    whole_number,
)


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
