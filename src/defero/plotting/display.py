"""Base class of the displays, and layouts of several panels."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from defero.core.checks.arrays import names
from defero.core.errors import InputError
from defero.plotting import style


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
    style.dress(ax, grid="", frame=False)
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


def check_cases(n_items: int) -> None:
    """Raise if there are no cases."""
    if n_items == 0:
        raise InputError("this picture needs at least one case, got none.")


def check_experts(n_experts: int) -> None:
    """Raise if there are no experts."""
    if n_experts == 0:
        raise InputError("this picture needs at least one expert, got none.")


def check_names(value: ArrayLike | None, *, count: int, argument: str = "expert_names") -> tuple[str, ...]:
    """Return the names, by default expert_0, expert_1, ..."""
    return names(argument, value, count=count)
