"""Laws as tables (K, K): P(answer | the class that the expert reads), one row per class, each row summing to 1."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from defero import InputError
from defero_verma2023.arrays import FloatArray, IntArray
from defero_verma2023.pools.checks import class_mask

TOLERANCE = 1e-9


def right_by_class(classes: Iterable[int], *, inside: float, outside: float, n_classes: int) -> FloatArray:
    """Return (K,): `inside` for the classes of a field, `outside` for the others.

    >>> right_by_class([2], inside=0.7, outside=0.1, n_classes=3).tolist()
    [0.1, 0.1, 0.7]
    """
    return np.where(class_mask(classes, n_classes=n_classes), inside, outside)


def guess_table(n_classes: int) -> FloatArray:
    """Return the table of one who guesses over all K classes.

    >>> guess_table(2).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return np.full((n_classes, n_classes), 1 / n_classes)


def or_guess_table(copy_proba: FloatArray) -> FloatArray:
    """Return the table of one who says what is read with probability (K,), else guesses over all K classes.

    The guess may hit: class k is given with probability p_k + (1 - p_k) / K.

    >>> or_guess_table(np.array([1.0, 0.5])).tolist()
    [[1.0, 0.0], [0.25, 0.75]]
    """
    return np.diag(copy_proba) + (1 - copy_proba)[:, None] / len(copy_proba)


def or_other_table(copy_proba: FloatArray) -> FloatArray:
    """Return the table of one who says what is read with probability (K,), else one of the K - 1 other classes.

    >>> or_other_table(np.array([1.0, 0.5, 0.0])).tolist()
    [[1.0, 0.0, 0.0], [0.25, 0.5, 0.25], [0.5, 0.5, 0.0]]
    """
    n_classes = len(copy_proba)
    others = 1 - np.eye(n_classes)
    return np.diag(copy_proba) + others * (1 - copy_proba)[:, None] / (n_classes - 1)


def probability_rows(name: str, value: ArrayLike) -> FloatArray:
    """Return a (K, K) table whose rows are probabilities.

    >>> probability_rows("table", [[1, 0], [0.5, 0.5]]).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    table = np.asarray(value, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
        raise InputError(f"{name} must be a (K, K) table P(answer | class read), got shape {table.shape}.")
    sums = table.sum(axis=1)
    bad = np.flatnonzero(~((table >= 0).all(axis=1) & (np.abs(sums - 1) <= TOLERANCE)))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"{name} must have rows of probabilities that sum to 1, got {table[row].tolist()} in row {row}."
        )
    return table


def draw_from_table(read_idx: IntArray, table: FloatArray, *, rng: np.random.Generator) -> IntArray:
    """Draw one answer per item from the row of the class that was read, (n,) -> (n,).

    An answer of probability 0 never comes, and one of probability 1 always.

    >>> draw_from_table(np.array([0, 1, 1]), np.array([[0.0, 1.0], [1.0, 0.0]]), rng=np.random.default_rng(0)).tolist()
    [1, 0, 0]
    """
    cumulative = np.cumsum(table, axis=1)
    # A sum such as 0.9999999999999999 would leave a gap for an answer of probability 0 behind it; x / x is 1.
    cumulative /= cumulative[:, -1:]
    uniform = rng.random(len(read_idx))
    answer_idx = np.zeros(len(read_idx), dtype=np.int64)
    for steps in cumulative.T[:-1]:
        answer_idx += steps[read_idx] <= uniform
    return answer_idx
