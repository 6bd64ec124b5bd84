"""Figures with their intervals, and tables of them: what text and page are made from."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from defero.core.wording import aligned, money, percent
from defero.judge.intervals import Comparison, Share


def hundredths(value: float) -> str:
    """Write a share in percent, without the sign.

    >>> hundredths(0.5)
    '50.0'
    """
    return f"{100 * value:.1f}"


def in_points(value: float) -> str:
    """Write a difference of two shares in percentage points, with its sign.

    >>> in_points(0.0123), in_points(-0.2), in_points(-0.0001), in_points(float("nan"))
    ('+1.2', '-20.0', '+0.0', '-')
    """
    return "-" if math.isnan(value) else f"{round(100 * value, 1) + 0.0:+.1f}"


@dataclass(frozen=True)
class Figure:
    """A number of a record: its value, the ends of its interval if it has one, and how both are written.

    Attributes
    ----------
    value, low, high : float
    write, ends : callable
        Write the value, and an end of the interval.
    mark : "good", "bad", "unsure", "strong" or ""
        How the page shows it.

    Examples
    --------
    >>> print(Figure(0.5, 0.41, 0.59)), print(Figure(0.5)), print(Figure(math.nan))
    50.0 %  (41.0 to 59.0)
    50.0 %
    -
    (None, None, None)
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    write: Callable[[float], str] = percent
    ends: Callable[[float], str] = hundredths
    mark: str = ""

    @classmethod
    def share(cls, share: Share) -> Self:
        """Return a share of right answers with its interval."""
        return cls(share.value, *share.interval)

    @classmethod
    def gain(cls, gain: Comparison | None, *, mark: str | None = None) -> Self:
        """Return a difference in points with its interval, marked where it is beyond chance."""
        if gain is None:
            return cls(math.nan)
        clear = "unsure" if not gain.clear else "good" if gain.difference > 0 else "bad"
        return cls(gain.difference, gain.low, gain.high, in_points, in_points, clear if mark is None else mark)

    @classmethod
    def money(cls, mean: float, low: float = math.nan, high: float = math.nan, *, like: float, mark: str = "") -> Self:
        """Return an amount of money, written with as many decimals as one of the size of `like`."""
        write = partial(money, like=like)
        return cls(mean, low, high, write, write, mark)

    @classmethod
    def number(cls, value: float, decimals: int = 0) -> Self:
        """Return a number with so many decimals."""
        return cls(value, write=f"{{:,.{decimals}f}}".format)

    def inline(self) -> str:
        """Return it as it stands in a sentence."""
        return str(self).replace("  (", " (")

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "-"
        known = not (math.isnan(self.low) or math.isnan(self.high))
        return f"{self.write(self.value)}{f'  ({self.ends(self.low)} to {self.ends(self.high)})' if known else ''}"


@dataclass(frozen=True)
class Words:
    """A cell of a table that is no number.

    Attributes
    ----------
    text, mark : str
        As in `Figure`.
    hint : str
        What the page shows on hovering.
    heat : float, optional
        How strongly the page colours the cell, from 0 to 1.
    """

    text: str
    mark: str = ""
    hint: str = ""
    heat: float | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Whisker:
    """A share as a dot, its interval as a line, and a mark, on a scale from `start` to 1.

    >>> round(Whisker(Share(8, 10), start=0.5, mark=0.9).places["dot"], 9)
    60.0
    """

    share: Share
    start: float
    mark: float

    @property
    def places(self) -> dict[str, float]:
        """Places of low and high end, dot and mark, in per cent of the width; none without cases."""
        low, high = self.share.interval
        ends = {"low": low, "high": high, "dot": self.share.value, "mark": self.mark}
        return {name: 100 * (end - self.start) / (1 - self.start) for name, end in ends.items() if self.share.total}

    def __str__(self) -> str:
        return ""


Cell = str | Figure | Words | Whisker


@dataclass(frozen=True)
class FigureTable:
    """A table of figures; the first cell of a row is its name.

    Attributes
    ----------
    head : names of the columns
    rows : rows of cells
    caption : str
    n_first : int
        How many rows a page always shows before those that it may fold.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    n_first: int = 0

    def only(self, columns: Sequence[int], rows: Sequence[int] | None = None) -> "FigureTable":
        """Return some columns, and some rows."""
        shown = self.rows if rows is None else [self.rows[i] for i in rows]
        return replace(self, head=[self.head[i] for i in columns], rows=[[row[i] for i in columns] for row in shown])

    def text(self) -> str:
        """Lay out the cells in columns: the first to the left, the others to the right."""
        return "\n".join(aligned([list(map(str, row)) for row in (self.head, *self.rows)], to_right=True))


@dataclass(frozen=True)
class Section:
    """A part of a record.

    Attributes
    ----------
    key, title : str
        Its id on the page, and its heading there.
    parts : sentences, lists of sentences and FigureTables
        In their order. The page may add pictures.
    """

    key: str
    title: str
    parts: Sequence[Any]

    def text(self) -> str:
        """Return the parts one below the other."""
        return "\n\n".join(one.text() if isinstance(one, FigureTable) else str(one) for one in self.parts)
