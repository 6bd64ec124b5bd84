"""How often the team is right: its labels, its accuracy, and its recall."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import numbers
from defero.core.checks.experts import asked_answers, check_same_form, chosen_experts, complete_labels
from defero.core.errors import InputError
from defero.core.labels import Labels, answer_matrix
from defero.core.results import Decision
from defero.core.trials.trial import Trial
from defero.judge.intervals import Share, number
from defero.judge.paired import holm, mcnemar


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
    return _weighted_share(team_labels == truth, sample_weight)


def _weighted_share(is_right: ArrayLike, sample_weight: ArrayLike | None) -> float:
    right = np.asarray(is_right, dtype=np.float64)
    if sample_weight is None:
        return float(right.mean()) if right.size else math.nan
    weight = numbers("sample_weight", sample_weight, n_items=len(right))
    if weight.size and (weight.min() < 0 or not np.isfinite(weight).all()):
        item = int(np.argmax((weight < 0) | ~np.isfinite(weight)))
        raise InputError(
            f"must be finite and not negative, got {weight[item]:g} for item {item}.", argument="sample_weight"
        )
    return float(right @ weight / weight.sum()) if weight.sum() > 0 else math.nan


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
    p_values = [mcnemar(team_right[rows], model_right[rows]) for rows in members]
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
