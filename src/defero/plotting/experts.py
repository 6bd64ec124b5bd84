"""What experts do: how many cases each gets and how well they do on these."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from defero.core.checks.arrays import IntArray, names
from defero.core.labels import answer_matrix, check_same_form, complete_labels
from defero.core.results import Decision
from defero.core.results.decision import asked_answers, chosen_experts
from defero.core.trial import Trial
from defero.judge import GroupCalibration, decision_calibration
from defero.judge.intervals import Interval
from defero.plotting import style
from defero.plotting.style import Display, check_sizes, side_by_side


@dataclass(eq=False)
class ExpertLoadDisplay(Display):
    """Share of all cases that each expert gets, and their accuracy on these cases beside the promised one.

    Attributes
    ----------
    usage : GroupCalibration of J experts
        On the cases that they get: `count`, and `realised` beside `promised`, nan for experts who are never asked.
    n_items : int
    expert_names : J names
    level : float
    order : (J,) int
        Experts from the top row to the bottom, those with most cases first.
    axes_ : the two panels, after `plot`

    Examples
    --------
    >>> display = ExpertLoadDisplay.from_predictions([0, 1, 1, -1], [[1, 0], [0, 0], [1, 1], [0, 0]], [1, 0, 0, 0])
    >>> display.order.tolist(), display.usage.count.tolist(), display.usage.accuracy.tolist()
    ([1, 0], [1, 2], [1.0, 0.5])
    >>> from matplotlib import pyplot as plt
    >>> plt.close(display.figure_)
    """

    usage: GroupCalibration
    n_items: int
    expert_names: tuple[str, ...]
    level: float = 0.95
    axes_: tuple[Axes, ...] = field(init=False, default=(), repr=False)

    @classmethod
    def from_trial(
        cls, trial: Trial, *, ax: Axes | None = None, level: float = 0.95, interval: Interval = "wilson"
    ) -> "ExpertLoadDisplay":
        """Draw a trial."""
        return cls.from_predictions(
            trial.decision,
            trial.answer_idx,
            trial.label_idx,
            expert_proba=trial.scores.expert_proba,
            expert_names=trial.expert_names,
            level=level,
            interval=interval,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        expert: ArrayLike | Decision,
        answers: ArrayLike,
        labels: ArrayLike,
        *,
        expert_proba: ArrayLike | None = None,
        expert_names: ArrayLike | None = None,
        level: float = 0.95,
        interval: Interval = "wilson",
        ax: Axes | None = None,
    ) -> "ExpertLoadDisplay":
        """Draw from arrays.

        Parameters
        ----------
        expert : (n,) int, or a Decision
            -1 where the model answers, else the expert's index.
        answers : (n, J)
            Answers; the expert who is asked must have one.
        labels : (n,)
            True labels in the same form.
        expert_proba : (n, J), optional
            P(expert j is right), the promised accuracy.
        expert_names : J names, optional
        level : float
            Level of the intervals.
        interval : "wilson" or "clopper-pearson"
        ax : Axes, optional
            Axes to draw on; a new figure by default.
        """
        columns = answer_matrix(answers, name="answers")
        n_items, n_experts = columns.shape
        check_sizes(n_items, n_experts)
        truth = complete_labels("labels", labels, n_items=n_items)
        check_same_form("answers", asked_answers(chosen_experts(expert), columns)[1], "labels", truth)
        correct = (columns == truth[:, None]).astype(np.bool_)
        proba = np.zeros(columns.shape) if expert_proba is None else expert_proba
        usage = decision_calibration(expert, proba, correct, level=level, interval=interval)
        if expert_proba is None:
            usage = replace(usage, promised=np.full(n_experts, np.nan))
        return cls(usage, n_items, names("expert_names", expert_names, count=n_experts), level).plot(ax)

    @property
    def order(self) -> IntArray:
        """(J,): those with most cases first; ties in the order of the experts."""
        return np.argsort(-self.usage.count, kind="stable")

    def plot(self, ax: Axes | None = None) -> "ExpertLoadDisplay":
        """Draw the two panels, on `ax` or on a new figure that grows with the experts."""
        n_experts = len(self.expert_names)
        with style.drawing():
            host = self._take(ax, size=(7.2, 1.2 + 0.23 * max(n_experts, 3)))
            left, right = side_by_side(host, (1.0, 1.1), gap=0.06)
            self.axes_ = (left, right)
            self._draw_load(left)
            self._draw_accuracy(right)
            for panel in self.axes_:
                panel.set_ylim(n_experts - 0.4, -0.6)
        return self

    def _draw_load(self, ax: Axes) -> None:
        order, count = self.order, self.usage.count
        share = count / self.n_items
        style.dress(ax, x=f"share of all cases (the model: {style.percent(round(1 - share.sum(), 12))})", grid="x")
        rows = np.arange(len(order))
        ax.barh(rows, share[order], height=0.62, color=style.TEAM, linewidth=0, label="load")
        for row, j in enumerate(order):
            text = f"{count[j]:,}" if count[j] else "never asked"
            beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
            ax.annotate(text, (share[j], row), fontsize=style.SMALL, color=style.INK, **beside)
        ax.set_xlim(0, max(1.25 * float(share.max()), 0.01))
        style.in_percent(ax.xaxis, most_ticks=4)
        style.write_names(ax.yaxis, [self.expert_names[j] for j in order])

    def _draw_accuracy(self, ax: Axes) -> None:
        style.dress(ax, x="accuracy on these cases", grid="both")
        order, usage = self.order, self.usage
        places = np.flatnonzero(usage.count[order])
        expert_idx = order[places]
        low, high = usage.low[expert_idx], usage.high[expert_idx]
        ax.hlines(places, low, high, color=style.EXPERT, linewidth=1.6, label="interval")
        label = f"accuracy, with {style.whole_percent(self.level)} interval"
        style.draw_points(ax, usage.accuracy[expert_idx], places, marker="o", color=style.EXPERT, label=label, size=4.5)
        if np.isfinite(usage.promised).any():
            looks: dict[str, Any] = {"marker": "D", "color": style.INK, "label": "promised", "hollow": True, "size": 5}
            style.draw_points(ax, usage.promised[expert_idx], places, **looks)
        ends = np.concatenate([low, usage.promised[expert_idx], [1.0]])
        lowest = float(np.nanmin(ends)) if len(expert_idx) else 0.0
        ax.set_xlim(max(0.0, lowest - 0.04) if lowest < 0.96 else 0.9, 1.01)
        style.in_percent(ax.xaxis)
        style.write_names(ax.yaxis, [""] * len(order))
        handles = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
        style.legend_above(ax, handles=handles)
