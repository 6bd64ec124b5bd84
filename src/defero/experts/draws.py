"""What laws are made of: another class, the right class with a given probability, and which classes are known."""

from collections.abc import Iterable

import numpy as np

from defero.core.checks import BoolArray, FloatArray, IntArray, index_numbers


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
