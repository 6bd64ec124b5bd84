"""Tables of the page: cells, whiskers in cells, and long tables folded after their first rows."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from defero.judge.intervals import Share
from defero.plotting.style import whole_percent
from defero.report.html import Html, folded, joined, one_line, tag

IN_SIGHT = 11
"""Number of experts that a long table shows."""
SPARED = 3
"""A table is folded only if more experts than this would be hidden."""

Row = TypeVar("Row")


@dataclass(frozen=True)
class Cell:
    """A cell of a table with attributes of its own."""

    content: str
    attributes: Mapping[str, str]


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str | Cell]], *, kind: str = "") -> Html:
    """Return a table in a box that scrolls if the page is narrower.

    Parameters
    ----------
    caption : str
        What the table shows; also the label of its box.
    header : column names
    rows : sequence of cells
        The first cell of a row is its name.
    kind : str
        Class for the style sheet.
    """
    heads = joined(tag("th", head, attributes={"scope": "col"}) if head else tag("td", "") for head in header)
    body = joined(
        tag("tr", _cell("th", first, {"scope": "row"}), *(_cell("td", cell, {}) for cell in rest))
        for first, *rest in rows
    )
    inner = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", tag("tr", heads)),
        tag("tbody", body),
        attributes={"class": kind} if kind else None,
    )
    return tag(
        "div", inner, attributes={"class": "scroll", "role": "region", "aria-label": one_line(caption), "tabindex": "0"}
    )


def _cell(name: str, cell: str | Cell, attributes: Mapping[str, str]) -> Html:
    if isinstance(cell, Cell):
        return tag(name, cell.content, attributes={**attributes, **cell.attributes})
    return tag(name, cell, attributes=attributes)


def most_asked_first(load: Sequence[int]) -> list[int]:
    """Return the experts' indices, those with most cases first; ties in their order.

    >>> most_asked_first([3, 9, 3])
    [1, 0, 2]
    """
    return sorted(range(len(load)), key=lambda j: (-load[j], j))


def too_many(n_experts: int) -> bool:
    """Return whether a table of so many experts is folded."""
    return n_experts > IN_SIGHT + SPARED


def folded_rows(
    experts: Sequence[Row],
    show: Callable[[Sequence[Row]], Html],
    *,
    before: Sequence[Row] = (),
    rest: str = "Show the other {n} experts",
) -> Html:
    """Return the first rows, and the others folded.

    Parameters
    ----------
    experts : J rows
        Those to be shown come first.
    show : callable
        Makes a table of some rows.
    before : rows
        Rows before the experts that are always shown: the team, the model.
    rest : str
        Summary of the folded rows; {n} is their number.
    """
    if not too_many(len(experts)):
        return show([*before, *experts])
    hidden = experts[IN_SIGHT:]
    return joined([show([*before, *experts[:IN_SIGHT]]), folded(rest.format(n=len(hidden)), show(hidden))])


@dataclass(frozen=True)
class Scale:
    """Range of the shares in a column of whiskers.

    >>> scale = Scale.around([Share(8, 10), Share(90, 100)])
    >>> scale.low, scale.head.split()
    (0.4, ['40', 'to', '100', '%'])
    """

    low: float

    @classmethod
    def around(cls, shares: Iterable[Share]) -> "Scale":
        """Return the scale from the lowest interval, rounded down to ten per cent, up to 1."""
        ends = [share.interval[0] for share in shares]
        known = [end for end in ends if not math.isnan(end)]
        return cls(min(0.9, math.floor(10 * min(known)) / 10) if known else 0.0)

    @property
    def head(self) -> str:
        """Name of the column."""
        return f"{100 * self.low:.0f} to {whole_percent(1.0)}"

    def place(self, value: float) -> float:
        """Return the position of a share, in per cent of the width."""
        return 100 * (value - self.low) / (1 - self.low)


def whisker(share: Share, *, scale: Scale, mark: float) -> Cell:
    """Return a cell with the share as a dot, its interval as a line, and a mark, for example the team's share.

    The cells beside it have the numbers, so screen readers skip it.
    """
    if share.total == 0:
        return Cell("", {"class": "whisker"})
    low, high = (scale.place(end) for end in share.interval)
    lines = [_line("track", 0.0, 100.0, width=2), _upright("mark", scale.place(mark))]
    lines += [_line("span", low, high, width=4), _upright("dot", scale.place(share.value), reach=5.0, width=3)]
    drawn = tag(
        "svg",
        *lines,
        attributes={"viewBox": "0 0 100 20", "preserveAspectRatio": "none", "aria-hidden": "true"},
    )
    return Cell(drawn, {"class": "whisker"})


def _line(kind: str, start: float, end: float, *, width: int) -> Html:
    return _segment(kind, start, 10.0, end, 10.0, width=width)


def _upright(kind: str, at: float, *, reach: float = 9.0, width: int = 1) -> Html:
    return _segment(kind, at, 10.0 - reach, at, 10.0 + reach, width=width)


def _segment(kind: str, x1: float, y1: float, x2: float, y2: float, *, width: int) -> Html:
    ends = {"x1": f"{x1:.2f}", "y1": f"{y1:g}", "x2": f"{x2:.2f}", "y2": f"{y2:g}"}
    return tag("line", attributes={"class": kind, **ends, "stroke-width": str(width)})
