"""Counting votes per class, and choosing the class that stands first."""

import numpy as np

from defero.core.checks import BoolArray, FloatArray, IntArray

_TIE = 1e-9
"""Sums of weights depend on the order of the experts in the last digits; closer than this is a tie."""


def tally(answers: IntArray, heard: BoolArray, weights: FloatArray, *, n_classes: int) -> FloatArray:
    """Return the weight that stands behind each class, (n, K).

    >>> tally(np.array([[0, 1, 1]]), np.array([[True, True, True]]), np.array([[3.0, 1.0, 1.0]]), n_classes=2).tolist()
    [[3.0, 2.0]]
    """
    rows, columns = np.nonzero(heard)
    cells = rows * n_classes + answers[rows, columns]
    sums = np.bincount(cells, weights=weights[rows, columns], minlength=len(answers) * n_classes)
    return sums.reshape(len(answers), n_classes).astype(np.float64)


def strongest(answers: IntArray, heard: BoolArray, values: FloatArray, *, n_classes: int) -> FloatArray:
    """Return the largest value among those who answered each class, (n, K); 0 where nobody did.

    >>> strongest(np.array([[1, 1]]), np.array([[True, True]]), np.array([[0.5, 0.75]]), n_classes=2).tolist()
    [[0.0, 0.75]]
    """
    best = np.zeros((len(answers), n_classes))
    for j in range(answers.shape[1]):
        rows = np.flatnonzero(heard[:, j])
        cells = (rows, answers[rows, j])
        best[cells] = np.maximum(best[cells], values[rows, j])
    return best


def first_best(*criteria: FloatArray) -> IntArray:
    """Return the class that is largest by the first criterion, ties by the next one, at last the first class, (n,).

    >>> first_best(np.array([[2.0, 2.0, 1.0]]), np.array([[0.1, 0.2, 0.7]])).tolist()
    [1]
    """
    standing = np.ones(criteria[0].shape, dtype=np.bool_)
    for criterion in criteria:
        value = np.where(standing, criterion, -np.inf)
        standing &= value >= value.max(axis=1, keepdims=True) - _TIE
    return standing.argmax(axis=1)


def at(values: FloatArray, label_idx: IntArray) -> FloatArray:
    """Return each item's value at its class, (n,)."""
    return values[np.arange(len(values)), label_idx]
