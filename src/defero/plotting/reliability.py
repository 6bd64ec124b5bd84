"""Reliability diagrams: does 80 % mean right in 80 of 100 cases?"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray
from defero.core.checks.arrays import names as checked_names
from defero.core.errors import Argument, InputError
from defero.core.trial import Trial
from defero.judge import ReliabilityBins, expected_calibration_error, reliability_bins
from defero.plotting import style
from defero.plotting.style import Display, check_sizes, grid_of_panels

_FAINT = 0.3
_STRIP = 0.2  # height of the strip of counts below 0 %


@dataclass(eq=False)
class ReliabilityDisplay(Display):
    r"""Accuracy of each forecaster by confidence.

    A dot is a bin of answers: its accuracy at its mean confidence. The box is the interval; the boxes of a panel hold
    simultaneously at `level`. A diamond is a dot whose box does not contain the mean confidence: that gap is beyond
    chance. The strip below shows the number of answers.

    Attributes
    ----------
    bins : ReliabilityBins of J forecasters
    error : (J,)
        Expected calibration error with 20 bins; nan without answers.
    names : J names
    level : float
    axes_ : J panels, after `plot`

    Examples
    --------
    >>> display = ReliabilityDisplay.from_predictions([0.7, 0.9, 0.9, 0.8], [True, True, False, True], names=["ann"])
    >>> display.bins.count[0].tolist(), display.axes_[0].get_title()
    ([0, 0, 0, 0, 0, 0, 1, 1, 2, 0], 'ann\n4 answers, off by 32.5\xa0%')
    >>> from matplotlib import pyplot as plt
    >>> plt.close(display.figure_)
    """

    bins: ReliabilityBins
    error: FloatArray
    names: tuple[str, ...]
    level: float = 0.95
    axes_: list[Axes] = field(init=False, default_factory=list, repr=False)

    @classmethod
    def from_trial(
        cls, trial: Trial, *, ax: Axes | None = None, n_bins: int = 10, level: float = 0.95, include_model: bool = True
    ) -> "ReliabilityDisplay":
        """Draw the model on all cases, and each expert on the cases that they answered."""
        check_sizes(len(trial))
        confidence, correct = trial.scores.expert_proba, trial.expert_correct
        observed, names = trial.observed, trial.expert_names
        if include_model:
            confidence = np.column_stack([trial.model_proba, confidence])
            correct = np.column_stack([trial.model_correct, correct])
            observed = np.column_stack([np.ones(len(trial), dtype=np.bool_), observed])
            names = ("model", *names)
        return cls._build(confidence, correct, observed, names, n_bins=n_bins, level=level).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        confidence: ArrayLike,
        correct: ArrayLike,
        *,
        observed: ArrayLike | None = None,
        names: ArrayLike | None = None,
        n_bins: int = 10,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> "ReliabilityDisplay":
        """Draw forecasters from arrays.

        Parameters
        ----------
        confidence : (n,) or (n, J)
            P(right), in [0, 1].
        correct : the same shape, bool
            Whether the answer is right.
        observed : the same shape, bool, optional
            Whether there is an answer; everywhere by default.
        names : J names, optional
        n_bins : int
        level : float
            Simultaneous level of the intervals of one forecaster.
        ax : Axes, optional
            Axes to draw on; a new figure by default.
        """
        count = np.shape(confidence)[1] if np.ndim(confidence) == 2 else 1
        checked = checked_names("names", names, count=count)
        return cls._build(confidence, correct, observed, checked, n_bins=n_bins, level=level).plot(ax)

    @classmethod
    def _build(
        cls,
        confidence: ArrayLike,
        correct: ArrayLike,
        observed: ArrayLike | None,
        names: tuple[str, ...],
        *,
        n_bins: int,
        level: float,
    ) -> "ReliabilityDisplay":
        if not names:
            raise InputError(
                f"this picture needs at least one forecaster, got none; pass {Argument('include_model', True)}."
            )
        bins = reliability_bins(confidence, correct, observed=observed, n_bins=n_bins, level=level)
        error = expected_calibration_error(confidence, correct, observed=observed, average=None)
        return cls(bins, np.atleast_1d(error), names, level)

    def plot(self, ax: Axes | None = None) -> "ReliabilityDisplay":
        """Draw one panel for each forecaster, on `ax` or on a new figure."""
        n_panels = len(self.names)
        n_columns = min(n_panels, 4 if n_panels <= 12 else 5 if n_panels <= 25 else 6)
        if ax is not None:  # a title is 1.6 inches long
            n_columns = min(n_columns, max(1, int(ax.get_window_extent().width / ax.figure.dpi / 1.6)))
        n_rows = -(-n_panels // n_columns)
        with style.drawing():
            host = self._take(ax, size=(max(0.8 + 1.75 * n_columns, 3.8), 1.0 + 1.9 * n_rows))
            self.axes_ = grid_of_panels(host, n_panels, n_columns=n_columns, gap=(0.2, 0.5))
            for j, panel in enumerate(self.axes_):
                self._draw_panel(panel, j)
                # One panel is enough to measure the titles for the layout; measuring fifty takes seconds.
                panel.set_in_layout(j == n_columns - 1)
                panel.tick_params(labelbottom=j + n_columns >= n_panels, labelleft=j % n_columns == 0)
            host.set_xlabel("confidence", labelpad=16)
            host.set_ylabel("accuracy", labelpad=30)
            self._draw_legend(host, n_columns=1 if n_columns < 3 else 2)
        return self

    def _draw_panel(self, ax: Axes, j: int) -> None:
        bins = self.bins
        style.dress(ax)
        ax.set(xlim=(0, 1), ylim=(-_STRIP, 1.02), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        tick_labels = [style.whole_percent(share) for share in (0, 0.5, 1)]
        ax.set_yticklabels(tick_labels)
        # The outer two stay inside the panel, so that they do not meet the neighbour's.
        first, _, last = ax.set_xticklabels(tick_labels)
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
        ax.plot([0, 1], [0, 1], color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)), label="diagonal")
        ax.axhline(0, color=style.MUTED, linewidth=0.6)
        total = int(bins.count[j].sum())
        error = f"{total:,} answer{'' if total == 1 else 's'}, off by {style.percent(self.error[j])}" if total else ""
        ax.set_title(
            f"{style.short(self.names[j])}\n{error or 'no answers'}", parse_math=False, pad=4, linespacing=1.15
        )
        if total == 0:
            return
        used = np.flatnonzero(bins.count[j])
        left, width = bins.edges[used], np.diff(bins.edges)[used]
        box: dict[str, Any] = {"align": "edge", "color": style.TEAM, "alpha": _FAINT, "linewidth": 0}
        ax.bar(left, (bins.high - bins.low)[j, used], width, bins.low[j, used], label="interval", **box)
        height = bins.count[j, used] / bins.count[j].max() * (_STRIP - 0.04)
        ax.bar(left, height, width, -_STRIP, align="edge", color=style.MUTED, linewidth=0, label="count")
        outside = self._outside(j)[used]
        for chosen, marker in ((~outside, _INSIDE), (outside, _OUTSIDE)):
            ax.plot(bins.confidence[j, used][chosen], bins.accuracy[j, used][chosen], **marker)

    def _outside(self, j: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """(B,): whether the mean confidence is outside the interval."""
        confidence = self.bins.confidence[j]
        return (confidence < self.bins.low[j]) | (confidence > self.bins.high[j])

    def _draw_legend(self, host: Axes, *, n_columns: int) -> None:
        above_titles = ScaledTranslation(0, 30 / 72, self.figure_.dpi_scale_trans)
        band = style.whole_percent(self.level)
        handles: list[Artist] = [
            Line2D([], [], **(_INSIDE | {"label": "accuracy, by confidence"})),
            Patch(color=style.TEAM, alpha=_FAINT, linewidth=0, label=f"{band} band, all bins together"),
            Line2D([], [], **(_OUTSIDE | {"label": "confidence outside the band"})),
            Patch(color=style.MUTED, linewidth=0, label="number of answers"),
        ]
        at: dict[str, Any] = {"bbox_to_anchor": (0, 1), "bbox_transform": host.transAxes + above_titles}
        style.legend_above(host, handles=handles, ncols=n_columns, borderaxespad=0, **at)


_INSIDE: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 3.5,
    "color": style.TEAM,
    "label": "inside",
}
_OUTSIDE = _INSIDE | {"marker": "D", "markersize": 4.0, "color": style.MISSED, "label": "outside"}
