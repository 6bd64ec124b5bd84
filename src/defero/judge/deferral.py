"""How much the model decides, and what deferring more or less would bring."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, flags, frozen, numbers
from defero.core.checks.experts import chosen_experts
from defero.core.errors import InputError
from defero.core.results import MODEL, Decision
from defero.core.trials.trial import Trial


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


def trial_curve(trial: Trial) -> DeferralCurve:
    """Trace a trial case by case; the curve ends at the share of the cases that somebody can take.

    The gain is what the best expert is worth minus what the model is worth. A case goes to the best expert who is
    proven and whose answer is recorded: the accuracy of an expert who was not asked is not known. Of equal gains the
    earlier case goes first.
    """
    decision = trial.decision
    open_to = np.flatnonzero(decision.best_expert != MODEL)
    if not open_to.size:
        raise InputError("no case could be deferred to anybody: there is no curve to draw.")
    order = open_to[by_gain((decision.best_value - decision.model_value)[open_to])]
    change = trial.expert_correct[order, decision.best_expert[order]].astype(np.int64) - trial.model_correct[order]
    return curve_of(int(trial.model_correct.sum()), change, n_items=len(trial))
