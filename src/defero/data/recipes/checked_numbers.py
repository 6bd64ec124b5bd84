"""The numbers of a column, and which of its cells are none."""

from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import TableError
from defero.data.tables.bad_cells import NOT_A_NUMBER, BadCell, bad_cell
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
