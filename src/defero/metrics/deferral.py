"""Who gets the work, and what deferring more or less of it would bring."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import FloatArray, IntArray, frozen
from defero.core.errors import InputError
from defero.core.results import MODEL, Decision
from defero.metrics.accuracy import wilson_interval
from defero.metrics.arguments import chosen_experts, flags, numbers
from defero.metrics.recorded import answer_columns, asked_answers, check_same_form, complete_labels


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
    rate : (n + 1,)
        0, 1/n, ..., 1: the share deferred.
    accuracy : (n + 1,)
        The team's accuracy when the items with the largest gain are deferred.
    random : (n + 1,)
        The mean accuracy when they are drawn at random: a straight line between the same two ends.
    oracle : (n + 1,)
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
        Its ends are the model's and the experts' accuracy.

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
        raise InputError("model_correct must hold at least one item, got none: there is no curve to trace.")
    change = by_expert.astype(np.int64) - by_model.astype(np.int64)
    start, steps = int(by_model.sum()), np.arange(n_items + 1)
    # Counts stay whole until one division each, so that equal curves are equal to the last bit.
    line = (n_items * start + steps * int(change.sum())) / n_items**2
    return DeferralCurve(
        rate=frozen(steps / n_items),
        accuracy=frozen(_running_count(start, change[np.argsort(-ranking, kind="stable")]) / n_items),
        random=frozen(line),
        oracle=frozen(_running_count(start, np.sort(change)[::-1]) / n_items),
    )


def _running_count(start: int, change: IntArray) -> IntArray:
    return start + np.concatenate([[0], np.cumsum(change)])


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
    n_experts: int | None = None,
    *,
    level: float = 0.95,
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
    n_experts : int, optional
        J, checked against the columns of `answers`.
    level : float
        Of the intervals.

    Examples
    --------
    >>> usage = expert_usage([0, 0, -1, 1], [[1, 0], [1, 0], [0, 0], [1, 1]], [1, 0, 0, 1])
    >>> usage.load.tolist(), usage.share.tolist(), usage.accuracy.tolist()
    ([2, 1], [0.5, 0.25], [0.5, 1.0])
    """
    chosen, columns = chosen_experts(expert), answer_columns(answers)
    n_items, n_columns = columns.shape
    if n_experts is not None and n_experts != n_columns:
        raise InputError(f"n_experts must be {n_columns}, the number of columns of answers, got {n_experts}.")
    truth = complete_labels("labels", labels, n_items=n_items)
    deferred, asked = asked_answers(chosen, columns)
    check_same_form("answers", asked, "labels", truth)
    asked_whom = chosen[deferred]
    load = np.bincount(asked_whom, minlength=n_columns)
    right = np.bincount(asked_whom[asked == truth[deferred]], minlength=n_columns)
    ends = np.array([wilson_interval(int(s), int(t), level=level) for s, t in zip(right, load, strict=True)])
    low, high = ends.reshape(n_columns, 2).T
    never = np.full(n_columns, np.nan)
    return ExpertUsage(
        load=frozen(load),
        share=frozen(load / n_items if n_items else never),
        accuracy=frozen(np.divide(right, load, out=never.copy(), where=load > 0)),
        low=frozen(low),
        high=frozen(high),
    )
