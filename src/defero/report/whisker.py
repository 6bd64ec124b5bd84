"""A share and its interval as a line with a dot, small enough for a cell of a table."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from defero.metrics.statistics.intervals import Share
from defero.plotting.style import whole_percent
from defero.report.html import Cell, Html, tag


@dataclass(frozen=True)
class Scale:
    """The part of 0 to 1 that a column of whiskers shows.

    >>> scale = Scale.around([Share(8, 10), Share(90, 100)])
    >>> scale.low, scale.head.split()
    (0.4, ['40', 'to', '100', '%'])
    """

    low: float

    @classmethod
    def around(cls, shares: Iterable[Share]) -> "Scale":
        """Return the scale that holds every interval, from a full ten per cent up to 1."""
        ends = [share.interval[0] for share in shares]
        known = [end for end in ends if not math.isnan(end)]
        return cls(min(0.9, math.floor(10 * min(known)) / 10) if known else 0.0)

    @property
    def head(self) -> str:
        """What stands over the column."""
        return f"{100 * self.low:.0f} to {whole_percent(1.0)}"

    def place(self, value: float) -> float:
        """Return where a share stands, in per cent of the width."""
        return 100 * (value - self.low) / (1 - self.low)


def whisker(share: Share, *, scale: Scale, mark: float) -> Cell:
    """Return a cell with the share as a dot, its interval as a line, and a mark, for example the team's own share.

    The numbers stand in the cells beside it, so that nothing of it is read aloud.
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
