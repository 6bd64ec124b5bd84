"""How many different cases look alike by chance, in tables of few distinct values and of correlated columns."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks.arrays import IntArray
from defero.core.splits.split import sample_rows
from defero.data.fingerprint import HashArray, row_fingerprints

MOST_ROWS = 2_000
"""Rows from which the dependence of columns is estimated."""
MOST_COLUMNS = 256
"""Columns that are compared; more can only make two cases less alike."""
_NEVER = 1e-15
"""A chance below this is as good as none."""
_LEAST_PAIRS = 30
_PAIRS_A_ROW = 10
"""Copies of rows add at most about one pair a row: few beside so many."""


def chance_alike(table: Any) -> float:
    """Return the chance that two different cases agree in every column.

    The product over the columns of the chance that a pair agrees in it, given that it agrees in the columns before:
    in all of them as long as many pairs do, otherwise in the one that tells most. So correlated columns count, and a
    few copies of a case do not.

    Parameters
    ----------
    table : (n, d) array or DataFrame, or pictures (n, ...)

    Examples
    --------
    >>> chance_alike(np.array([[1, 5], [1, 6], [2, 5], [2, 6]]))  # a pair of four agrees in a column twice of six times
    0.1111111111111111
    """
    flat = table if hasattr(table, "columns") else table.reshape(len(table), -1)
    grid = table.iloc if hasattr(table, "columns") else flat
    # Pictures have thousands of columns, and those of a dark border never vary: some from everywhere tell enough.
    marks = [row_fingerprints(grid[:, [place]]) for place in sample_rows(flat.shape[1], MOST_COLUMNS)]
    alone = [equal_pairs(column) for column in marks]
    if not all(alone):
        return 0.0
    sample = sample_rows(len(table), MOST_ROWS)
    chance, before = 1.0, _Before(np.zeros(len(sample), dtype=np.int64), True, ())
    for column, share in zip(marks, alone, strict=True):
        codes = _codes(column[sample])
        columns = before.columns if not before.is_all else ()
        chance *= max([share, *(_share_given(codes, other, share) for other in (before.joint, *columns))])
        if chance < _NEVER:
            return chance
        before = before.with_column(codes)
    return chance


@dataclass(frozen=True)
class _Before:
    """The columns before one: jointly as far as many pairs agree in them, and each by itself.

    Attributes
    ----------
    joint : (n,)
        Codes of the first columns together.
    is_all : bool
        Whether these are all.
    columns : tuple of (n,)
    """

    joint: IntArray
    is_all: bool
    columns: tuple[IntArray, ...]

    def with_column(self, codes: IntArray) -> "_Before":
        together = _joined(self.joint, codes)
        is_all = self.is_all and _n_pairs(together) >= _PAIRS_A_ROW * len(codes)
        return _Before(together if is_all else self.joint, is_all, (*self.columns, codes))


def equal_pairs(rows: HashArray) -> float:
    """Return the share of the pairs of rows that are equal; 0 where there is no pair.

    >>> equal_pairs(np.array([3, 3, 4], dtype=np.uint64))
    0.3333333333333333
    """
    _, counts = np.unique(rows, return_counts=True)
    return float((counts * (counts - 1)).sum() / (len(rows) * (len(rows) - 1))) if len(rows) > 1 else 0.0


def most_by_chance(expected: float) -> float:
    """Return what chance hardly goes beyond where it makes so many."""
    return expected + 4 * math.sqrt(expected)


def _share_given(column: IntArray, other: IntArray, share: float) -> float:
    """Return the share of the pairs equal in `other` that are equal in `column`; 0 if it is `share` but for noise."""
    n_pairs = _n_pairs(other)
    if n_pairs < _LEAST_PAIRS:
        return 0.0
    of_other = _n_pairs(_joined(other, column)) / n_pairs
    return of_other if of_other > share + 3 * math.sqrt(share / n_pairs) else 0.0


def _joined(first: IntArray, second: IntArray) -> IntArray:
    return _codes(first * (second.max() + 1) + second)


def _codes(cells: Any) -> IntArray:
    """Return the cells as numbers from 0, equal where they are equal."""
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)


def _n_pairs(codes: IntArray) -> int:
    counts = np.bincount(codes)
    return int((counts * (counts - 1)).sum() // 2)
