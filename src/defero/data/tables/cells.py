"""What one cell says, whatever type it arrived in: nothing, a number, or a text. Needs numpy alone.

The type of a column is an accident of the file it came from: 1 is read as 1.0 where a neighbour is blank, and as
"1" where a neighbour is text. Everything that compares cells of two files goes through this module.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from defero.core.checks import BoolArray, FloatArray
from defero.core.labels import is_missing

Kind = Literal["number", "text", "date", "empty", "other"]

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)", re.ASCII)
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity)", re.ASCII)
_LONGEST_NUMBER = 40  # more digits than that are a text
_WORDS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def is_blank(value: object) -> bool:
    """Tell a cell that says nothing: missing, or white space only."""
    return not value.strip() if isinstance(value, str) else is_missing(value)


def number_of(value: object) -> float | None:
    """Return the number that a cell says; None where it says something else. The cell is not blank.

    >>> [number_of(cell) for cell in ("1e3", 2, True, "NA")]
    [1000.0, 2.0, 1.0, None]
    """
    if isinstance(value, str):
        text = value.strip()
        if text in _WORDS:
            return float(_WORDS[text])
        return float(text) if _NUMBER.fullmatch(text) or _NUMBER.fullmatch(text.lower()) else None
    if isinstance(value, int | float | np.number | np.bool_ | Decimal) and not isinstance(value, np.complexfloating):
        return float(value)
    return None


def text_of(value: object) -> str:
    """Return what a cell says as text, the same for 1, 1.0, "1", "01" and " 1.0 ". The cell is not blank.

    Only plain decimals are rewritten: "0E1" and "0E2" are codes, not two ways to write nought.

    >>> [text_of(cell) for cell in (1, 1.0, "1.0", "007", 2.5, True, "true", " a ", "0E1")]
    ['1', '1', '1', '7', '2.5', 'True', 'True', 'a', '0E1']
    """
    if isinstance(value, float | np.floating):
        return _number_text(float(value))
    text = str(value).strip()
    if text in _WORDS:
        return str(_WORDS[text])
    if len(text) > _LONGEST_NUMBER or not _DECIMAL.fullmatch(text):
        return text
    whole, _, fraction = text.partition(".")
    if whole.strip("+-") and not fraction.strip("0"):
        return str(int(whole))  # exact where a float is not: codes of 18 digits stay apart
    return _number_text(float(text))


def _number_text(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**63 else repr(value)


_ISO_DATE = re.compile(r"\s*\d{4}-\d{2}(-\d{2}([ T]\d{2}:\d{2}.*)?)?\s*$")


def column_kind(column: Any) -> Kind:
    """Tell what a column holds. Numbers written as text are text; numbers beside text are text.

    >>> column_kind([1, None]), column_kind(["1", None]), column_kind([None, " "])
    ('number', 'text', 'empty')
    """
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "kind", "O") in "mM":
        return "date"
    array = np.asarray(column)
    if array.dtype.kind in "iufb" and str(dtype) != "category":
        return "empty" if array.dtype.kind == "f" and np.isnan(array).all() else "number"
    cells = array.astype(object).tolist()
    said = {type(cell): cell for cell in cells if not is_blank(cell)}
    if not said:
        return "empty"
    if any(not isinstance(cell, str) and number_of(cell) is None for cell in said.values()):
        return "date" if all(hasattr(cell, "isoformat") for cell in said.values()) else "other"
    if set(said) == {str} and all(_ISO_DATE.match(cell) for cell in cells if not is_blank(cell)):
        return "date"
    return "text" if str in said or str(dtype) == "category" else "number"


def numbers(column: Any) -> tuple[FloatArray, BoolArray]:
    """Return (n,) values, NaN where blank, and (n,) whether the cell says something that is no number.

    >>> values, wrong = numbers(["1", " ", "two"])
    >>> values.tolist(), wrong.tolist()
    ([1.0, nan, nan], [False, False, True])
    """
    array = np.asarray(column)
    if array.dtype.kind in "iufb":
        return array.astype(np.float64), np.zeros(len(array), dtype=np.bool_)
    values = np.full(len(array), np.nan)
    wrong = np.zeros(len(array), dtype=np.bool_)
    for row, cell in enumerate(array.astype(object).tolist()):
        if is_blank(cell):
            continue
        value = number_of(cell)
        if value is None:
            wrong[row] = True
        else:
            values[row] = value
    return values, wrong


def texts(column: Any) -> list[str | None]:
    """Return each cell's text, None where blank.

    >>> texts([1.0, None, "b "])
    ['1', None, 'b']
    """
    known: dict[str, str | None] = {}
    found: list[str | None] = []
    for cell in np.asarray(column).astype(object).tolist():
        if type(cell) is not str:
            found.append(None if is_blank(cell) else text_of(cell))
            continue
        if cell not in known:
            known[cell] = None if is_blank(cell) else text_of(cell)
        found.append(known[cell])
    return found


def shown(value: object, *, most: int = 40) -> str:
    """Write a cell for a message: quoted, in one line, not too long.

    >>> shown("maybe"), shown(3.0)
    ("'maybe'", "'3'")
    """
    text = value.strip() if isinstance(value, str) else text_of(value)
    return repr(text if len(text) <= most else f"{text[:most]}...")


def shown_few(values: Sequence[object], *, most: int = 3) -> str:
    """Write the first of some cells for a message, and how many more there are.

    >>> shown_few(["pending"]), shown_few(["a", "b"]), shown_few("abcde")
    ("'pending'", "'a' and 'b'", "'a', 'b', 'c' and 2 more")
    """
    named = [shown(value) for value in values[:most]]
    if len(values) > most:
        return f"{', '.join(named)} and {len(values) - most} more"
    return " and ".join(part for part in (", ".join(named[:-1]), named[-1]) if part)
