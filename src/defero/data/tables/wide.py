"""Wide tables: one row per case, one column per expert, blank where they were not asked; and keys of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd

from defero.core.checks.arrays import IntArray
from defero.core.errors import InputError, TableError
from defero.core.wording import did_you_mean, join_names
from defero.data.tables.cells import is_blank, no_such_column, quote_cell, row_number

PARTS = {
    "learn": ("train", "training", "learn", "fit"),
    "calibrate": ("calibrate", "calibration", "calib", "cal"),
    "conformalize": ("conformalize", "conformalise", "conformal", "conf"),
    "held": ("val", "valid", "validation", "dev", "development"),
    "test": ("test", "testing", "holdout", "held-out", "heldout", "eval", "evaluation"),
}
"""Words in the cells of a split column, by the part that they name. Rows of "held" are shared between calibrate and
conformalize."""

_PART_OF = {word: part for part, words in PARTS.items() for word in words}


def feature_columns(
    columns: Sequence[str],
    *,
    source: str,
    named: Sequence[tuple[str, str]],
    features: Sequence[str] | None = None,
    text: Sequence[str] = (),
    leave_out: Sequence[str] = (),
) -> list[str]:
    """Return the feature columns, after checking that every column named exists and has one role.

    Parameters
    ----------
    columns : sequence of str
        All that the table has.
    source : str
        What a message calls the table.
    named : sequence of (column, role)
        Roles in words, such as "the label": no such column is a feature.
    features : sequence of str, optional
        Else every column that is left.
    text : sequence of str, optional
        Those that are texts, whether or not `features` name them too.
    leave_out : sequence of str
        No features, unless named as such.

    >>> feature_columns(["id", "age", "truth"], source="a.csv", named=[("truth", "the label")], leave_out=["id"])
    ['age']
    """
    if isinstance(features, str):
        raise InputError(f"must be a list of column names, got the text {features!r}.", argument="features")
    others = dict(named)
    for name in text:
        if name not in columns:
            raise no_such_column(name, columns, source=source, role="the text")
        if name in others:
            raise TableError(f"{source}: column {name!r} is named as {others[name]} and as the text; choose one.")
    if features is not None:
        features = [*features, *(name for name in text if name not in features)]
    role: dict[str, str] = {}
    for name, wanted in [*named, *((name, "a feature") for name in features or ())]:
        if role.get(name) == wanted:
            raise TableError(f"{source}: column {name!r} is named twice as {wanted}; name it once.")
        if name in role:
            raise TableError(f"{source}: column {name!r} is named as {role[name]} and as {wanted}; choose one.")
        if name not in columns:
            raise no_such_column(name, columns, source=source, role=wanted)
        role[name] = wanted
    used = {*role, *leave_out}
    chosen = [name for name in columns if name not in used] if features is None else list(features)
    if not chosen:
        raise TableError(f"{source}: no column is left as a feature; the columns are {join_names(columns)}.")
    return chosen


def part_named(cell: object) -> str | None:
    """Return the part that a cell names; None where it names none. The cell is not blank.

    >>> part_named(" Train "), part_named("valid"), part_named("north")
    ('learn', 'held', None)
    """
    return _PART_OF.get(str(cell).strip().casefold())


def split_like(frame: Any) -> list[str]:
    """Return the columns called "split" whose cells all name a part: they are no features.

    >>> import pandas as pd
    >>> split_like(pd.DataFrame({"split": ["train", "test"], "size": [1, 2]})), split_like(pd.DataFrame({"split": [3]}))
    (['split'], [])
    """
    called = [name for name in frame.columns if str(name).strip().casefold() == "split"]
    return [str(name) for name in called if _names_parts(frame[name].drop_duplicates().tolist())]


def _names_parts(cells: Sequence[object]) -> bool:
    filled = [cell for cell in cells if not is_blank(cell)]
    return bool(filled) and all(part_named(cell) is not None for cell in filled)


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
        """Return the index of the item that each cell names, (m,); -1 for unknown ones.

        They are an error, or where `unknown` is "ignore" only if no item is known at all.
        """
        item_idx = np.empty(len(column), dtype=np.int64)
        for place, cell in enumerate(column.tolist()):
            if is_blank(cell):
                where = f"{source}: row {rows[place]}, column {column.name}"
                raise TableError(f"{where}: the item's key is blank; fill it in or drop the row.")
            text = name_text(cell)
            known = self.numbers.get(text)
            item_idx[place] = self.numbers.get(_without_point(text), _UNKNOWN) if known is None else known
        wrong = np.flatnonzero(item_idx == _UNKNOWN)
        if wrong.size and (unknown == "error" or wrong.size == len(item_idx)):
            place = int(wrong[0])
            name = name_text(column.iloc[place])
            offer = did_you_mean(name, self.numbers) if len(self.numbers) < 10_000 else "."
            raise TableError(
                f"{source}: row {rows[place]}, column {column.name}: {self.source} has no item {quote_cell(name)}; "
                f"{wrong.size} of {len(item_idx)} answers are to items that it does not have{offer}"
            )
        return item_idx
