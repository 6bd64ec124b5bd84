"""What deferring more or fewer cases would bring, and who would get them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks import IntArray, frozen
from defero.core.errors import InputError
from defero.core.results import MODEL
from defero.core.trial import Trial
from defero.metrics.deferral import DeferralCurve, by_gain, curve_of, right_answers
from defero.metrics.record.share import Share, number


@dataclass(frozen=True, eq=False)
class DeferralPoint:
    """The team, were this share of the cases deferred.

    Attributes
    ----------
    wanted : float
        The share asked for.
    rate : float
        The share that could be deferred: less than wanted where too few cases have a recorded expert to go to.
    accuracy : Share
        Of the whole team.
    load : (J,) int
        How many cases each expert gets.
    """

    wanted: float
    rate: float
    accuracy: Share
    load: IntArray

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "wanted": self.wanted,
            "rate": number(self.rate),
            "team": self.accuracy.to_dict(),
            "load": self.load.tolist(),
        }


def deferral_points(trial: Trial, *, steps: int = 10) -> tuple[DeferralPoint, ...]:
    """Return the team at 0, 1/steps, ..., 1 of its cases deferred, those with the largest gain first.

    The gain is what the best expert is worth minus what the model is worth. A case goes to the best expert who is
    proven and whose answer is recorded. One without such an expert cannot be deferred, however large the share asked
    for: the accuracy of an expert who was not asked is not known. Of equal gains the earlier case goes first.
    """
    whom, change = _queue(trial)
    right = right_answers(int(trial.model_correct.sum()), change)
    points = []
    for step in range(steps + 1):
        # Counts of cases, rounded half up, so that 100 % is everything.
        count = min(len(whom), (2 * step * len(trial) + steps) // (2 * steps))
        load = np.bincount(whom[:count], minlength=len(trial.expert_names)).astype(np.int64)
        points.append(
            DeferralPoint(
                wanted=step / steps,
                rate=count / len(trial) if len(trial) else float("nan"),
                accuracy=Share(int(right[count]), len(trial)),
                load=frozen(load),
            )
        )
    return tuple(points)


def trial_curve(trial: Trial) -> DeferralCurve:
    """Trace the same case by case; the curve ends at the share of the cases that somebody can take."""
    _, change = _queue(trial)
    if not change.size:
        raise InputError("no case could be deferred to anybody: there is no curve to draw.")
    return curve_of(int(trial.model_correct.sum()), change, n_items=len(trial))


def _queue(trial: Trial) -> tuple[IntArray, IntArray]:
    """Return whom the cases go to, in the order in which they are deferred, and what that does to right answers."""
    decision = trial.decision
    open_to = np.flatnonzero(decision.best_expert != MODEL)
    order = open_to[by_gain((decision.best_value - decision.model_value)[open_to])]
    whom = decision.best_expert[order]
    change = trial.expert_correct[order, whom].astype(np.int64) - trial.model_correct[order]
    return whom, change
