"""Fields of exported records: feature columns, and the one answer of an annotation."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from defero.core.errors import TableError
from defero.core.wording import join_names

Several = Literal["error", "join", "leave out"]
SEVERAL: tuple[Several, ...] = ("error", "join", "leave out")
_JOINT = "; "


def one_answer(values: Sequence[Any], *, several: Several, what: str, source: str, place: str) -> Any:
    """Return the only value, or None; of several values raise, make one class, or drop them.

    >>> one_answer(["b", "a"], several="join", what="'topic'", source="a.json", place="task 1")
    'a; b'
    """
    if len(values) < 2:
        return values[0] if values else None
    if several == "leave out":
        return None
    if several == "join":
        return _JOINT.join(sorted({str(value) for value in values}))
    raise TableError(
        f"{source}: {place}: expected one answer to {what}, got {len(values)}: {join_names(values, most=5)}; "
        "keep one, or pass several='join' to read them as one class or several='leave out' to drop them."
    )


def number_or_nan(value: object) -> float:
    """Return a value as a float; NaN where it is missing or no number.

    >>> number_or_nan(4), number_or_nan(None), number_or_nan(10**400)
    (4.0, nan, nan)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("nan")


def feature_frame(
    records: Sequence[Mapping[str, Any]], *, source: str, of: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return one column per field, None where a record has none of it, and a sentence about fields left out.

    A field that is a list or an object in any record is left out: it is no feature by itself.

    >>> frame, notes = feature_frame([{"text": "good", "box": [1, 2]}, {"size": 3}], source="a.json", of="task")
    >>> list(frame.columns), notes
    (['text', 'size'], ('a.json: fields of a task that are lists or objects are left out: box.',))
    """
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    nested = {name for record in records for name, value in record.items() if isinstance(value, list | dict)}
    columns = {name: _column([record.get(name) for record in records]) for name in names if name not in nested}
    left_out = [name for name in names if name in nested]
    note = f"{source}: fields of a {of} that are lists or objects are left out: {join_names(left_out)}."
    return pd.DataFrame(columns, index=range(len(records))), (note,) if left_out else ()


def _column(cells: list[Any]) -> "pd.Series[Any]":
    """Return a column of numbers where all cells are numbers; blank texts are missing."""
    tidy = [(cell.strip() or None) if isinstance(cell, str) else cell for cell in cells]
    column = pd.Series(tidy, dtype=object)
    filled = [cell for cell in tidy if cell is not None]
    if filled and all(_is_number(cell) for cell in filled):
        return pd.to_numeric(column)
    return column


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and abs(cell) < 2**53
