"""Columns of numbers that become a matrix as they are: no blank, nothing unusual. Needs numpy alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray

ROWS_AT_ONCE = 512
"""A matrix is filled column by column: so many rows of it stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class UsualNumbers:
    """The columns of n rows, d arrays (n,) of numbers.

    Examples
    --------
    >>> table = UsualNumbers((np.array([1, 2, 3]), np.array([0.5, 1.5, 2.5])))
    >>> table.matrix().tolist()
    [[1.0, 0.5], [2.0, 1.5], [3.0, 2.5]]
    >>> [len(block) for block in table.blocks(2)]
    [2, 1]
    """

    columns: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def matrix(self) -> FloatArray:
        """Return all rows, (n, d)."""
        matrix = np.empty((len(self), len(self.columns)))
        for start in range(0, len(self), ROWS_AT_ONCE):
            for place, values in enumerate(self.columns):
                matrix[start : start + ROWS_AT_ONCE, place] = values[start : start + ROWS_AT_ONCE]
        return matrix

    def blocks(self, n_rows: int) -> Iterator[FloatArray]:
        """Yield the rows, at most so many at a time; column by column in memory, which a product takes as well.

        A block lies where the one before was: it is to be used before the next one is asked for.
        """
        columns = np.empty((len(self.columns), min(n_rows, len(self))))
        for start in range(0, len(self), n_rows):
            block = columns[:, : len(self) - start]
            for place, values in enumerate(self.columns):
                block[place] = values[start : start + n_rows]
            yield block.T
