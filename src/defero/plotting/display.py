"""What every display does: take the Axes it is given, or make its own figure, and remember both."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from defero.core.checks import names
from defero.core.errors import InputError
from defero.plotting import style


class Display:
    """A picture and the numbers in it.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn last; the room that holds the panels where there are several.
    figure_ : Figure
        The figure of `ax_`.
    """

    ax_: Axes
    figure_: Figure

    def _take(self, ax: Axes | None, *, size: tuple[float, float]) -> Axes:
        """Return the Axes to draw on; without any, those of a new figure of that size in inches."""
        if ax is None:
            ax = plt.figure(figsize=size, layout="constrained").add_subplot()
        owner = ax.figure
        self.ax_ = ax
        self.figure_ = owner.figure if isinstance(owner, SubFigure) else owner
        return ax


def empty_room(ax: Axes) -> None:
    """Clear away an Axes' own frame: only the panels inside it and its two labels are seen."""
    style.dress(ax, grid="")
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])


def side_by_side(ax: Axes, widths: tuple[float, float], *, gap: float) -> tuple[Axes, Axes]:
    """Return two panels in an Axes, left and right, in the proportion of `widths`; gap is a share of the room."""
    empty_room(ax)
    left = (1 - gap) * widths[0] / sum(widths)
    return ax.inset_axes((0, 0, left, 1)), ax.inset_axes((left + gap, 0, 1 - left - gap, 1))


def grid_of_panels(ax: Axes, n_panels: int, *, n_columns: int, gap: tuple[float, float]) -> list[Axes]:
    """Return panels in an Axes, row by row from the top; gap is inches between columns and between rows."""
    empty_room(ax)
    n_rows = -(-n_panels // n_columns)
    room = ax.get_window_extent()
    dpi = ax.figure.dpi
    across, down = gap[0] * dpi / room.width, gap[1] * dpi / room.height
    # In a room too small for its gaps the panels still get half of it.
    across, down = (min(one, 0.5 / max(n - 1, 1)) for one, n in ((across, n_columns), (down, n_rows)))
    width, height = (1 - across * (n_columns - 1)) / n_columns, (1 - down * (n_rows - 1)) / n_rows
    corners = [divmod(panel, n_columns) for panel in range(n_panels)]
    return [ax.inset_axes((c * (width + across), 1 - height - r * (height + down), width, height)) for r, c in corners]


def check_cases(n_items: int) -> None:
    """Refuse to draw nothing."""
    if n_items == 0:
        raise InputError("a picture needs at least one case, got none.")


def check_experts(n_experts: int) -> None:
    """Refuse to draw nobody."""
    if n_experts == 0:
        raise InputError("this picture is about experts, and the team has none.")


def given_names(value: ArrayLike | None, *, count: int) -> tuple[str, ...]:
    """Return the names a caller gave, or expert_0, expert_1, ...; in signatures `names` is the argument."""
    return names("names", value, count=count)
