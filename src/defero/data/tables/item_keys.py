"""Keys that name the items of one table, found again in another file."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd

from defero.core.checks.arrays import IntArray
from defero.core.errors import TableError
from defero.core.wording import did_you_mean
from defero.data.tables.cells import is_blank, no_such_column, quote_cell, row_number

_UNKNOWN = -1


def name_text(cell: object) -> str:
    """Return a key or a name as text; a whole number has no decimal point. The cell is not blank.

    >>> [name_text(cell) for cell in (7, 7.0, "7", " 007 ", "7.0", 2.5)]
    ['7', '7', '7', '007', '7.0', '2.5']
    """
    if isinstance(cell, float | np.floating | Decimal) and np.isfinite(float(cell)) and cell == int(cell):
        return str(int(cell))
    return str(cell).strip()


def _without_point(text: str) -> str:
    """Drop a decimal point with nothing but zeros behind it.

    >>> _without_point("7.0"), _without_point("7.5"), _without_point("v7.0")
    ('7', '7.5', 'v7.0')
    """
    whole, point, fraction = text.partition(".")
    digits = whole.removeprefix("-")
    is_whole = bool(point) and bool(fraction) and not fraction.strip("0") and digits.isdecimal()
    return whole if is_whole and (digits == "0" or not digits.startswith("0")) else text


def plain_name(cell: object) -> str:
    """Return a name that is the same in every kind of file. The cell is not blank.

    >>> [plain_name(cell) for cell in (7, 7.0, "7.0", "007")]
    ['7', '7', '7', '007']
    """
    return _without_point(name_text(cell))


def row_keys(frame: pd.DataFrame, key: str, *, source: str = "table", first_row: int = 0) -> dict[str, int]:
    """Return the keys that name the rows, with their places, after checking that none is blank and none repeats."""
    if key not in frame.columns:
        raise no_such_column(key, list(map(str, frame.columns)), source=source, role="the key")
    places: dict[str, int] = {}
    for position, cell in enumerate(frame[key].tolist()):
        if is_blank(cell):
            row = row_number(frame, position, first_row=first_row)
            raise TableError(f"{source}: row {row}, column {key}: the key is blank; every row needs one.")
        earlier = places.setdefault(name_text(cell), position)
        if earlier != position:
            rows = [row_number(frame, place, first_row=first_row) for place in (earlier, position)]
            raise TableError(
                f"{source}: column {key}: the key {quote_cell(cell)} is in rows {rows[0]} and {rows[1]}; "
                "every row needs its own key. A column whose values repeat, such as a patient, is a group and no key."
            )
    return places


@dataclass(frozen=True, eq=False)
class ItemKeys:
    """The keys of n items, each once, and in `numbers` also without a needless point where that names one item only."""

    source: str
    numbers: dict[str, int]

    @classmethod
    def of(cls, items: pd.DataFrame, key: str, *, source: str, first_row: int) -> "ItemKeys":
        """Take the keys from a column, after checking that none is blank and none repeats."""
        numbers = row_keys(items, key, source=source, first_row=first_row)
        shorter: dict[str, list[int]] = {}
        for text, place in numbers.items():
            shorter.setdefault(_without_point(text), []).append(place)
        plain = {text: places[0] for text, places in shorter.items() if len(places) == 1}
        return cls(source, plain | numbers)

    def find(
        self, column: "pd.Series[Any]", *, rows: IntArray, source: str, unknown: Literal["error", "ignore"]
    ) -> IntArray:
        """Return the index of the item that each cell names, (m,); -1 for unknown ones where `unknown` is "ignore"."""
        known: dict[str, int] = {}
        item_idx = np.empty(len(column), dtype=np.int64)
        for place, cell in enumerate(column.tolist()):
            if is_blank(cell):
                where = f"{source}: row {rows[place]}, column {column.name}"
                raise TableError(f"{where}: the item's key is blank; fill it in or drop the row.")
            text = name_text(cell)
            if text not in known:
                known[text] = self.numbers.get(text, self.numbers.get(_without_point(text), _UNKNOWN))
            item_idx[place] = known[text]
        wrong = np.flatnonzero(item_idx == _UNKNOWN)
        if wrong.size and unknown == "error":
            place = int(wrong[0])
            name = name_text(column.iloc[place])
            offer = did_you_mean(name, self.numbers) if len(self.numbers) < 10_000 else "."
            raise TableError(
                f"{source}: row {rows[place]}, column {column.name}: {self.source} has no item {quote_cell(name)}; "
                f"{wrong.size} of {len(item_idx)} answers are to items that it does not have{offer}"
            )
        return item_idx
