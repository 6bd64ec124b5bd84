"""Colours, font sizes and axes of the pictures.

INK, MUTED, GRID and PAPER are the only black, greys and white, so that a page that embeds a picture as SVG can replace
them by its own colours. The palette is Okabe and Ito's, which colour-blind readers can distinguish; markers, dashes or
hatches repeat what the colours say.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from defero.core import wording
from defero.core.errors import InputError

INK = "#1b1f24"
MUTED = "#5b6470"
GRID = "#d5dae0"
PAPER = "#fffffe"

TEAM = "#0072b2"
MODEL = "#d55e00"
EXPERT = "#009e73"
MISSED = "#d55e00"

TEXT = 8.0
SMALL = 7.0
LONGEST_NAME = 18
NO_BREAK = "\u00a0"

_SETTINGS: Any = {
    "font.size": TEXT,
    "text.color": INK,
    "text.usetex": False,
    "text.parse_math": False,  # an expert may be called "$100"
    "axes.titlesize": TEXT,
    "axes.labelsize": TEXT,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.titlecolor": INK,
    "axes.grid": False,
    "figure.facecolor": PAPER,
    "figure.edgecolor": PAPER,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "hatch.color": MUTED,
    "hatch.linewidth": 0.6,
}


def drawing() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws in this style."""
    return matplotlib.rc_context(_SETTINGS)


def dress(ax: Axes, *, x: str = "", y: str = "", grid: str = "both", frame: bool = True) -> None:
    """Style the Axes, draw a light grid and write labels; grid is "both", "x", "y" or ""."""
    for side, spine in ax.spines.items():
        spine.set_visible(frame and side in ("left", "bottom"))
        spine.set(color=MUTED, linewidth=0.8)
    ax.tick_params(which="both", color=MUTED, labelcolor=INK, labelsize=SMALL, length=2.5, width=0.8)
    ax.set_facecolor("none")
    ax.set_axisbelow(True)
    ax.grid(visible=False)
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        if grid in (name, "both"):
            axis.grid(visible=True, color=GRID, linewidth=0.6, linestyle="-")
    ax.set_xlabel(x, color=INK, fontsize=TEXT)
    ax.set_ylabel(y, color=INK, fontsize=TEXT)


def in_percent(axis: Axis, *, most_ticks: int = 5) -> None:
    """Write the ticks of an axis of shares in percent, at round values."""
    axis.set_major_locator(MaxNLocator(most_ticks, steps=[1, 2, 2.5, 5, 10]))
    # Only as many digits as the ticks need: 85 % and 99.95 %, not 85.0 %.
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}\u00a0%"))


def legend_above(ax: Axes, *, handles: Sequence[Artist] | None = None, ncols: int = 2, **place: Any) -> None:
    """Draw the legend above the Axes, of everything that has a label where no handles are named."""
    place = {"bbox_to_anchor": (-0.02, 1.0), "borderaxespad": 0.3, **place}
    ax.legend(handles=handles, loc="lower left", ncols=ncols, columnspacing=1.5, **place)


def draw_points(
    ax: Axes, x: Any, y: Any, *, marker: str, color: str, label: str, size: float = 6.5, hollow: bool = False
) -> None:
    """Draw marks without a line, whole even at the edge of the Axes."""
    face = "none" if hollow else color
    looks: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": color, "clip_on": False, "zorder": 4}
    ax.plot(x, y, linestyle="none", marker=marker, markersize=size, color=color, label=label, **looks)


def write_names(axis: Axis, names: Sequence[str]) -> None:
    """Write names at 0, 1, 2, ..., without reading dollar signs as mathematics."""
    axis.set_ticks(range(len(names)), [short(name) for name in names])
    axis.set_tick_params(length=0)
    for tick in axis.get_major_ticks():
        tick.label1.set_parse_math(False)


def short(name: object) -> str:
    """Return a name of at most 18 characters; the middle of longer ones is left out.

    >>> short("Dr Ann"), short("radiologist of the county hospital no. 7")
    ('Dr Ann', 'radiologi…al no. 7')
    """
    text = " ".join(str(name).split())
    if len(text) <= LONGEST_NAME:
        return text
    half = LONGEST_NAME // 2
    return f"{text[:half]}…{text[half + 1 - LONGEST_NAME :]}"


def percent(share: float) -> str:
    """Write a share in percent with a no-break space."""
    return wording.percent(share, space=NO_BREAK)


def whole_percent(share: float) -> str:
    """Write a round share, such as a level, in percent."""
    return wording.round_percent(share, space=NO_BREAK)


class Display:
    """A picture and the numbers in it.

    Attributes
    ----------
    ax_ : Axes
        The Axes of the last plot; with several panels, the Axes around them.
    figure_ : Figure
        The figure of `ax_`.
    """

    ax_: Axes
    figure_: Figure

    def _take(self, ax: Axes | None, *, size: tuple[float, float]) -> Axes:
        """Return the Axes to draw on; without `ax`, those of a new figure of that size in inches."""
        if ax is None:
            ax = plt.figure(figsize=size, layout="constrained").add_subplot()
        owner = ax.figure
        self.ax_ = ax
        self.figure_ = owner.figure if isinstance(owner, SubFigure) else owner
        return ax


def hide_frame(ax: Axes) -> None:
    """Hide the frame and ticks of an Axes that holds panels; its labels stay."""
    dress(ax, grid="", frame=False)
    ax.set_xticks([])
    ax.set_yticks([])


def side_by_side(ax: Axes, widths: tuple[float, float], *, gap: float) -> tuple[Axes, Axes]:
    """Return two panels in an Axes with relative `widths`; gap is a share of the width."""
    hide_frame(ax)
    left = (1 - gap) * widths[0] / sum(widths)
    return ax.inset_axes((0, 0, left, 1)), ax.inset_axes((left + gap, 0, 1 - left - gap, 1))


def grid_of_panels(ax: Axes, n_panels: int, *, n_columns: int, gap: tuple[float, float]) -> list[Axes]:
    """Return panels in an Axes, row by row from the top; gap is inches between columns and between rows."""
    hide_frame(ax)
    n_rows = -(-n_panels // n_columns)
    extent = ax.get_window_extent()
    dpi = ax.figure.dpi
    across, down = gap[0] * dpi / extent.width, gap[1] * dpi / extent.height
    # If the Axes is too small for its gaps, the panels still get half of it.
    across, down = (min(width, 0.5 / max(n - 1, 1)) for width, n in ((across, n_columns), (down, n_rows)))
    width, height = (1 - across * (n_columns - 1)) / n_columns, (1 - down * (n_rows - 1)) / n_rows
    corners = [divmod(panel, n_columns) for panel in range(n_panels)]
    return [ax.inset_axes((c * (width + across), 1 - height - r * (height + down), width, height)) for r, c in corners]


def check_sizes(n_items: int, n_experts: int = 1) -> None:
    """Raise if there are no cases, or no experts."""
    if n_items == 0:
        raise InputError("this picture needs at least one case, got none.")
    if n_experts == 0:
        raise InputError("this picture needs at least one expert, got none.")
