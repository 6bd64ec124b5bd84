"""Displays of results: a short repr, an HTML table in notebooks, a DataFrame, plain values for JSON."""

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from defero.core.wording import count_of

if TYPE_CHECKING:
    from pandas import DataFrame

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
