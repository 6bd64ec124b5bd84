"""Accuracy of model and experts, and their agreement, by the model's confidence."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import answer_matrix, check_same_form, complete_labels, missing_cells
from defero.core.trial import Trial
from defero.judge import Accuracies, reliability_bins
from defero.judge.intervals import simultaneous_level
from defero.plotting import style
from defero.plotting.style import Display, check_sizes

_STRIP = 0.16


@dataclass(eq=False)
class AgreementDisplay(Display):
    """Accuracy of model and experts, and their agreement, by the model's confidence.

    A case with several answers counts once, with the mean over its answers: answers to the same case are not
    independent, so the intervals are those of one answer per case.

    Attributes
    ----------
    edges : (B + 1,)
    confidence : (B,)
        Mean confidence of the model in each bin; nan in empty bins.
    model_right, expert_right, agree : Accuracies
        In each of B bins of the model's confidence; their intervals hold simultaneously. For the experts the count is
        of cases with an answer.
    level : float

    Examples
    --------
    >>> display = AgreementDisplay.from_predictions([0.6, 0.9, 0.9], [0, 1, 1], [[1, 1], [1, 0], [1, -1]], [1, 1, 1])
    >>> display.agree.accuracy[[5, 8]].tolist(), display.expert_right.accuracy[[5, 8]].tolist()
    ([0.0, 0.75], [1.0, 0.75])
    >>> from matplotlib import pyplot as plt
    >>> plt.close(display.figure_)
    """

    edges: FloatArray
    confidence: FloatArray
    model_right: Accuracies
    expert_right: Accuracies
    agree: Accuracies
    level: float = 0.95

    @classmethod
    def from_trial(
        cls, trial: Trial, *, ax: Axes | None = None, n_bins: int = 10, level: float = 0.95
    ) -> "AgreementDisplay":
        """Draw a trial; the model's confidence is P(its label is right)."""
        return cls.from_predictions(
            trial.model_proba,
            trial.model_idx,
            trial.answer_idx,
            trial.label_idx,
            n_bins=n_bins,
            level=level,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        confidence: ArrayLike,
        model_labels: ArrayLike,
        answers: ArrayLike,
        labels: ArrayLike,
        *,
        n_bins: int = 10,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> "AgreementDisplay":
        """Draw from arrays.

        Parameters
        ----------
        confidence : (n,)
            P(the model's label is right), in [0, 1].
        model_labels : (n,)
        answers : (n, J)
            Answers in the same form; see `system_labels` for what counts as missing.
        labels : (n,)
            True labels in the same form.
        n_bins : int
            Equal-width bins (k / B, (k + 1) / B] of the confidence.
        level : float
            Simultaneous level of the intervals of one line.
        ax : Axes, optional
            Axes to draw on; a new figure by default.
        """
        columns = answer_matrix(answers, name="answers")
        n_items, n_experts = columns.shape
        check_sizes(n_items, n_experts)
        predicted = complete_labels("model_labels", model_labels, n_items=n_items)
        truth = complete_labels("labels", labels, n_items=n_items)
        observed = ~np.column_stack([missing_cells(column) for column in columns.T])
        check_same_form("model_labels", predicted, "labels", truth)
        check_same_form("answers", columns[observed], "labels", truth)
        model = reliability_bins(confidence, predicted == truth, n_bins=n_bins, level=level)
        bins = np.searchsorted(model.edges[1:-1], np.asarray(confidence), side="left")
        each = simultaneous_level(level, n_bins)
        expert_right, agree = (
            _binned(_mean_over(columns == other[:, None], observed), bins, n_bins=n_bins, level=each)
            for other in (truth, predicted)
        )
        model_right = Accuracies(model.count[0], model.accuracy[0], model.low[0], model.high[0])
        return cls(model.edges, model.confidence[0], model_right, expert_right, agree, level).plot(ax)

    def plot(self, ax: Axes | None = None) -> "AgreementDisplay":
        """Draw the three lines over the counts, on `ax` or on a new figure."""
        with style.drawing():
            ax = self._take(ax, size=(5.2, 4.0))
            style.dress(ax, x="the model's confidence", y="share of cases")
            for name, label, line_style in _LINES:
                self._draw_line(ax, getattr(self, name), label, line_style)
            count = self.model_right.count
            height = count / max(int(count.max()), 1) * (_STRIP - 0.03)
            bars: dict[str, Any] = {"align": "edge", "color": style.MUTED, "linewidth": 0, "label": "count"}
            ax.bar(self.edges[:-1], height, np.diff(self.edges), -_STRIP, **bars)
            ax.axhline(0, color=style.MUTED, linewidth=0.6)
            ax.set(xlim=(self._left_end(), 1), ylim=(-_STRIP, 1.02))
            style.in_percent(ax.xaxis)
            style.in_percent(ax.yaxis)
            ax.set_yticks(np.arange(6) / 5)
            handles = [
                h for h in ax.get_legend_handles_labels()[0] if h.get_label() in {label for _, label, _ in _LINES}
            ]
            handles.append(Patch(color=style.MUTED, linewidth=0, label="number of cases"))
            style.legend_above(ax, handles=handles)
        return self

    def _draw_line(self, ax: Axes, share: Accuracies, label: str, line_style: dict[str, Any]) -> None:
        filled = share.count > 0
        x = self.confidence[filled]
        ax.fill_between(x, share.low[filled], share.high[filled], color=line_style["color"], alpha=0.13, linewidth=0)
        # The band of a single bin has no width, so its ends are drawn too.
        ax.vlines(x, share.low[filled], share.high[filled], color=line_style["color"], linewidth=0.7, alpha=0.6)
        ax.plot(x, share.accuracy[filled], label=label, markersize=4.5, linewidth=1.4, **line_style)

    def _left_end(self) -> float:
        """Return the left end of the axis: the confidence with K classes is at least 1 / K."""
        return float(self.edges[np.flatnonzero(self.model_right.count)[0]])


_LINES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("model_right", "model right", {"color": style.MODEL, "marker": "s", "linestyle": "-"}),
    ("expert_right", "experts right, on average", {"color": style.EXPERT, "marker": "^", "linestyle": "--"}),
    ("agree", "model and experts agree", {"color": style.TEAM, "marker": "o", "linestyle": ":"}),
)


def _mean_over(cells: ArrayLike, observed: BoolArray) -> FloatArray:
    """Return the mean over the experts who answered, (n,); nan without answers."""
    hits = (np.asarray(cells, dtype=np.bool_) & observed).sum(axis=1)
    total = observed.sum(axis=1)
    return np.divide(hits, total, out=np.full(len(total), np.nan), where=total > 0)


def _binned(values: FloatArray, bins: IntArray, *, n_bins: int, level: float) -> Accuracies:
    """Return the mean of values in [0, 1] in each bin, leaving nan out."""
    finite = ~np.isnan(values)
    count = np.bincount(bins[finite], minlength=n_bins)
    total = np.bincount(bins[finite], weights=values[finite], minlength=n_bins)
    # Shares in [0, 1] vary at most as much as 0 and 1 with the same mean: Wilson's interval is conservative.
    return Accuracies.of(np.minimum(total, count), count, level=level)
