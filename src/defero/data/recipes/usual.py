"""Which numbers are usual: not far beyond the training range. Needs numpy alone."""

import math
from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray

MIDDLE = (0.05, 0.95)
"""Quantiles between which the middle of a column lies."""
TAIL_FACTOR = 4.0
"""How many times a tail's length a number may lie beyond it."""
ENOUGH_FOR_MIDDLE, ENOUGH_FOR_TAIL = 100, 1000
"""Values that show a column's middle and its tails; with fewer of them the bounds are wider in proportion."""


def usual_bounds(values: FloatArray) -> tuple[float, float]:
    """Return the first unusual numbers on both sides, from training values (n,), NaN where blank.

    A number is unusual if it lies beyond the largest training value by more than the middle 90 % of the values are
    wide, and by more than four times the length of the upper tail, from the 95 % quantile to the largest value. The
    first is multiplied by 100 / n where there are fewer than 100 values, the second by 1,000 / n where there are
    fewer than 1,000. The lower side is alike. So amounts with a long tail may be several times as large as any before,
    and a column without tails is judged by its width.

    >>> usual_bounds(np.linspace(-3.0, 3.0, 1001))  # short tails: the middle, 5.4 wide, decides
    (-8.4..., 8.4...)
    >>> low, high = usual_bounds(np.exp(np.linspace(0.0, 7.0, 1001)))  # the long tail decides
    >>> round(low), round(high)
    (-770, 2392)
    """
    values = values[~np.isnan(values)]
    # The nearest value, not one between two: their difference may be no float.
    low, start, end, high = np.quantile(values, [0.0, *MIDDLE, 1.0], method="nearest").tolist()
    middle = (end - start) * max(1.0, ENOUGH_FOR_MIDDLE / len(values))
    factor = TAIL_FACTOR * max(1.0, ENOUGH_FOR_TAIL / len(values))
    below = max(middle, factor * (start - low)) or high - low
    above = max(middle, factor * (high - end)) or high - low
    return math.nextafter(low - below, -math.inf), math.nextafter(high + above, math.inf)


@dataclass(frozen=True)
class UsualRanges:
    """The usual numbers of the d columns of a matrix.

    Attributes
    ----------
    low, high : d numbers
        The first unusual ones of each column, see `usual_bounds`; infinite for a column that was the same in every row.

    Examples
    --------
    >>> ranges = UsualRanges.learn(np.array([[0.0, 5.0], [1.0, 5.0], [0.5, 5.0]]))
    >>> ranges.outside(ranges.clip(np.array([[0.7, 9.0], [999.0, 5.0]]))).tolist()
    [[False, False], [True, False]]
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def learn(cls, matrix: FloatArray) -> "UsualRanges":
        """Learn from the training rows (n, d)."""
        bounds = [usual_bounds(column) if (column != column[0]).any() else (-math.inf, math.inf) for column in matrix.T]
        return cls(tuple(low for low, _ in bounds), tuple(high for _, high in bounds))

    def clip(self, matrix: FloatArray) -> FloatArray:
        """Return the matrix (n, d) with unusual numbers moved to the first unusual one on their side."""
        return np.clip(matrix, self.low, self.high)

    def outside(self, matrix: FloatArray) -> BoolArray:
        """Return which numbers are unusual, (n, d); of a matrix that was clipped the same ones."""
        return (matrix <= np.array(self.low)) | (matrix >= np.array(self.high))
