"""How values are written: lists, percentages and counts in messages, tables of results, plain values for JSON."""

import difflib
import html
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pandas import DataFrame

_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Write control characters as escapes: a name out of a file may hold what a terminal would obey.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _UNSEEN.sub(lambda unseen: unseen.group().encode("unicode_escape").decode("ascii"), text)


def join_names(values: Iterable[object], *, most: int = 12) -> str:
    r"""Write values as a short list for a sentence, on one line whatever they hold.

    >>> join_names(["benign", "malign"])
    'benign, malign'
    >>> join_names(range(15), most=3)
    '0, 1, 2, ... (15 in all)'
    >>> join_names(["a\nname", "Chen, Li"])
    'a name, "Chen, Li"'
    """
    texts = [printable(" ".join(str(value).split())) for value in values]
    texts = [f'"{text}"' if ", " in text else text for text in texts]
    if len(texts) <= most:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])}, ... ({len(texts)} in all)"


def list_in_words(values: Sequence[object], *, most: int = 6, total: int | None = None) -> str:
    """Write values as a sentence does; past the first `most`, or where there are `total`, the rest is counted.

    >>> list_in_words(["ann"]), list_in_words(["ann", "bob"]), list_in_words(["ann", "bob", "eve"])
    ('ann', 'ann and bob', 'ann, bob and eve')
    >>> list_in_words("abcde", most=3), list_in_words(["ann", "bob"], total=14)
    ('a, b, c and 2 more', 'ann, bob and 12 more')
    """
    texts = [str(value) for value in values[:most]]
    rest = (len(values) if total is None else total) - len(texts)
    if rest:
        texts.append(f"{rest} more")
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def percent(share: float, *, nothing: str = "-", space: str = " ") -> str:
    """Write a share in percent; 0 and 100 are never due to rounding.

    >>> [percent(share) for share in (0.875, 1.0, 0.9999, 0.00001, math.nan)]
    ['87.5 %', '100.0 %', '>99.9 %', '<0.1 %', '-']
    """
    if math.isnan(share):
        return nothing
    if 0 < share < 0.0005:
        return f"<0.1{space}%"
    if 0.9995 < share < 1:
        return f">99.9{space}%"
    return f"{100 * share:.1f}{space}%"


def round_percent(share: float, *, space: str = " ") -> str:
    """Write a share in whole percent, and with a digit below 10 % where it is no whole number.

    >>> round_percent(0.95), round_percent(0.256), round_percent(0.05), round_percent(0.004)
    ('95 %', '26 %', '5 %', '0.4 %')
    """
    whole = share >= 0.1 or math.isclose(100 * share, round(100 * share), abs_tol=1e-9)
    return f"{100 * share:.{0 if whole else 1}f}{space}%"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return the clause that offers the nearest name, or the end of the sentence.

    >>> did_you_mean("lable", ["age", "label"]), did_you_mean("x", ["age"])
    ("; did you mean 'label'?", '.')
    >>> did_you_mean("Truth", ["truths", "TRUTH"])  # the same name, but for the case
    "; did you mean 'TRUTH'?"
    """
    near = nearest_name(name, candidates)
    return "." if near is None else f"; did you mean {near!r}?"


def nearest_name(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that was probably meant; None where no one is near.

    >>> nearest_name("Beningn", ["benign", "malign"]), nearest_name("x", ["age"])
    ('benign', None)
    >>> nearest_name("Benign lesion", ["malign lesion", "benign"])
    'benign'
    """
    lowered = {candidate.casefold(): candidate for candidate in candidates}
    folded = name.casefold()
    near = [folded] if folded in lowered else difflib.get_close_matches(folded, list(lowered), n=1, cutoff=0.85)
    near = near or [one for one in lowered if share_words(folded, one)]
    near = near or difflib.get_close_matches(folded, list(lowered), n=1, cutoff=0.6)
    return lowered[near[0]] if near else None


_NOT = {"no", "non", "not", "without"}


def share_words(name: str, other: str) -> bool:
    """Return whether two names are probably one: all words of one are in the other, and none of them says "not".

    >>> share_words("benign", "Benign lesion"), share_words("tumor", "no tumor"), share_words("grade 1", "grade 2")
    (True, False, False)
    """
    first, second = ({*re.findall(r"\w+", text.casefold())} for text in (name, other))
    return bool(first and second) and (first <= second or second <= first) and not (first ^ second) & _NOT


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    >>> count_of(1, "answer"), count_of(1200, "answer"), count_of(2, "class", "classes")
    ('1 answer', '1,200 answers', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def money(amount: float, *, like: float | None = None) -> str:
    """Write an amount with three digits, or with as many decimals as an amount of the size of `like` has.

    >>> money(0.01234), money(2.5), money(1234.5), money(0.0), money(12.345, like=4.0)
    ('0.0123', '2.50', '1,234', '0.00', '12.35')
    """
    size = abs(amount if like is None else like)
    decimals = 2 if size == 0 else max(0, min(6, 2 - math.floor(math.log10(size))))
    return f"{amount + 0.0:,.{decimals}f}"


def signed_money(amount: float, *, like: float | None = None) -> str:
    """Write an amount as `money` does, with its sign.

    >>> signed_money(2.5), signed_money(-0.01234)
    ('+2.50', '-0.0123')
    """
    return f"{'+' if amount >= 0 else ''}{money(amount, like=like)}"


SHOWN_ROWS = 5
"""A repr has at most ten lines."""

HTML_ROWS = 10

TEXT_WIDTH, HTML_WIDTH = 32, 100
"""Characters of a cell; notebooks wrap lines, and the reason of a decision should be readable there."""


class Preformatted:
    """What a notebook shows as it prints."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


class Tabular(ABC):
    """A result with one row per item; subclasses define its columns and a headline."""

    @abstractmethod
    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return the columns of `to_frame` by name, of all items or of the first `most`."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def headline(self) -> str:
        """Return a one-line summary."""

    def to_frame(self) -> "DataFrame":
        """Return the result as a pandas DataFrame, one row per item."""
        # pandas is loaded only here: core itself needs numpy alone.
        frame: DataFrame = import_module("pandas").DataFrame(self.columns())
        return frame

    def __repr__(self) -> str:
        return "\n".join([self.headline(), *text_table(self.columns(SHOWN_ROWS), n_rows=len(self))])

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.headline())}</p>{html_table(self.columns(HTML_ROWS), n_rows=len(self))}"


def text_table(columns: Mapping[str, Any], *, n_rows: int) -> list[str]:
    """Return columns as aligned lines; a last line says how many of all `n_rows` rows are left out.

    >>> print(*text_table({"route": ["ann", "model"], "cost": [0.25, 0.5]}, n_rows=3), sep=chr(10))
      route  cost
      ann    0.25
      model  0.5
      ... 1 more row
    """
    lines = [f"  {line}" for line in aligned(zip(*_cells(columns, width=TEXT_WIDTH), strict=True))]
    left = n_rows - len(lines) + 1
    return [*lines, f"  ... {count_of(left, 'more row')}"] if left > 0 else lines


def aligned(rows: Iterable[Sequence[str]], *, to_right: bool = False) -> list[str]:
    """Lay out cells in columns, to the left, or but for the first to the right.

    >>> print(*aligned([["who", "n"], ["ann", "12"], ["bob", "3"]], to_right=True), sep=chr(10))
    who   n
    ann  12
    bob   3
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    places = [(str.rjust if place and to_right else str.ljust, width) for place, width in enumerate(widths)]
    return [
        "  ".join(put(cell, width) for cell, (put, width) in zip(row, places, strict=True)).rstrip() for row in rows
    ]


def html_table(columns: Mapping[str, Any], *, n_rows: int) -> str:
    """Return columns as an HTML table; every cell is escaped, and missing ones are blank."""
    cells = [
        ["" if cell in ("None", "nan") else html.escape(cell) for cell in column]
        for column in _cells(columns, width=HTML_WIDTH)
    ]
    head = "".join(f"<th>{column[0]}</th>" for column in cells)
    rows = [
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
        for row in zip(*(column[1:] for column in cells), strict=True)
    ]
    left = n_rows - len(rows)
    more = f"<p>... {count_of(left, 'more row')}</p>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"


def _cells(columns: Mapping[str, Any], *, width: int) -> list[list[str]]:
    """Return each column as texts, its name first; of many columns the first six."""
    first_columns = list(columns.items())[:6]
    cells = [[name, *(_text(value, width) for value in values)] for name, values in first_columns]
    if len(columns) > len(first_columns):
        cells.append(["...", *[""] * (len(cells[0]) - 1)])
    return cells


def _text(value: object, width: int) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3]}..."


def number(value: float) -> float | None:
    """Return a plain float for JSON, which has no nan: None there.

    >>> number(float("nan")) is None
    True
    """
    return None if math.isnan(value) else float(value)


class Plain:
    """A dataclass whose fields are its plain values, but for those in `HIDDEN`, and the properties in `MORE`."""

    HIDDEN: ClassVar[tuple[str, ...]] = ()
    MORE: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own: Any = self
        names = [one.name for one in fields(own) if one.name not in self.HIDDEN]
        return {name: plain(getattr(self, name)) for name in (*names, *self.MORE)}


def plain(value: Any) -> Any:
    """Return a value for JSON, which has no nan.

    >>> plain({"low": math.nan, "ends": (0.5, None)})
    {'low': None, 'ends': [0.5, None]}
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
