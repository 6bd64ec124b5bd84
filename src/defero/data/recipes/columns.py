"""What becomes of one raw column: a number with its blanks filled, or a 0/1 column per category. Needs numpy alone.

Columns of text are in `text_column` and `text_vectors`. Which numbers are usual, not far beyond the training range, is
learned here as well, of a column or of a whole matrix.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.codec import Within
from defero.core.errors import InputError, TableError
from defero.core.wording import count_of, join_names, list_in_words
from defero.data.recipes.text_column import BLANK, SAME, TextColumn
from defero.data.recipes.text_encoder import EmbeddedColumn
from defero.data.recipes.text_vectors import VectorColumn
from defero.data.tables.bad_rows import NOT_A_NUMBER, BadCell, bad_cell
from defero.data.tables.cells import (
    number_of,
    numbers,
    quote_cell,
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
