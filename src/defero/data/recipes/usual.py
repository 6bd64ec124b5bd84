"""The numbers of columns: which cells hold one, and which are usual, not far beyond the training range.

Needs numpy alone.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.codec import Within
from defero.core.errors import InputError, TableError
from defero.data.tables.bad_rows import NOT_A_NUMBER, BadCell, bad_cell
from defero.data.tables.cells import numbers

LARGEST_NUMBER = 1e100
"""Cells with a larger number are refused: its square, and sums of squares, would be no floats."""


def checked_numbers(frame: Any, column_key: Any, *, source: str, first_row: int) -> FloatArray:
    """Return the numbers of a column, (n,), NaN where blank; a cell that holds something else is an error."""
    values, bad, what = _numbers(frame[column_key])
    if bad.size:
        raise TableError(f"{source}: {_bad(frame, column_key, int(bad[0]), what, first_row).sentence()}")
    return values


def bad_numbers(frame: Any, column_key: Any, *, first_row: int) -> list[BadCell]:
    """Return all cells of a column that are no numbers, or too large."""
    _, bad, what = _numbers(frame[column_key])
    return [_bad(frame, column_key, place, what, first_row) for place in bad.tolist()]


def _numbers(column: Any) -> tuple[FloatArray, IntArray, Any]:
    values, wrong = numbers(column)
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(wrong | (np.abs(values) > LARGEST_NUMBER))
    return values, bad, wrong


def _bad(frame: Any, column_key: Any, place: int, wrong: Any, first_row: int) -> BadCell:
    why = NOT_A_NUMBER if wrong[place] else f"is not a finite number of at most {LARGEST_NUMBER:g}"
    return bad_cell(frame, column_key, place, f"{why}; leave the cell blank if it is unknown", first_row=first_row)


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


@dataclass(frozen=True, eq=False)
class UsualRanges:
    """The usual numbers of the d columns of a matrix.

    Attributes
    ----------
    low, high : (d,)
        The first unusual ones of each column, see `usual_bounds`; infinite for a column that was the same in every row.

    Examples
    --------
    >>> ranges = UsualRanges.learn(np.array([[0.0, 5.0], [1.0, 5.0], [0.5, 5.0]]))
    >>> ranges.outside(ranges.clip(np.array([[0.7, 9.0], [999.0, 5.0]]))).tolist()
    [[False, False], [True, False]]
    """

    low: Annotated[FloatArray, Within(finite=False)]
    high: Annotated[FloatArray, Within(finite=False)]

    def __post_init__(self) -> None:
        if self.low.ndim != 1 or self.low.shape != self.high.shape or not (self.low < self.high).all():
            raise InputError("must be two bounds for each column.", argument="usual")

    @classmethod
    def learn(cls, matrix: FloatArray) -> "UsualRanges":
        """Learn from the training rows (n, d)."""
        bounds = [usual_bounds(column) if (column != column[0]).any() else (-math.inf, math.inf) for column in matrix.T]
        low, high = np.array(bounds, dtype=np.float64).reshape(-1, 2).T
        return cls(low, high)

    def clip(self, matrix: FloatArray) -> FloatArray:
        """Return the matrix (n, d) with unusual numbers moved to the first unusual one on their side."""
        return np.clip(matrix, self.low, self.high)

    def outside(self, matrix: FloatArray) -> BoolArray:
        """Return which numbers are unusual, (n, d); of a matrix that was clipped the same ones."""
        return (matrix <= self.low) | (matrix >= self.high)
