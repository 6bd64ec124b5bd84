"""Number of experts on the panels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from defero.core.checks.arrays import IntArray, flags
from defero.core.errors import InputError
from defero.core.results import ExpertSets
from defero.core.trial import Trial
from defero.plotting import style
from defero.plotting.style import Display


@dataclass(eq=False)
class SetSizeDisplay(Display):
    """Sizes of the panels on deferred cases.

    An empty panel counts as 0, before the best expert replaces it.

    Attributes
    ----------
    count : (J + 1,) int
        Deferred cases whose panel has 0, 1, ..., J experts.
    n_filled : int
        Empty panels that were replaced by the best expert.

    Examples
    --------
    >>> display = SetSizeDisplay.from_predictions([[True, False], [True, True], [False, False]])
    >>> display.count.tolist(), display.mean, display.filled_mean
    ([1, 1, 1], 1.0, 1.0)
    >>> from matplotlib import pyplot as plt
    >>> plt.close(display.figure_)
    """

    count: IntArray
    n_filled: int = 0

    @classmethod
    def from_trial(cls, trial: Trial, *, ax: Axes | None = None) -> "SetSizeDisplay":
        """Draw the panels of a trial, on the cases that its calibrated rule defers."""
        if trial.panel is None:
            raise InputError("the trial has no panels; call conformalize first.")
        return cls.from_predictions(trial.panel.sets, deferred=trial.panel.deferred, ax=ax)

    @classmethod
    def from_predictions(
        cls, sets: ExpertSets | ArrayLike, *, deferred: ArrayLike | None = None, ax: Axes | None = None
    ) -> "SetSizeDisplay":
        """Draw from sets.

        Parameters
        ----------
        sets : ExpertSets, or (n, J) bool
            Experts on each panel.
        deferred : (n,) bool, optional
            Cases to count; all by default.
        ax : Axes, optional
            Axes to draw on; a new figure by default.
        """
        mask = np.asarray(sets.raw_mask if isinstance(sets, ExpertSets) else sets)
        if mask.ndim != 2 or mask.dtype != np.bool_:
            raise InputError(
                f"must be ExpertSets or a boolean array (n, J), got shape {mask.shape} of {mask.dtype}.",
                argument="sets",
            )
        chosen = np.ones(len(mask), dtype=np.bool_)
        if deferred is not None:
            chosen = flags("deferred", deferred, n_items=len(mask))
        count = np.bincount(mask[chosen].sum(axis=1), minlength=mask.shape[1] + 1)
        n_filled = int(sets.filled[chosen].sum()) if isinstance(sets, ExpertSets) else 0
        return cls(count, n_filled).plot(ax)

    @property
    def mean(self) -> float:
        """Experts per panel, empty ones counted as 0; nan if no case is deferred."""
        total = int(self.count.sum())
        return float(self.count @ np.arange(len(self.count)) / total) if total else float("nan")

    @property
    def filled_mean(self) -> float:
        """Experts per panel, empty ones counted as 1 if they were filled."""
        total = int(self.count.sum())
        return self.mean + self.n_filled / total if total else float("nan")

    def plot(self, ax: Axes | None = None) -> "SetSizeDisplay":
        """Draw the histogram, on `ax` or on a new figure."""
        total = int(self.count.sum())
        with style.drawing():
            ax = self._take(ax, size=(5.2, 3.4))
            style.dress(ax, x="experts on the panel", y="share of deferred cases", grid="y")
            style.in_percent(ax.yaxis)
            ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
            if total == 0:
                ax.set(xlim=(-0.6, len(self.count) - 0.4), ylim=(0, 1))
                ax.text(
                    0.5, 0.5, "no case was deferred", transform=ax.transAxes, ha="center", va="center", color=style.INK
                )
                return self
            self._draw_bars(ax, self.count / total)
            ax.axvline(self.mean, color=style.INK, linewidth=1.3, linestyle="--", label=self._mean_label())
            style.legend_above(ax, ncols=1)
        return self

    def _draw_bars(self, ax: Axes, share: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        largest = int(np.flatnonzero(self.count)[-1])
        sizes = np.arange(1, largest + 1)
        bar_style: dict[str, Any] = {"width": 0.8, "edgecolor": style.TEAM, "linewidth": 1.0}
        if largest:
            ax.bar(sizes, share[sizes], color=style.TEAM, **bar_style)
        if self.count[0]:
            ax.bar([0], share[:1], color="none", hatch="////", label=self._empty_label(), **bar_style)
        ax.set_xlim(-0.6, max(largest, 1) + 0.6)
        ax.set_ylim(0, min(1.08 * float(share.max()), 1.02))

    def _empty_label(self) -> str:
        cases = f"{self.count[0]:,} case{'' if self.count[0] == 1 else 's'}"
        return f"empty: the best expert is asked ({cases})" if self.n_filled else f"empty ({cases})"

    def _mean_label(self) -> str:
        if self.n_filled:
            return f"mean {self.mean:.2f}; {self.filled_mean:.2f} with empty ones filled"
        return f"mean {self.mean:.2f}"
