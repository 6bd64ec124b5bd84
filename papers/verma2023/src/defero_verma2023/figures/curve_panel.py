"""What a picture of curves is made of: marks, curves and panels."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Marks:
    """Points from left to right.

    Attributes
    ----------
    x, y, error : tuples of float
        The error is half of a bar's length; nan where there is none. One x of nan is a level, the same everywhere. A y
        of nan is a gap, which no line bridges.
    """

    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    error: tuple[float, ...] = ()

    @property
    def is_level(self) -> bool:
        """Is it one number for all places?"""
        return len(self.x) == 1 and math.isnan(self.x[0])

    def within(self, low: float, high: float) -> "Marks":
        """Return the same with gaps where the axis does not reach.

        >>> Marks((1.0, 2.0), (0.5, 3.0), (0.1, 0.1)).within(0.0, 1.0).y
        (0.5, nan)
        """
        return Marks(self.x, tuple(y if low <= y <= high else math.nan for y in self.y), self.error)


@dataclass(frozen=True)
class Curve:
    """One line of the legend.

    Attributes
    ----------
    label : str
    ours, published : Marks
        Either may be empty.
    colour, marker : str
    line : "solid", "dashed" or "dotted"
    frames : bool
        Does it say how far the y axis reaches? A baseline far below need not: it is drawn where the axis reaches, and
        its label says where it is left out.
    """

    label: str
    ours: Marks
    published: Marks
    colour: str
    marker: str
    line: str = "solid"
    frames: bool = True


@dataclass(frozen=True)
class CurvePanel:
    """One pair of axes. Panels with the same words on the y axis have the same y axis.

    Attributes
    ----------
    title, y_label : str
    curves : tuple of Curve
    log : bool
        A logarithmic y axis.
    from_zero : bool
        Let the y axis begin at 0.
    diagonal : bool
        Draw y = x.
    reference : (float, str), optional
        A line across at this height, and its words.
    """

    title: str
    y_label: str
    curves: tuple[Curve, ...]
    log: bool = False
    from_zero: bool = False
    diagonal: bool = False
    reference: tuple[float, str] | None = None

    @property
    def shown(self) -> tuple[Curve, ...]:
        """The curves that have a point."""
        return tuple(curve for curve in self.curves if curve.ours.x or curve.published.x)
