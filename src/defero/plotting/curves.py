"""Accuracy of the team by the share of deferred cases, and quality of a pool by its cost."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, flags
from defero.core.errors import InputError
from defero.core.results import MODEL
from defero.core.trial import Trial
from defero.decide.curve import Curve
from defero.judge import DeferralCurve, deferral_curve, wilson_interval
from defero.judge.accuracy import trial_curve
from defero.plotting import style
from defero.plotting.style import Display, check_sizes


@dataclass(frozen=True)
class UsedRate:
    """Share that the team defers, its accuracy, and Wilson's 95 % interval of the accuracy."""

    rate: float
    accuracy: float
    low: float
    high: float


@dataclass(eq=False)
class DeferralCurveDisplay(Display):
    """Accuracy of the team by the share of deferred cases, those with the largest expected gain first.

    Attributes
    ----------
    curve : DeferralCurve
        From no case deferred to all. A case without an expert to ask stays with the model, so the curve of a trial
        ends at the share of cases with an answer.
    used : UsedRate, optional
        The share that the team defers.

    Examples
    --------
    >>> display = DeferralCurveDisplay.from_predictions([1, 0, 1], [0, 1, 1], [-0.5, 0.4, 0.1], deferred=[0, 1, 0])
    >>> display.curve.accuracy.round(3).tolist(), display.used.accuracy
    ([0.667, 1.0, 1.0, 0.667], 1.0)
    >>> from matplotlib import pyplot as plt
    >>> plt.close(display.figure_)
    """

    curve: DeferralCurve
    used: UsedRate | None = None

    @classmethod
    def from_trial(cls, trial: Trial, *, ax: Axes | None = None) -> "DeferralCurveDisplay":
        """Draw a trial; each case goes to its best expert among those who answered it."""
        check_sizes(len(trial))
        if not (trial.decision.best_expert != MODEL).any():
            raise InputError("no case could be deferred to anybody: there is no curve to draw.")
        return cls(trial_curve(trial), _used(trial.decision.deferred, trial.team_correct)).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        model_correct: ArrayLike,
        expert_correct: ArrayLike,
        gain: ArrayLike,
        *,
        deferred: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> "DeferralCurveDisplay":
        """Draw from arrays.

        Parameters
        ----------
        model_correct, expert_correct : (n,) bool
            Whether the model is right, and whether the expert who would get the case is.
        gain : (n,)
            Expected gain of deferring; the largest come first.
        deferred : (n,) bool, optional
            Cases that the team defers; marked in the picture.
        ax : Axes, optional
            Axes to draw on; a new figure by default.
        """
        curve = deferral_curve(model_correct, expert_correct, gain)
        used = None
        if deferred is not None:
            by_model = flags("model_correct", model_correct)
            chosen = flags("deferred", deferred, n_items=len(by_model))
            used = _used(chosen, np.where(chosen, flags("expert_correct", expert_correct), by_model))
        return cls(curve, used).plot(ax)

    def plot(self, ax: Axes | None = None) -> "DeferralCurveDisplay":
        """Draw the curve, on `ax` or on a new figure."""
        curve = self.curve
        with style.drawing():
            ax = self._take(ax, size=(5.2, 4.0))
            style.dress(ax, x="share of cases deferred", y="right")
            thin: dict[str, Any] = {"color": style.MUTED, "linewidth": 1.1}
            ax.plot(curve.rate, curve.oracle, linestyle="--", label="best order, known only in hindsight", **thin)
            ax.plot(curve.rate, curve.accuracy, color=style.TEAM, linewidth=1.8, label="team, largest gain first")
            ax.plot(curve.rate, curve.random, linestyle=":", label="random order", **thin)
            ends = (0, "model alone", "s", style.MODEL), (-1, "all deferred", "^", style.EXPERT)
            for end, name, marker, color in ends:
                label = f"{name}: {style.percent(curve.accuracy[end])}"
                style.draw_points(ax, curve.rate[end], curve.accuracy[end], marker=marker, color=color, label=label)
            if self.used is not None:
                self._mark_used(ax, self.used)
            ax.set_xlim(0, 1)
            ax.margins(y=0.08)
            style.in_percent(ax.xaxis)
            style.in_percent(ax.yaxis, most_ticks=6)
            style.legend_above(ax)
        return self

    def _mark_used(self, ax: Axes, used: UsedRate) -> None:
        label = f"as used: {style.percent(used.rate)} deferred, {style.percent(used.accuracy)} right"
        ends = [[used.accuracy - used.low], [used.high - used.accuracy]]
        looks: dict[str, Any] = {"color": style.INK, "linewidth": 0, "elinewidth": 1.0, "capsize": 2.5, "zorder": 5}
        mark: dict[str, Any] = {"marker": "D", "markersize": 7.5, "markerfacecolor": "none", "clip_on": False}
        # Rounding can put an end on the other side of the share.
        ax.errorbar([used.rate], [used.accuracy], yerr=np.abs(ends), label=label, **looks, **mark)


def _used(deferred: BoolArray, team_correct: BoolArray) -> UsedRate:
    right, total = int(team_correct.sum()), len(team_correct)
    return UsedRate(float(deferred.mean()), right / total, *wilson_interval(right, total))


@dataclass(eq=False)
class PoolFrontierDisplay:
    """The frontier of a pool.

    Attributes
    ----------
    ax : Axes
    """

    ax: Axes

    @classmethod
    def from_curve(
        cls,
        curve: Curve,
        *,
        ax: Axes,
        chosen: tuple[float, float] | None = None,
        oracle: float | None = None,
        random: tuple[float, float] | None = None,
    ) -> "PoolFrontierDisplay":
        """Draw the curve, the zero router's hull, the members, and where the pool is, at random and with all known.

        Parameters
        ----------
        curve : Curve
        ax : Axes
        chosen, random : (cost, quality), optional
        oracle : float, optional
            The quality of one who knows all scores.
        """
        hull, known = curve.hull, np.isfinite(curve.member_cost)
        zero: dict[str, Any] = {"color": style.MUTED, "linestyle": "--", "linewidth": 1.2, "label": "zero router"}
        with style.drawing():
            style.dress(ax, x="mean price of an item", y="mean score")
            ax.plot(curve.member_cost[hull], curve.member_quality[hull], **zero)
            ax.plot(curve.cost, curve.quality, color=style.TEAM, linewidth=2, label="pool")
            marks = (
                ((curve.member_cost[known], curve.member_quality[known]), "members", "o", style.EXPERT),
                (random, "random", "x", style.MUTED),
                (chosen, "this trade-off", "D", style.TEAM),
            )
            for at, label, marker, color in marks:
                if at is not None and np.isfinite(at[0]).all():
                    style.draw_points(ax, *at, marker=marker, color=color, label=label, size=5)
            if oracle is not None:
                ax.axhline(oracle, color=style.INK, linestyle=":", linewidth=1, label="oracle")
            style.legend_above(ax, ncols=3)
        return cls(ax)
