"""Columns that somebody chose by name and that cannot be used, with the first cell in the way. Needs numpy alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.errors import TableError
from defero.data.recipes.columns import ODD, CategoricalColumn, learn_categories
from defero.data.tables.cells import column_kind, is_blank, number_of, numbers, shown, shown_few, texts
from defero.data.tables.columns import row_number

FEW_CELLS = 0.01
"""Up to this share of the cells, and always one, are slips among numbers; more of them make a column of codes."""


@dataclass(frozen=True)
class OddCells:
    """What is no number in a column of numbers: the first such cell, how many there are, and what they say."""

    place: int
    count: int
    values: tuple[str, ...]

    def others(self) -> str:
        """Return the clause that names the other values, or nothing."""
        rest = self.values[1:]
        return f", nor {'is' if len(rest) == 1 else 'are'} {shown_few(rest)}" if rest else ""


def odd_cells(column: Any) -> OddCells | None:
    """Find the cells that are no numbers in a column of numbers; None in any other column.

    >>> odd_cells(["1.5", None, "12,50", "3", "4"])
    OddCells(place=2, count=1, values=('12,50',))
    >>> odd_cells(["a", "b", "3"]), odd_cells([1.0, 2.0])
    (None, None)
    """
    if column_kind(column) != "text":
        return None
    levels = dict.fromkeys(cell for cell in texts(column) if cell is not None)
    words = tuple(level for level in levels if number_of(level) is None)
    if not 0 < len(words) < ODD * len(levels):
        return None
    wrong = np.flatnonzero(numbers(column)[1])
    return OddCells(int(wrong[0]), len(wrong), words)


def refuse_unused(
    learn: Any, frame: Any, names: Sequence[str], *, source: str, first_row: int, max_categories: int = 20
) -> None:
    """Refuse a column that was chosen and cannot be read; one that is blank or constant says nothing and may stay.

    Numbers with a slip or two are refused as well where categories would put most of them together.

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
            if len(set(cells)) == 1 or (isinstance(found, CategoricalColumn) and not _slips(found, frame[name])):
                continue
            reason = found if isinstance(found, str) else ""
        else:
            reason = "dates are not used" if kind == "date" else "its cells are neither numbers nor text"
        raise TableError(_refusal(frame, name, reason, source=source, first_row=first_row))


def _slips(found: CategoricalColumn, column: Any) -> bool:
    """Tell a column of numbers that a few cells turn into more categories than are kept."""
    odd = odd_cells(column) if found.other else None
    return odd is not None and odd.count <= max(1, FEW_CELLS * len(column))


def _refusal(frame: Any, name: str, reason: str, *, source: str, first_row: int) -> str:
    odd = odd_cells(frame[name])
    if odd is None:
        values = np.asarray(frame[name]).astype(object).tolist()
        place = next(row for row, cell in enumerate(values) if not is_blank(cell))
        why = f"the column is named as a feature and cannot be one: {reason}."
    else:
        place, cells = odd.place, "the cell" if odd.count == 1 else "such cells"
        it = "it is" if odd.count == 1 else "they are"
        why = f"it is not a number{odd.others()}, and the others are; leave {cells} blank if {it} unknown"
        why += "." if reason else ", or write the numbers with a letter if they are codes."
    row = row_number(frame, place, first_row=first_row)
    came = shown(np.asarray(frame[name]).astype(object)[place])
    return f"{source}: row {row}, column {name}: got {came}; {why}"
