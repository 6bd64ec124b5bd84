"""How often the team is right: labels, accuracy, recall, and what deferring more or less would bring."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, flags, frozen, item_weights, numbers
from defero.core.errors import InputError
from defero.core.labels import Labels, answer_matrix, check_same_form, complete_labels
from defero.core.results import MODEL, Decision
from defero.core.results.decision import asked_answers, chosen_experts
from defero.core.trial import Trial
from defero.core.wording import number
from defero.judge.intervals import Share, compare, holm


def system_labels(model_labels: ArrayLike, answers: ArrayLike, expert: ArrayLike | Decision) -> Labels:
    """Return what the team said of each item: the model's label or the chosen expert's answer.

    Parameters
    ----------
    model_labels : (n,)
        The model's own labels, names or class numbers.
    answers : (n, J)
        The experts' answers in the same form. No answer is -1 in an integer array, NaN in a float array, None
        or NaN in an object array; where -1 is a class, pass floats or objects.
    expert : (n,) int, or a Decision
        -1 where the model answers, else the expert's index.

    Returns
    -------
    (n,)
        The team's labels.

    Examples
    --------
    >>> system_labels(["a", "b", "a"], [["b", "a"], ["a", "a"], [None, "b"]], [0, -1, 1]).tolist()
    ['b', 'b', 'b']
    """
    columns = answer_matrix(answers, name="answers")
    by_model = complete_labels("model_labels", model_labels, n_items=len(columns))
    deferred, chosen_answers = asked_answers(chosen_experts(expert), columns)
    check_same_form("answers", chosen_answers, "model_labels", by_model)
    team_labels = by_model.astype(np.result_type(by_model, chosen_answers))
    team_labels[deferred] = chosen_answers
    return team_labels


def system_accuracy(
    labels: ArrayLike,
    model_labels: ArrayLike,
    answers: ArrayLike,
    expert: ArrayLike | Decision,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of items that the team gets right, sum_i w_i [said_i = y_i] / sum_i w_i.

    Parameters
    ----------
    labels : (n,)
        The truth, names or class numbers.
    model_labels : (n,)
        The model's own labels in the same form.
    answers : (n, J)
        The experts' answers in the same form; see `system_labels`.
    expert : (n,) int, or a Decision
        -1 where the model answers, else the expert's index.
    sample_weight : (n,), optional
        Not negative; 1 for each item by default.

    Returns
    -------
    float
        nan where there are no items or all weights are 0.

    Examples
    --------
    >>> system_accuracy([0, 1, 1], [0, 0, 0], [[0, 0], [1, 0], [0, 0]], [-1, 0, 1])
    0.6666666666666666
    """
    team_labels = system_labels(model_labels, answers, expert)
    truth = complete_labels("labels", labels, n_items=len(team_labels))
    check_same_form("labels", truth, "the labels of the team", team_labels)
    weight = item_weights("sample_weight", sample_weight, n_items=len(truth))
    return float((team_labels == truth) @ weight / weight.sum()) if weight.sum() > 0 else math.nan


@dataclass(frozen=True)
class ClassRecall:
    """The cases that truly belong to one class: how many the team calls so, and how many the model alone.

    Attributes
    ----------
    label : object
        The class.
    team, model : Share
        Found, of all cases of the class.
    p_value : float
        McNemar's, on those cases: is one better at finding them?
    adjusted : float
        The same, adjusted for being one of several classes (Holm).
    """

    label: object
    team: Share
    model: Share
    p_value: float
    adjusted: float

    @property
    def lost(self) -> bool:
        """Does the team find the class less often than the model, beyond chance (5 %, over all classes)?"""
        return self.adjusted <= 0.05 and self.team.right < self.model.right

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        row: dict[str, Any] = {"class": self.label, "n": self.team.total}
        for name, share in (("team", self.team), ("model", self.model)):
            low, high = share.interval
            row |= {name: number(share.value), f"{name}_low": number(low), f"{name}_high": number(high)}
        return {**row, "p_value": self.p_value, "p_value_adjusted": self.adjusted}


def class_recalls(trial: Trial) -> tuple[ClassRecall, ...]:
    """Return the recall of each class of a trial, in the classes' order; a class without cases is not tested."""
    team_right, model_right = trial.team_correct, trial.model_correct
    members = [trial.label_idx == k for k in range(len(trial.classes))]
    p_values = [compare(team_right[rows], model_right[rows]).p_value for rows in members]
    present_classes = [k for k, rows in enumerate(members) if rows.any()]
    adjusted = [1.0] * len(members)
    for k, p_value in zip(present_classes, holm([p_values[k] for k in present_classes]).tolist(), strict=True):
        adjusted[k] = p_value
    return tuple(
        ClassRecall(
            label,
            team=Share(int(team_right[rows].sum()), int(rows.sum())),
            model=Share(int(model_right[rows].sum()), int(rows.sum())),
            p_value=p_values[k],
            adjusted=adjusted[k],
        )
        for k, (label, rows) in enumerate(zip(trial.classes.tolist(), members, strict=True))
    )


def coverage(expert: ArrayLike | Decision) -> float:
    """Return the share of items that the model answers; nan for no items.

    >>> coverage([-1, -1, 0, 2])
    0.5
    """
    chosen = chosen_experts(expert)
    return float(np.mean(chosen == MODEL)) if chosen.size else math.nan


@dataclass(frozen=True, eq=False)
class DeferralCurve:
    """Accuracy, and cost, against the share of items deferred.

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
    cost : (m + 1,)
        Fees and errors per item, where an error costs 1 or, of a trial, what was given.
    """

    rate: FloatArray
    accuracy: FloatArray
    random: FloatArray
    oracle: FloatArray
    cost: FloatArray

    def costs(self, *, steps: int = 10) -> list[dict[str, float | None]]:
        """Return the cost at 0, 10, ..., 100 % as plain values; None where too few items have somebody to ask."""
        m, reached = len(self.rate) - 1, float(self.rate[-1])
        shares = [step / steps for step in range(steps + 1)]
        cost = self.cost[[min(m, round(share * m / reached)) if reached else 0 for share in shares]].tolist()
        totals = (one if share <= reached + 1e-9 else None for share, one in zip(shares, cost, strict=True))
        return [{"asked": share, "total": total} for share, total in zip(shares, totals, strict=True)]


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


def curve_of(start: int, change: IntArray, *, n_items: int) -> DeferralCurve:
    """Trace m deferrals among n items.

    Parameters
    ----------
    start : int
        How many right answers the model has.
    change : (m,) of -1, 0 and 1
        What each deferral does to that, in the order in which they are made.
    n_items : int
        n; the others stay with the model.
    """
    steps = np.arange(len(change) + 1)
    # Counts stay whole until one division each, so that equal curves are equal to the last bit.
    m = max(len(change), 1)
    line = (m * start + steps * int(change.sum())) / (m * n_items)
    accuracy, oracle = (start + np.concatenate([[0], np.cumsum(one)]) for one in (change, np.sort(change)[::-1]))
    wrong = n_items - accuracy
    return DeferralCurve(*map(frozen, (steps / n_items, accuracy / n_items, line, oracle / n_items, wrong / n_items)))


def trial_curve(trial: Trial) -> DeferralCurve:
    """Trace a trial case by case; the curve ends at the share of the cases that somebody can take.

    The gain is what the best expert is worth minus what the model is worth. A case goes to the best expert whose
    answer is recorded: the accuracy of an expert who was not asked is not known. Of equal gains the
    earlier case goes first.
    """
    decision, n_items = trial.decision, max(len(trial), 1)
    open_to = np.flatnonzero(decision.best_expert != MODEL)
    order = open_to[by_gain((decision.best_value - decision.model_value)[open_to])]
    whom, truth = decision.best_expert[order], trial.label_idx
    change = trial.expert_correct[order, whom].astype(np.int64) - trial.model_correct[order]
    matrix = 1.0 - np.eye(len(trial.classes)) if trial.cost_matrix is None else trial.cost_matrix
    of_model, of_expert = matrix[truth, trial.model_idx], matrix[truth[order], trial.answer_idx[order, whom]]
    if trial.question_fees is not None:
        of_expert = of_expert + trial.question_fees[order, whom]
    cost = of_model.sum() + np.concatenate([[0.0], np.cumsum(of_expert - of_model[order])])
    curve = curve_of(int(trial.model_correct.sum()), change, n_items=n_items)
    return replace(curve, cost=frozen(cost / n_items))
