"""Draw curves with published ones beside them: filled marks and thick lines are ours, hollow and thin ones theirs."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from defero import InputError
from defero.plotting import drawing, dress
from defero_verma2023.figures.curve_panel import Curve, CurvePanel, Marks

INK, MUTED = "#1b1f24", "#5b6470"
DASHES = {"solid": "-", "dashed": "--", "dotted": ":"}
MOST_ENTRIES = 6
"""In a legend: more lines are not told apart."""
_PANEL = (3.7, 3.1)
_LEGEND_LINE = 0.155
"""Height of a line of the legend, in inches."""
_TITLE_LETTERS, _SMALL_LETTERS = 13, 18
"""How many letters of the title and of the note fit into an inch."""
_SAVED: Any = {"svg.hashsalt": "defero", "svg.fonttype": "path"}


def draw_panels(panels: Sequence[CurvePanel], *, x_label: str, title: str, note: str, n_columns: int = 2) -> Figure:
    """Draw panels row by row, each with its legend below.

    Parameters
    ----------
    panels : CurvePanels; those without a point are left out
    x_label : str
    title, note : str
        Above the panels; the note says in small letters what filled and hollow marks are.
    n_columns : int

    Examples
    --------
    >>> ours, theirs = Marks((1.0, 2.0), (80.0, 85.0), (0.5, 0.5)), Marks((1.0,), (81.0,), (0.3,))
    >>> panel = CurvePanel("accuracy", "percent", (Curve("OvA", ours, theirs, "#0072b2", "o"),))
    >>> len(draw_panels([panel], x_label="experts", title="one", note="").axes)
    1
    """
    filled = [panel for panel in panels if panel.shown]
    if not filled:
        raise InputError("a picture needs at least one point, got none.")
    n_columns = min(n_columns, len(filled))
    n_rows = -(-len(filled) // n_columns)
    legend = _LEGEND_LINE * max(len(panel.shown) for panel in filled) / 2
    with drawing():
        width = _PANEL[0] * n_columns if n_columns > 1 else 1.3 * _PANEL[0]
        size = (width, (_PANEL[1] + legend) * n_rows + 0.5)
        figure = Figure(figsize=size, layout="constrained")
        figure.suptitle(_lines(title, int(_TITLE_LETTERS * width)), fontsize=10, color=INK, x=0.01, ha="left")
        for place, panel in enumerate(filled, start=1):
            ax = figure.add_subplot(n_rows, n_columns, place)
            _frame(ax, [one for one in filled if one.y_label == panel.y_label])
            _draw(ax, _in_frame(panel, *ax.get_ylim()), x_label=x_label)
        figure.supxlabel(_lines(note, int(_SMALL_LETTERS * width)), fontsize=7, color=MUTED, x=0.01, ha="left")
    return figure


def _lines(text: str, n_letters: int) -> str:
    return fill(text, n_letters, break_on_hyphens=False)


def _in_frame(panel: CurvePanel, low: float, high: float) -> CurvePanel:
    """Return a panel whose curves end where the axis does; a mark on its edge would be cut in half."""
    edge = 0.03 * (high - low)
    curves = []
    for curve in panel.shown:
        if not curve.frames:
            ours, published = (marks.within(low + edge, high - edge) for marks in (curve.ours, curve.published))
            before, after = (
                sum(not math.isnan(y) for marks in pair for y in marks.y)
                for pair in ((curve.ours, curve.published), (ours, published))
            )
            left_out = "" if after == before else " (partly off axis)" if after else " (off axis)"
            curve = replace(curve, ours=ours, published=published, label=f"{curve.label}{left_out}")
        curves.append(curve)
    return replace(panel, curves=tuple(curves))


def save_picture(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write stem.svg and stem.png, the same bytes for the same figure and matplotlib: no date, no random ids."""
    svg, png = stem.with_name(f"{stem.name}.svg"), stem.with_name(f"{stem.name}.png")
    stem.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_SAVED):
        figure.savefig(svg, metadata={"Date": None})
        figure.savefig(png, dpi=130, metadata={"Software": None})
    return svg, png


def _draw(ax: Axes, panel: CurvePanel, *, x_label: str) -> None:
    dress(ax, x=x_label, y=panel.y_label)
    ax.set_title(panel.title, loc="left")
    shown = panel.shown
    places = sorted({x for curve in shown for x in (*curve.ours.x, *curve.published.x) if not math.isnan(x)})
    handles = [handle for curve in shown for handle in _handles(curve)]
    for curve in shown:
        _draw_ours(ax, curve)
        _draw_published(ax, curve)
    _draw_references(ax, panel, places)
    if places:
        ax.set_xticks(places, _tick_labels(places))
    if len(handles) > MOST_ENTRIES:
        raise InputError(f"a legend has at most {MOST_ENTRIES} entries, got {len(handles)} in {panel.title!r}.")
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        ncols=1 if max(len(curve.label) for curve in shown) > 32 else 2,
        handlelength=3.0,
        columnspacing=1.2,
    )


def _draw_references(ax: Axes, panel: CurvePanel, places: Sequence[float]) -> None:
    """Draw the lines that curves are held against, and write the name of each on it."""
    if panel.diagonal:
        ax.plot(places, places, color=MUTED, linewidth=0.8, zorder=1)
        middle = places[len(places) // 2]
        name: dict[str, Any] = {"xytext": (-3, 1), "textcoords": "offset points", "ha": "right", "fontsize": 7}
        ax.annotate("y = x", (middle, middle), color=MUTED, **name)
    if panel.reference is not None:
        ax.axhline(panel.reference[0], color=INK, linestyle=(0, (5, 2)), linewidth=0.9, zorder=1)
        _name_line(ax, panel, *panel.reference, colour=INK)
    for curve in panel.shown:
        if _is_named_on_its_line(curve):
            _name_line(ax, panel, curve.ours.y[0], curve.label, colour=curve.colour)


def _name_line(ax: Axes, panel: CurvePanel, height: float, words: str, *, colour: str) -> None:
    """Write words on a line across: left or right, above or below, where the curves are farthest."""
    low, high = ax.get_ylim()
    left, right = ax.get_xlim()
    room = 0.06 * (high - low)

    def distance(side: str, shift: float) -> float:
        begin = 0.0 if side == "left" else 0.55
        across = left + (right - left) * np.linspace(begin, begin + 0.45, num=20)
        curves = [marks for curve in panel.shown for marks in (curve.ours, curve.published) if len(marks.x) > 1]
        tops = [np.abs(np.interp(across, marks.x, marks.y) - height - shift) for marks in curves]
        return min((float(np.nanmin(top)) for top in tops), default=math.inf)

    fits = [shift for shift in (room, -room) if low < height + 1.5 * shift < high]
    side, shift = max(((side, shift) for side in ("right", "left") for shift in fits), key=lambda one: distance(*one))
    ax.annotate(
        words,
        (0.01 if side == "left" else 0.99, height),
        xycoords=ax.get_yaxis_transform(),
        xytext=(0, 2 if shift > 0 else -2),
        textcoords="offset points",
        ha=side,
        va="bottom" if shift > 0 else "top",
        fontsize=7,
        color=colour,
        zorder=4,
    )


def _is_named_on_its_line(curve: Curve) -> bool:
    """Is it a level of ours alone? Then its name stands on it, and not in the legend."""
    return curve.ours.is_level and not curve.published.is_level


def _tick_labels(places: Sequence[float]) -> list[str]:
    """Write each place, but none that the next one would touch.

    >>> _tick_labels([0.0, 0.5, 0.98, 1.0])
    ['0', '0.5', '', '1']
    """
    least = 0.07 * (places[-1] - places[0])
    crowded = [after - place < least for place, after in pairwise(places)]
    return ["" if close else f"{place:g}" for place, close in zip(places, [*crowded, False], strict=True)]


def _draw_ours(ax: Axes, curve: Curve) -> None:
    marks = curve.ours
    if marks.is_level:
        ax.axhline(marks.y[0], color=curve.colour, linestyle=DASHES[curve.line], linewidth=1.3)
        if not math.isnan(marks.error[0]):
            low, high = marks.y[0] - marks.error[0], marks.y[0] + marks.error[0]
            ax.axhspan(low, high, color=curve.colour, alpha=0.15, linewidth=0)
        return
    ax.errorbar(
        marks.x,
        marks.y,
        yerr=[0.0 if math.isnan(error) else error for error in marks.error] or None,
        color=curve.colour,
        marker=curve.marker,
        markersize=3.6,
        linestyle=DASHES[curve.line],
        linewidth=1.3,
        elinewidth=1.0,
        capsize=2.0,
        zorder=3,
    )


def _draw_published(ax: Axes, curve: Curve) -> None:
    marks = curve.published
    if marks.is_level:
        ax.axhline(marks.y[0], color=curve.colour, linestyle=(0, (1, 3)), linewidth=2.2, alpha=0.7)
        return
    if marks.x:
        ax.errorbar(
            marks.x,
            marks.y,
            yerr=[0.0 if math.isnan(error) else error for error in marks.error],
            color=curve.colour,
            marker=curve.marker,
            markersize=6.5,
            markerfacecolor="none",
            markeredgewidth=0.9,
            linestyle="-",
            linewidth=0.6,
            elinewidth=0.7,
            alpha=0.7,
            zorder=2,
        )


def _handles(curve: Curve) -> list[Line2D]:
    """Return the legend's samples: one, and one more for a published level, which has no hollow mark to know it by."""
    if _is_named_on_its_line(curve):
        return []
    if not curve.published.is_level:
        return [_handle(curve)]
    published = _handle(replace(curve, ours=Marks(), label=f"{curve.label}, published"))
    return [_handle(curve), published] if curve.ours.x else [published]


def _handle(curve: Curve) -> Line2D:
    """Return the legend's sample: a filled mark on a line, or the hollow mark of who is only published."""
    if not curve.ours.x and not curve.published.is_level:
        look: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none", "markersize": 6.5}
    elif not curve.ours.x:
        look = {"linestyle": (0, (1, 3)), "marker": "", "linewidth": 2.2}
    else:
        look = {"linestyle": DASHES[curve.line], "markersize": 3.6, "linewidth": 1.3}
        if curve.ours.is_level:
            look["marker"] = ""
    return Line2D([], [], **{"color": curve.colour, "marker": curve.marker, "label": curve.label, **look})


def _frame(ax: Axes, panels: Sequence[CurvePanel]) -> None:
    """Let the y axis reach as far as the curves of these panels that frame it, with their bars."""
    ends = [panel.reference[0] for panel in panels if panel.reference is not None]
    ends += [
        y + sign * (0.0 if math.isnan(error) else error)
        for panel in panels
        for curve in panel.shown
        if curve.frames
        for marks in (curve.ours, curve.published)
        for y, error in zip(marks.y, marks.error, strict=True)
        if not math.isnan(y)
        for sign in (-1, 1)
    ]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if any(panel.log for panel in panels):
        ax.set_yscale("log")
        ax.set_ylim(max(low, high / 1e3) / 1.25, high * 1.25)
        ax.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        return
    room = 0.06 * (high - low) or 1.0
    ax.set_ylim(0.0 if any(panel.from_zero for panel in panels) else max(low - room, 0.0), high + room)
