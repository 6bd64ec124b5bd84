"""What becomes of one raw column: a number with its blanks filled, or a 0/1 column per category. Needs numpy alone.

Columns of text are in `text_column` and `text_vectors`.
"""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from defero.core.checks import FloatArray
from defero.core.wording import join_names
from defero.data.recipes.text_column import TextColumn
from defero.data.recipes.text_vectors import VectorColumn
from defero.data.tables.cells import number_of, shown, shown_few

FREE_TEXT = "free text; name it as a text to use it"
"""Why a column of texts that nobody named is left out."""
SAME, BLANK = "the same in every row", "blank in every row"
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
    """A column of numbers: blanks become `fill`, and are marked in a column of their own if training had some."""

    name: str
    fill: float
    varies: bool
    missing: bool

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns this one becomes; a constant is kept out, its blanks are not."""
        return (self.name,) * self.varies + (f"{self.name}=missing",) * self.missing

    def sentence(self) -> str:
        """Say how the column is used."""
        marked = ", which are marked" if self.missing else ""
        value = "a number" if self.varies else "constant, of use only by its blanks"
        return f"{self.name}: {value}; blank cells become {self.fill:g}{marked}."

    def encode(self, values: FloatArray) -> FloatArray:
        """Turn (n,) numbers, NaN where blank, into (n, outputs)."""
        blank = np.isnan(values)
        parts = [np.where(blank, self.fill, values)] * self.varies + [blank.astype(np.float64)] * self.missing
        return np.stack(parts, axis=1)


@dataclass(frozen=True)
class CategoricalColumn:
    """A column of categories: one 0/1 column for each frequent level."""

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
        """Say how the column is used."""
        rest = ", the rarer ones together" * self.other + ", blank as one more" * self.missing
        words = [level for level in self.levels if number_of(level) is None]
        said = f"{self.name}: {len(self.levels)} categories ({join_names(self.levels, most=6)}){rest}"
        if not 0 < len(words) < ODD * len(self.levels):
            return f"{said}."
        if self.other:  # the rarer ones may hold more such words
            return f"{said}; it is read as numbers if {shown(words[0])} and all else that is no number is left blank."
        verb = "is" if len(words) == 1 else "are"
        return f"{said}; it is read as numbers if {shown_few(words)} {verb} left blank."

    def encode(self, cells: list[str | None]) -> FloatArray:
        """Turn (n,) texts, None where blank, into (n, outputs); what has no column becomes zeros."""
        place: dict[str | None, int] = {level: k for k, level in enumerate(self.levels)}
        elsewhere = len(self.levels) if self.other else -1
        place[None] = len(self.levels) + self.other if self.missing else -1
        codes = np.fromiter((place.get(cell, elsewhere) for cell in cells), np.int64, len(cells))
        matrix = np.zeros((len(cells), len(self.outputs)))
        known = np.flatnonzero(codes >= 0)
        matrix[known, codes[known]] = 1.0
        return matrix

    def unseen(self, cells: list[str | None]) -> int:
        """Count the rows that become zeros although they are not blank."""
        known = set(self.levels)
        return 0 if self.other else sum(cell is not None and cell not in known for cell in cells)


Column = NumericColumn | CategoricalColumn | TextColumn | VectorColumn


def learn_numbers(name: str, values: FloatArray) -> NumericColumn | str:
    """Settle a column of (n,) numbers, NaN where blank; return the reason where it is of no use."""
    blank = np.isnan(values)
    said = values[~blank]
    varies = bool((said != said[0]).any())
    if not varies and not blank.any():
        return SAME
    with np.errstate(over="ignore"):
        median = float(np.median(said))
    if not np.isfinite(median):  # the mean of the two middle values overflowed
        median = float(2 * np.median(said / 2))
    return NumericColumn(name, median, varies, bool(blank.any()))


def learn_categories(name: str, cells: list[str | None], *, max_categories: int) -> CategoricalColumn | str:
    """Settle a column of (n,) texts, None where blank; return the reason where it is of no use."""
    counts = Counter(cell for cell in cells if cell is not None)
    said, missing = counts.total(), counts.total() < len(cells)
    if len(counts) == 1 and not missing:
        return SAME
    if len(cells) >= _FREE_TEXT_ROWS and len(counts) > _FREE_TEXT_LEVELS and len(counts) > said / 2:
        words = [level for level in counts if number_of(level) is None]
        if len(words) < ODD * len(counts):
            if not words:
                return "numbers stored as text; convert them to numbers"
            return f"numbers beside {shown_few(words)}; leave a cell blank where the number is unknown"
        if _mostly(_AMOUNT, counts):
            return _amounts(counts)
        if _mostly(_DATE, counts):
            return "dates are not used; write them as 2024-05-01 to split by them as the time"
        if _mostly(_CODE, counts):  # one word of plain signs each: ids, links, mail addresses
            return "codes that hardly repeat; if they name cases or groups, name the column as the key or the groups"
        return FREE_TEXT
    ranked = sorted(counts, key=lambda level: (-counts[level], level))
    return CategoricalColumn(name, tuple(ranked[:max_categories]), len(ranked) > max_categories, missing)


def _amounts(levels: Collection[str]) -> str:
    """Say what keeps amounts from being read as numbers.

    >>> _amounts(["1,200.50", "7"])
    'looks like numbers with separators; write them as 1234.5'
    """
    together = "".join(levels)
    what = "separators"
    if re.search(_CURRENCY, together):
        what = "a currency sign"
    elif "%" in together:
        what = "a percent sign"
    return f"looks like numbers with {what}; write them as 1234.5"


def _mostly(pattern: re.Pattern[str], levels: Collection[str]) -> bool:
    """Tell whether nearly all levels look so; a few odd ones are typing errors.

    >>> _mostly(_DATE, ["3.5.2024", "12/31/24", "4 May 2024", "May 4, 2024 9:30"]), _mostly(_DATE, ["3.5", "May"])
    (True, False)
    """
    return sum(pattern.fullmatch(level) is not None for level in levels) >= _MOST_LEVELS * len(levels)
