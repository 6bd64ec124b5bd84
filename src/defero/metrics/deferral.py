"""Who gets the work, and what deferring more or less of it would bring."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, flags, frozen, numbers
from defero.core.checks.experts import asked_answers, check_same_form, chosen_experts, complete_labels
from defero.core.errors import InputError
from defero.core.labels import answer_matrix
from defero.core.results import MODEL, Decision
from defero.core.trials.trial import Trial
from defero.metrics.statistics.intervals import Interval, Share, counts_by_expert, number, share_intervals


def coverage(expert: ArrayLike | Decision) -> float:
    """Return the share of items that the model answers; nan for no items.

    >>> coverage([-1, -1, 0, 2])
    0.5
    """
    chosen = chosen_experts(expert)
    return float(np.mean(chosen == MODEL)) if chosen.size else math.nan


@dataclass(frozen=True, eq=False)
class DeferralCurve:
    """Accuracy against the share of items deferred.

    Attributes
    ----------
    rate : (m + 1,)
        0, 1/n, ..., m/n: the share deferred; m is n where every item can be.
    accuracy : (m + 1,)
        The team's accuracy when the items with the largest gain are deferred.
    random : (m + 1,)
        The mean accuracy when they are drawn at random: a straight line between the same two ends.
    oracle : (m + 1,)
        The best accuracy of any order, which only hindsight has: first where the expert alone is right, last
        where the model alone is.
    """

    rate: FloatArray
    accuracy: FloatArray
    random: FloatArray
    oracle: FloatArray

    def area(self) -> float:
        """Return the area under the accuracy (AUDC), by trapezoids."""
        return float(np.trapezoid(self.accuracy, self.rate))

    def normalised_area(self) -> float:
        """Return (area - random) / (oracle - random): 0 for a random order, 1 for the best one.

        It is nan where every order is equally good, and negative where the gain ranks worse than chance.
        """
        by_chance = float(np.trapezoid(self.random, self.rate))
        room = float(np.trapezoid(self.oracle, self.rate)) - by_chance
        return (self.area() - by_chance) / room if room else math.nan


def deferral_curve(model_correct: ArrayLike, expert_correct: ArrayLike, gain: ArrayLike) -> DeferralCurve:
    """Trace the accuracy as ever more items are deferred, those with the largest gain first.

    accuracy(b) = 1/n (sum of expert_correct over the first b items + sum of model_correct over the others).

    Parameters
    ----------
    model_correct : (n,) bool
        Is the model right?
    expert_correct : (n,) bool
        Is the expert right to whom the item would go?
    gain : (n,)
        How much better the expert looks, for example `decision.best_value - decision.model_value`; -inf for
        an item that nobody can take. Of equal gains the earlier item goes first.

    Returns
    -------
    DeferralCurve
        Its ends are the model's and the experts' accuracy. For the curve of a trial see `trial_curve`.

    Examples
    --------
    >>> curve = deferral_curve([True, False, True], [False, True, True], [-0.5, 0.4, 0.1])
    >>> curve.accuracy.round(3).tolist()
    [0.667, 1.0, 1.0, 0.667]
    >>> curve.normalised_area()
    1.0
    """
    by_model = flags("model_correct", model_correct)
    n_items = len(by_model)
    by_expert = flags("expert_correct", expert_correct, n_items=n_items)
    ranking = numbers("gain", gain, n_items=n_items)
    if n_items == 0:
        raise InputError("must hold at least one item, got none: there is no curve to trace.", argument="model_correct")
    change = by_expert.astype(np.int64) - by_model.astype(np.int64)
    return curve_of(int(by_model.sum()), change[by_gain(ranking)], n_items=n_items)


def by_gain(gain: FloatArray) -> IntArray:
    """Return the items in the order in which they are deferred: the largest gain first, of equal ones the earlier.

    >>> by_gain(np.array([0.1, 0.4, 0.1])).tolist()
    [1, 0, 2]
    """
    return np.argsort(-gain, kind="stable")


def right_answers(start: int, change: IntArray) -> IntArray:
    """Return how many right answers the team has after 0, 1, ..., m deferrals, (m + 1,).

    >>> right_answers(5, np.array([1, 0, -1])).tolist()
    [5, 6, 6, 5]
    """
    return start + np.concatenate([[0], np.cumsum(change)])


def curve_of(start: int, change: IntArray, *, n_items: int) -> DeferralCurve:
    """Trace m deferrals among n items.

    Parameters
    ----------
    start : int
        How many right answers the model has.
    change : (m,) of -1, 0 and 1
        What each deferral does to that, in the order in which they are made; m is at least 1.
    n_items : int
        n; the others stay with the model.
    """
    steps = np.arange(len(change) + 1)
    # Counts stay whole until one division each, so that equal curves are equal to the last bit.
    line = (len(change) * start + steps * int(change.sum())) / (len(change) * n_items)
    return DeferralCurve(
        rate=frozen(steps / n_items),
        accuracy=frozen(right_answers(start, change) / n_items),
        random=frozen(line),
        oracle=frozen(right_answers(start, np.sort(change)[::-1]) / n_items),
    )


@dataclass(frozen=True, eq=False)
class ExpertUsage:
    """How much each expert was used, and how well they did then.

    Attributes
    ----------
    load : (J,) int
        How many items the expert got.
    share : (J,)
        The same as a share of all items, the model's included; nan for no items.
    accuracy : (J,)
        The share of those items answered right; nan for an expert never used.
    low, high : (J,)
        Wilson's interval of that accuracy.
    """

    load: IntArray
    share: FloatArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray


def expert_usage(
    expert: ArrayLike | Decision,
    answers: ArrayLike,
    labels: ArrayLike,
    *,
    level: float = 0.95,
    interval: Interval = "wilson",
) -> ExpertUsage:
    """Count how often each expert was asked, and how often they were right when asked.

    Parameters
    ----------
    expert : (n,) int, or a Decision
        -1 where the model answers, else the expert's index.
    answers : (n, J)
        The experts' answers; see `system_labels` for what counts as no answer.
    labels : (n,)
        The truth in the same form.
    level : float
        Of the intervals.
    interval : "wilson" or "clopper-pearson"

    Examples
    --------
    >>> usage = expert_usage([0, 0, -1, 1], [[1, 0], [1, 0], [0, 0], [1, 1]], [1, 0, 0, 1])
    >>> usage.load.tolist(), usage.share.tolist(), usage.accuracy.tolist()
    ([2, 1], [0.5, 0.25], [0.5, 1.0])
    """
    chosen, columns = chosen_experts(expert), answer_matrix(answers, name="answers")
    n_items, n_columns = columns.shape
    truth = complete_labels("labels", labels, n_items=n_items)
    deferred, chosen_answers = asked_answers(chosen, columns)
    check_same_form("answers", chosen_answers, "labels", truth)
    load, right = counts_by_expert(chosen[deferred], chosen_answers == truth[deferred], n_columns)
    low, high = share_intervals(right, load, level=level, interval=interval)
    never = np.full(n_columns, np.nan)
    return ExpertUsage(
        load=frozen(load),
        share=frozen(load / n_items if n_items else never),
        accuracy=frozen(np.divide(right, load, out=never.copy(), where=load > 0)),
        low=frozen(low),
        high=frozen(high),
    )


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
