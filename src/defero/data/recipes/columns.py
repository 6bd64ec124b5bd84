"""What becomes of one raw column: a number with its blanks filled, or a 0/1 column per category. Needs numpy alone.

Columns of text are in `text_column` and `text_vectors`. The end of the file checks columns that the user chose by name,
and says what is remarkable in new rows.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, float_matrix
from defero.core.errors import Argument, TableError
from defero.core.wording import count_of, join_names, list_in_words
from defero.data.recipes.text_column import BLANK, SAME, TextColumn
from defero.data.recipes.text_encoder import EmbeddedColumn
from defero.data.recipes.text_vectors import VectorColumn
from defero.data.recipes.usual import usual_bounds
from defero.data.tables.cells import (
    column_kind,
    is_blank,
    number_of,
    numbers,
    quote_cell,
    row_number,
    says_none,
    texts,
)

FREE_TEXT = "free text; name it as a text to use it"
"""Why a column of texts that nobody named is left out."""
SAYS_NOTHING = (SAME, BLANK)
"""Why a column is left out without loss."""
ODD = 0.5
"""A column of numbers has fewer other values than this share of all."""
_FREE_TEXT_ROWS = 50
_FREE_TEXT_LEVELS = 20
_MOST_LEVELS = 0.9
_CODE = re.compile(r"[!-~]+")
_MONTH = r"(jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[^\W\d_]*\.?"
_DATE = re.compile(
    rf"(\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}|\d{{1,2}}\.?[ -]{_MONTH},?[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"([ T,].*)?",
    re.IGNORECASE,
)
_CURRENCY = r"(?:[$€£¥₹₽₩₺₴₪₫฿¢]|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|CAD|AUD|INR|CNY)"
_DIGITS = r"(?:\d{1,3}(?:[ ,.'’\u00a0\u202f]\d{3})+|\d+)(?:[.,]\d+)?"
_AMOUNT = re.compile(rf"[+-]?\s*(?:{_CURRENCY}\s*)?[+-]?{_DIGITS}\s*(?:{_CURRENCY}|%)?")


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers: blanks become `fill`, and are marked in a column of their own if training had some.

    Numbers from `low` down and from `high` up are unusual, see `usual_bounds`; they become `low` and `high`.
    """

    kind: ClassVar[str] = "number"
    new: ClassVar[str] = "far beyond the training range"
    filled: ClassVar[str] = "blank, filled with the training median"
    name: str
    fill: float
    varies: bool
    missing: bool
    low: float
    high: float

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns this one becomes; a constant column only marks its blanks."""
        return (self.name,) * self.varies + (f"{self.name}=missing",) * self.missing

    def sentence(self) -> str:
        """Return one sentence: how the column is used."""
        marked = ", which are marked" if self.missing else ""
        value = "a number" if self.varies else "constant, of use only by its blanks"
        return f"{self.name}: {value}; blank cells become {self.fill:g}{marked}."

    def encode(self, values: FloatArray) -> FloatArray:
        """Turn (n,) numbers, NaN where blank, into (n, outputs)."""
        blank = np.isnan(values)
        filled = np.clip(np.where(blank, self.fill, values), self.low, self.high)
        parts = [filled] * self.varies + [blank.astype(np.float64)] * self.missing
        return np.stack(parts, axis=1)

    def unseen(self, values: FloatArray) -> int:
        """Count the numbers far beyond the training range."""
        if not self.varies:
            return 0
        with np.errstate(invalid="ignore"):  # a blank is neither
            return int(np.count_nonzero((values <= self.low) | (values >= self.high)))


@dataclass(frozen=True)
class CategoricalColumn:
    """A column of categories: one 0/1 column for each frequent level."""

    kind: ClassVar[str] = "category"
    new: ClassVar[str] = "a category never seen in training"
    filled: ClassVar[str] = "blank, which no training row was"
    name: str
    levels: tuple[str, ...]
    other: bool
    missing: bool

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns this one becomes; a level that is called other or missing stands in quotes."""
        plain = [repr(level) if level in {"other", "missing"} else level for level in self.levels]
        return tuple(f"{self.name}={level}" for level in [*plain, *self._extra()])

    def _extra(self) -> list[str]:
        return ["other"] * self.other + ["missing"] * self.missing

    def sentence(self) -> str:
        """Return one sentence: how the column is used."""
        rest = ", the rarer ones together" * self.other + ", blank as one more" * self.missing
        return f"{self.name}: {len(self.levels)} categories ({join_names(self.levels, most=6)}){rest}."

    def encode(self, cells: list[str | None]) -> FloatArray:
        """Turn (n,) texts, None where blank, into (n, outputs); what has no column becomes zeros."""
        code: dict[str | None, int] = {level: k for k, level in enumerate(self.levels)}
        other = len(self.levels) if self.other else -1
        code[None] = len(self.levels) + self.other if self.missing else -1
        codes = np.fromiter((code.get(cell, other) for cell in cells), np.int64, len(cells))
        matrix = np.zeros((len(cells), len(self.outputs)))
        known = np.flatnonzero(codes >= 0)
        matrix[known, codes[known]] = 1.0
        return matrix

    def unusual(self, block: FloatArray) -> BoolArray:
        """Return which rows of `encode` (n, outputs) have no column: a new category, or the first blank one, (n,)."""
        return (block == 0).all(axis=1)

    def unseen(self, cells: list[str | None]) -> int:
        """Count the rows that become zeros although they are not blank."""
        known = set(self.levels)
        return 0 if self.other else sum(cell is not None and cell not in known for cell in cells)


Column = NumericColumn | CategoricalColumn | TextColumn | VectorColumn | EmbeddedColumn


def learn_numbers(name: str, values: FloatArray) -> NumericColumn | str:
    """Learn a column from (n,) numbers, NaN where blank; return the reason where it cannot be used."""
    blank = np.isnan(values)
    filled = values[~blank]
    varies = bool((filled != filled[0]).any())
    if not varies and not blank.any():
        return SAME
    return NumericColumn(name, float(np.median(filled)), varies, bool(blank.any()), *usual_bounds(filled))


def learn_categories(name: str, cells: list[str | None], *, max_categories: int) -> CategoricalColumn | str:
    """Learn a column from (n,) texts, None where blank; return the reason where it cannot be used."""
    counts = Counter(cell for cell in cells if cell is not None)
    n_filled = counts.total()
    missing = n_filled < len(cells)
    if len(counts) == 1 and not missing:
        return SAME
    if len(cells) >= _FREE_TEXT_ROWS and len(counts) > _FREE_TEXT_LEVELS and len(counts) > n_filled / 2:
        words = [level for level in counts if number_of(level) is None]
        if len(words) < ODD * len(counts):
            if not words:
                return "numbers stored as text; convert them to numbers"
            beside = list_in_words([quote_cell(level) for level in words], most=3)
            return f"numbers beside {beside}; leave a cell blank where the number is unknown"
        if _mostly(_AMOUNT, counts):
            return "looks like numbers with separators or signs; write them as 1234.5"
        if _mostly(_DATE, counts):
            return "dates are no features; to split by time, write them as 2024-05-01"
        if _mostly(_CODE, counts):  # one word of plain signs each: ids, links, mail addresses
            return "ids or codes that hardly repeat; use case ids as the key, ids of patients or the like as the groups"
        return FREE_TEXT
    ranked = sorted(counts, key=lambda level: (-counts[level], level))
    return CategoricalColumn(name, tuple(ranked[:max_categories]), len(ranked) > max_categories, missing)


def _mostly(pattern: re.Pattern[str], levels: Collection[str]) -> bool:
    """Return whether nearly all levels match; the others may be typing errors.

    >>> _mostly(_DATE, ["3.5.2024", "12/31/24", "4 May 2024", "May 4, 2024 9:30"]), _mostly(_DATE, ["3.5", "May"])
    (True, False)
    """
    return sum(pattern.fullmatch(level) is not None for level in levels) >= _MOST_LEVELS * len(levels)


MOST_OFFERED = 3
"""So many values are offered to be read as blank."""
FEW_CELLS = 0.01
"""Up to this share of the cells, and always one, are slips among numbers; more of them make a column of codes."""


@dataclass(frozen=True)
class OddCells:
    """Cells that are no numbers in a column of numbers: the first one, and how many cells have each value."""

    place: int
    counts: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many cells there are."""
        return sum(self.counts.values())

    @property
    def probably_blank(self) -> tuple[str, ...]:
        """Values that probably mean that there is no number: words for it, and what stands in several cells."""
        return tuple(value for value, count in self.counts.items() if count > 1 or says_none(value))

    def clause(self, row: int) -> str:
        """Return the clause of a message: the values with the number of their cells, and what to do about them.

        >>> from defero.core.errors import Message
        >>> odd = odd_cells(["1", "n/a", "2", "n/a", "<1", "3", "4"])
        >>> print(Message(odd.clause(3)))  # doctest: +ELLIPSIS
        'n/a' (2 cells) and '<1' (1 cell) are not numbers, first in row 3; correct them, or leave ... blank=['n/a']
        """
        shown = [f"{quote_cell(value)} ({count_of(count, 'cell')})" for value, count in self.counts.items()]
        verb, them = ("is not a number", "it") if self.count == 1 else ("are not numbers", "them")
        offered = Argument("blank", list(self.probably_blank[:MOST_OFFERED]))
        return (
            f"{list_in_words(shown, most=4)} {verb}, first in row {row}; correct {them}, or leave {them} blank if the "
            f"number is unknown{f', or pass {offered}' if offered.value else ''}"
        )


def odd_cells(column: Any) -> OddCells | None:
    """Return the cells that are no numbers in a column of numbers; None in any other column.

    >>> odd_cells(["1.5", None, "12,50", "3", "4"])
    OddCells(place=2, counts={'12,50': 1})
    >>> odd_cells(["a", "b", "3"]), odd_cells([1.0, 2.0])
    (None, None)
    """
    if column_kind(column) != "text":
        return None
    levels = Counter(cell for cell in texts(column) if cell is not None)
    words = {level: count for level, count in levels.items() if number_of(level) is None}
    if not 0 < len(words) < ODD * len(levels):
        return None
    return OddCells(int(np.flatnonzero(numbers(column)[1])[0]), words)


def refuse_unused(
    learn: Any, frame: Any, names: Sequence[str], *, source: str, first_row: int, max_categories: int = 20
) -> None:
    """Raise where a column that the user chose cannot be used; a blank or constant one may stay.

    A column of numbers with a few other cells raises as well where reading it as categories would join most numbers.

    Parameters
    ----------
    learn : DataFrame
        The rows to learn from: they decide how a column is read.
    frame : DataFrame
        All rows, in which the first cell that is no number is searched.
    names : columns
        Those chosen, without the text columns.
    source, first_row : str, int
        What a message calls the table, and its first row.
    """
    for name in names:
        kind = column_kind(learn[name])
        if kind in {"number", "empty"}:
            continue
        cells = texts(learn[name])
        if kind == "text":
            column = learn_categories(name, cells, max_categories=max_categories)
            if len(set(cells)) == 1 or (isinstance(column, CategoricalColumn) and not _slips(column, frame[name])):
                continue
            reason = column if isinstance(column, str) else ""
        else:
            reason = "dates are not used" if kind == "date" else "its cells are neither numbers nor text"
        raise TableError(_refusal(frame, name, reason, source=source, first_row=first_row))


def _slips(learned: CategoricalColumn, column: Any) -> bool:
    """Return whether a few cells turn a column of numbers into more categories than get a column."""
    odd = odd_cells(column) if learned.other else None
    return odd is not None and odd.count <= max(1, FEW_CELLS * len(column))


def _refusal(frame: Any, name: str, reason: str, *, source: str, first_row: int) -> str:
    odd = odd_cells(frame[name])
    if odd is not None:
        codes = "" if reason else ", or write the numbers with a letter if they are codes"
        clause = odd.clause(row_number(frame, odd.place, first_row=first_row))
        return f"{source}: column {name} is named as a feature: {clause}{codes}."
    cells = np.asarray(frame[name]).astype(object).tolist()
    place = next(row for row, cell in enumerate(cells) if not is_blank(cell))
    row = row_number(frame, place, first_row=first_row)
    return (
        f"{source}: row {row}, column {name}: got {quote_cell(cells[place])}; the column is named as a feature and "
        f"cannot be one: {reason}."
    )


class NumberedColumns:
    """An (n, d) array as a frame: its columns are called "column 0", "column 1", ...

    Examples
    --------
    >>> table = NumberedColumns([[1.0, float("nan")], [2.0, 5.0]])
    >>> table.columns, table["column 1"].tolist(), len(table)
    (('column 0', 'column 1'), [nan, 5.0], 2)
    """

    def __init__(self, X: ArrayLike) -> None:
        self.matrix: FloatArray = float_matrix("X", X, gaps=True)
        self.columns = tuple(f"column {place}" for place in range(self.matrix.shape[1]))

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, name: str) -> FloatArray:
        return self.matrix[:, self.columns.index(name)]


def remark_sentences(remarks: Mapping[str, int]) -> list[str]:
    """Return a sentence for each remark on new rows; all columns with filled cells share one, the last.

    >>> remark_sentences({"age: blank, filled with the training median": 3, "size: far beyond the training range": 1})
    ['size: far beyond the training range, in 1 row.', 'blank cells, filled with the training median: age in 3 rows.']
    """
    routine = f": {NumericColumn.filled}"
    others = {clause: count for clause, count in remarks.items() if not clause.endswith(routine)}
    blanks = {clause.removesuffix(routine): count for clause, count in remarks.items() if clause.endswith(routine)}
    sentences = [f"{clause}, in {count_of(count, 'row')}." for clause, count in others.items()]
    listing = join_names((f"{name} in {count_of(count, 'row')}" for name, count in blanks.items()), most=6)
    return [*sentences, *([f"blank cells, filled with the training median: {listing}."] if blanks else [])]
