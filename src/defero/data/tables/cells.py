"""What one cell says, whatever type it arrived in: nothing, a number, or a text. Needs numpy alone.

The type of a column depends on the file it came from: 1 is read as 1.0 where a neighbour is blank, and as "1" where a
neighbour is text. Everything that compares cells of two files goes through this module, and everything that names a
column or a row in a message.

A byte that is not UTF-8, such as 0xff, becomes a character that no text has, followed by "xff", so that a table can be
read on after it.
"""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import InputError, TableError
from defero.core.labels import is_missing
from defero.core.wording import did_you_mean, join_names, nearest_name

if TYPE_CHECKING:
    import pandas as pd

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["number", "text", "date", "empty", "other"]

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)", re.ASCII)
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity)", re.ASCII)
_LONGEST_NUMBER = 40  # more digits than that are a text
_WORDS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def is_blank(value: object) -> bool:
    """Return whether a cell is missing or white space only."""
    return not value.strip() if isinstance(value, str) else is_missing(value)


MISSING_SPELLINGS = frozenset(
    [
        *("#n/a", "#n/a n/a", "#na", "-1.#ind", "-1.#qnan", "-nan", "1.#ind", "1.#qnan"),
        *("<na>", "n/a", "na", "nan", "none", "null"),
    ]
)
"""What `pandas.read_csv` reads as missing, in lower case."""
_NO_VALUE = MISSING_SPELLINGS | {"n.a.", "unknown", "missing", "not done", "?", "??", "-", "--", "."}
_NO_VALUE |= {"unsure", "not sure", "uncertain", "unclear", "undecided", "don't know", "skip", "skipped"}


def says_none(text: str) -> bool:
    """Return whether a text usually means that there is no value; nobody is sure, so it is only offered in messages.

    >>> says_none("N/A"), says_none("Unsure"), says_none("12,5")
    (True, True, False)
    """
    return text.strip().casefold() in _NO_VALUE


def is_missing_spelling(cell: object) -> bool:
    """Return whether a cell is a text that pandas reads as missing, in any case.

    >>> is_missing_spelling(" N/A"), is_missing_spelling("?")
    (True, False)
    """
    return isinstance(cell, str) and cell.strip().casefold() in MISSING_SPELLINGS


def number_of(value: object) -> float | None:
    """Return the number in a cell; None where it holds something else. The cell is not blank.

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
    """Return a cell as text, the same for 1, 1.0, "1", "01" and " 1.0 ". The cell is not blank.

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
    """Return what a column holds. Numbers written as text are text; numbers beside text are text.

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
    types = {type(cell): cell for cell in cells if not is_blank(cell)}
    if not types:
        return "empty"
    if any(not isinstance(cell, str) and number_of(cell) is None for cell in types.values()):
        return "date" if all(hasattr(cell, "isoformat") for cell in types.values()) else "other"
    if set(types) == {str} and all(_ISO_DATE.match(cell) for cell in cells if not is_blank(cell)):
        return "date"
    return "text" if str in types or str(dtype) == "category" else "number"


def numbers(column: Any) -> tuple[FloatArray, BoolArray]:
    """Return (n,) values, NaN where blank, and (n,) whether the cell holds something else than a number.

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
    cell_texts: list[str | None] = []
    for cell in np.asarray(column).astype(object).tolist():
        if type(cell) is not str:
            cell_texts.append(None if is_blank(cell) else text_of(cell))
            continue
        if cell not in known:
            known[cell] = None if is_blank(cell) else text_of(cell)
        cell_texts.append(known[cell])
    return cell_texts


def as_written(cell: object) -> str:
    """Return a cell as it is written, without white space around it: "007" stays, 1.0 is "1". The cell is not blank.

    >>> as_written(" 007 "), as_written(1.0)
    ('007', '1')
    """
    return cell.strip() if isinstance(cell, str) else text_of(cell)


def quote_cell(value: object, *, most: int = 40) -> str:
    """Return a cell for a message: in quotes, not too long.

    >>> quote_cell("maybe"), quote_cell(3.0)
    ("'maybe'", "'3'")
    """
    text = as_written(value)
    return repr(text if len(text) <= most else f"{text[:most]}...")


def column_names(frame: Any, *, source: str) -> dict[str, Any]:
    """Return the frame's own column keys by their names as text; two columns of one name are an error."""
    keys: dict[str, Any] = {}
    for column in frame.columns:
        if str(column) in keys:
            raise TableError(f"{source}: two columns are called {str(column)!r}; rename one of them.")
        keys[str(column)] = column
    return keys


def no_such_column(name: str, columns: Sequence[str], *, source: str, role: str) -> TableError:
    """Return the error for a column that the table does not have."""
    offer, header = did_you_mean(name, columns), no_header_hint(columns)
    near = nearest_name(name, columns)
    quotes = " In a list of names, put a name with a comma in double quotes." if near and "," in near else ""
    return TableError(
        f"{source}: no column {name!r} for {role}{offer}{quotes} "
        f"The columns are {join_names(columns, most=30)}.{header}"
    )


def no_header_hint(columns: Sequence[str]) -> str:
    """Ask for the header row where the names of columns look like a row of data.

    >>> no_header_hint(["5.1", "3.5", "setosa"])
    ' Most of these are numbers: is the header row missing?'
    >>> no_header_hint(["age", "site"]), no_header_hint(["0", "1", "2", "label"])
    ('', '')
    """
    numeric = [number for number in map(number_of, columns) if number is not None]
    numbered = len(numeric) > 1 and set(np.diff(numeric)) == {1.0}  # columns that were numbered, not named
    missing = len(numeric) > len(columns) / 2 and not numbered
    return " Most of these are numbers: is the header row missing?" if missing else ""


def row_number(frame: Any, position: int, *, first_row: int) -> int:
    """Return the number to give a row in a message: its index label plus that of the first row.

    The label, not the position, so that a part of a table still names the rows of the file.
    """
    index = getattr(frame, "index", None)
    if index is not None and getattr(getattr(index, "dtype", None), "kind", "O") in "iu":
        return int(index[position]) + first_row
    return position + first_row


_FORMULA = "=+-@\t\r"
"""How cells begin that spreadsheets take for formulas."""


def without_formula(text: str) -> str:
    """Return a text that a spreadsheet shows instead of computing it: with an apostrophe before, if it needs one.

    >>> without_formula("=1+1"), without_formula("-1.5"), without_formula("-"), without_formula("dr_a")
    ("'=1+1", '-1.5', '-', 'dr_a')
    """
    return f"'{text}" if text[:1] in _FORMULA and _is_formula(text) else text


def as_meant(text: str) -> str:
    """Return the text that `without_formula` was given.

    >>> as_meant("'=1+1"), as_meant("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    if len(text) < 2 or text[0] not in _FORMULA:
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


@dataclass(frozen=True)
class BlankCells:
    """Values that mean none, in all columns of a table but some.

    Attributes
    ----------
    values : texts
        As they are written: "n/a", "-9".
    other_columns : names
        Columns that stay as they are: ids, and labels and answers, which `Spellings` reads.
    """

    values: tuple[str, ...] = ()
    other_columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Sequence[object]) -> "BlankCells":
        """Check what somebody passed.

        >>> BlankCells.of(["n/a ", -9]).values
        ('n/a', '-9')
        """
        if isinstance(values, str):
            raise InputError(f"must be a list of values, got the text {values!r}.", argument="blank")
        return cls(tuple(dict.fromkeys(map(as_written, values))))

    def __bool__(self) -> bool:
        return bool(self.values)

    def without(self, *columns: str | None) -> "BlankCells":
        """Return the same values for a table in which these columns stay as they are as well."""
        more = tuple(name for name in columns if name is not None)
        return BlankCells(self.values, tuple(dict.fromkeys((*self.other_columns, *more))))

    def mask(self, column: Any) -> BoolArray:
        """Return which cells of a column (n,) are such a value; 7, 7.0 and "07" are the same.

        >>> BlankCells(("n/a", "-9")).mask(["1", "n/a", " -9.0", None]).tolist()
        [False, True, True, False]
        """
        wanted = {text_of(value) for value in self.values}
        return np.array([text in wanted for text in texts(column)], dtype=np.bool_)

    def apply(self, frame: "pd.DataFrame", *, is_text: bool = False, as_text: Sequence[str] = ()) -> "pd.DataFrame":
        """Return a frame in which these cells are missing; a column that has only numbers left becomes numbers.

        Parameters
        ----------
        frame : DataFrame
        is_text : bool
            Whether the cells come from a file of text, in which the text 1.5 is a number.
        as_text : names
            Columns that stay as they are written.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": ["30", "n/a"], "site": ["n/a", "back"], "case": ["n/a", "2"]})
        >>> read = BlankCells(("n/a",), ("case",)).apply(frame, is_text=True)
        >>> read["age"].tolist(), read["site"].isna().tolist(), read["case"].tolist()
        ([30.0, nan], [True, False], ['n/a', '2'])
        """
        if not self:
            return frame
        result, apart = frame.copy(deep=False), {*self.other_columns}
        for name in frame.columns:
            if name in apart or frame[name].dtype.kind in "mM":
                continue
            mask = self.mask(frame[name])
            if mask.any():
                column = frame[name].mask(mask)
                result[name] = column if name in as_text else _as_numbers(column, is_text=is_text)
        return result


def _as_numbers(column: Any, *, is_text: bool) -> Any:
    """Return a column as numbers if that is all that it has; numbers that a typed file holds as text stay text."""
    if column_kind(column) not in (("number", "text") if is_text else ("number",)):
        return column
    values, wrong = numbers(column)
    return column if wrong.any() else values


_MARK = "\ufdd0"  # a noncharacter: never in a text that is meant for anybody else
MARKED_BYTES = "defero.marked_bytes"
"""The name of this way of decoding, as `open` takes it."""


def _marked(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(f"{_MARK}x{byte:02x}" for byte in bad), error.end


def is_marked(text: str) -> bool:
    r"""Return whether some bytes of a text were not UTF-8.

    >>> is_marked(b"caf\xe9".decode("utf-8", errors=MARKED_BYTES)), is_marked("café")
    (True, False)
    """
    return _MARK in text


def plain_bytes(text: str) -> str:
    r"""Write marked bytes as escapes.

    >>> print(plain_bytes(b"caf\xe9".decode("utf-8", errors=MARKED_BYTES)))
    caf\xe9
    """
    return text.replace(_MARK, "\\")


codecs.register_error(MARKED_BYTES, _marked)
