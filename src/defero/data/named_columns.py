"""Columns that somebody chose by name and that cannot be used, with the first cell in the way. Needs numpy alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from defero.core.errors import TableError
from defero.data.cells import column_kind, is_blank, number_of, numbers, shown, texts
from defero.data.columns import row_number
from defero.data.recipe_columns import CategoricalColumn, learn_categories

_ODD = 0.5
"""A column of numbers has fewer other values than this share of all."""


def odd_cell(column: Any) -> int | None:
    """Return the place of the first cell that is no number in a column of numbers; None in any other column.

    >>> odd_cell(["1.5", None, "12,50", "3"]), odd_cell(["a", "b", "3"]), odd_cell([1.0, 2.0])
    (2, None, None)
    """
    if column_kind(column) != "text":
        return None
    levels = {cell for cell in texts(column) if cell is not None}
    words = sum(number_of(level) is None for level in levels)
    if not 0 < words < _ODD * len(levels):
        return None
    return int(np.flatnonzero(numbers(column)[1])[0])


def refuse_unused(
    learn: Any, frame: Any, names: Sequence[str], *, source: str, first_row: int, max_categories: int = 20
) -> None:
    """Refuse a column that was chosen and cannot be read; one that is blank or constant says nothing and may stay.

    Parameters
    ----------
    learn : DataFrame
        The rows to learn from: what they hold settles what becomes of a column.
    frame : DataFrame
        All rows, in which the first odd cell is looked for.
    names : columns
        Those chosen, less the texts.
    source, first_row : str, int
        What a message calls the table, and its first row.
    """
    for name in names:
        kind = column_kind(learn[name])
        if kind in {"number", "empty"}:
            continue
        cells = texts(learn[name])
        if kind == "text":
            found = learn_categories(name, cells, max_categories=max_categories)
            if isinstance(found, CategoricalColumn) or len(set(cells)) == 1:
                continue
            reason = found
        else:
            reason = "dates are not used" if kind == "date" else "its cells are neither numbers nor text"
        raise TableError(_refusal(frame, name, reason, source=source, first_row=first_row))


def _refusal(frame: Any, name: str, reason: str, *, source: str, first_row: int) -> str:
    place = odd_cell(frame[name])
    if place is None:
        values = np.asarray(frame[name]).astype(object).tolist()
        place = next(row for row, cell in enumerate(values) if not is_blank(cell))
        why = f"the column is named as a feature and cannot be one: {reason}."
    else:
        why = "it is not a number, and the others are; leave the cell blank if it is unknown."
    row = row_number(frame, place, first_row=first_row)
    came = shown(np.asarray(frame[name]).astype(object)[place])
    return f"{source}: row {row}, column {name}: got {came}; {why}"
