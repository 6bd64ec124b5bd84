"""Checks of answers, labels and groups: each returns a clean array or raises an error that names the argument."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_length,
    check_shape,
    class_probabilities,
    expert_rows,
    probabilities,
    refuse,
)
from defero.core.errors import InputError
from defero.core.labels import MISSING, Labels, as_column, missing_cells, refuse_gaps
from defero.core.results import MODEL, Decision

Stratum = str | bool | int | float | None
"""Name of a stratum: text or a number. None without strata."""


def answer_numbers(answers: ArrayLike, *, n_classes: int | None = None, name: str = "answers") -> IntArray:
    """Return answers as class numbers (n, J), -1 where missing; by default of any number of classes.

    >>> answer_numbers([[0, -1]], n_classes=2).tolist()
    [[0, -1]]
    """
    array = np.asarray(answers)
    check_shape(name, array, ("n", "J"), like=", one column per expert")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"must be class numbers, -1 where missing, got dtype {array.dtype}; "
            "encode labels first (ExpertTable.answer_idx).",
            argument=name,
        )
    wrong = (array < MISSING) | (array >= (np.inf if n_classes is None else n_classes))
    allowed = "" if n_classes is None else n_classes - 1
    refuse(name, array, wrong, f"must be class numbers 0..{allowed}, or -1 where missing")
    return array.astype(np.int64)


def heard_answers(answers: IntArray, mask: ArrayLike) -> BoolArray:
    """Return whose answer is heard, (n, J): in the mask, and recorded."""
    array = np.asarray(mask)
    check_shape("mask", array, answers.shape, like=" of answers")
    if array.dtype != np.bool_:
        raise InputError(f"must be True or False for each answer, got dtype {array.dtype}.", argument="mask")
    return array & (answers != MISSING)


def expert_probabilities(value: ArrayLike, *, n_items: int, n_experts: int) -> FloatArray:
    """Return P(expert j is right), (n, J), from (J,) or (n, J)."""
    spread = expert_rows("expert_proba", value, n_items=n_items, n_experts=n_experts)
    return probabilities("expert_proba", spread)


def answers_and_model(answers: ArrayLike, class_proba: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Return answers (n, J) and the model's probabilities (n, K) of the same items."""
    model = class_probabilities(class_proba)
    answer_idx = answer_numbers(answers, n_classes=model.shape[1])
    check_shape("class_proba", model, (len(answer_idx), "K"), like=" like answers")
    return answer_idx, model


def complete_labels(name: str, value: ArrayLike, *, n_items: int) -> Labels:
    """Return (n,) labels of any type, one for each item.

    >>> complete_labels("labels", ["a", "b"], n_items=2).tolist()
    ['a', 'b']
    """
    labels = as_column(value, name=name)
    check_length(name, labels, n_items=n_items)
    refuse_gaps(labels, name=name)
    return labels


def stratum_names(strata: ArrayLike, *, n_items: int) -> list[Stratum]:
    """Return the stratum of each item, n names.

    >>> stratum_names(np.array([1, 2]), n_items=2)
    [1, 2]
    """
    array = np.asarray(strata)
    check_shape("strata", array, (n_items,), like=", one stratum per item")
    refuse_gaps(array, name="strata")
    return [one.item() if isinstance(one, np.generic) else one for one in array.tolist()]


def chosen_experts(expert: ArrayLike | Decision) -> IntArray:
    """Return who answers each item, (n,): -1 for the model, else the expert's index.

    >>> chosen_experts([0, -1]).tolist()
    [0, -1]
    """
    chosen = np.asarray(expert.expert if isinstance(expert, Decision) else expert)
    check_shape("expert", chosen, ("n",), like=", one choice per item")
    if chosen.size and chosen.dtype.kind not in "iu":
        raise InputError(f"must be expert numbers, -1 for the model, got dtype {chosen.dtype}.", argument="expert")
    refuse("expert", chosen, chosen < MODEL, "must be -1 (the model) or an expert's number")
    return chosen.astype(np.int64)


def asked_answers(chosen: IntArray, columns: Labels) -> tuple[IntArray, Labels]:
    """Return the items that go to an expert, (m,), and what that expert answered, (m,).

    >>> items, answers = asked_answers(np.array([1, -1, 0]), np.array([[5, 6], [7, 8], [9, -1]]))
    >>> items.tolist(), answers.tolist()
    ([0, 2], [6, 9])
    """
    n_items, n_experts = columns.shape
    check_length("expert", chosen, n_items=n_items)
    refuse("expert", chosen, chosen >= n_experts, f"must be below {n_experts}, the number of columns of answers")
    deferred = np.flatnonzero(chosen != MODEL)
    chosen_answers = columns[deferred, chosen[deferred]]
    silent = missing_cells(chosen_answers)
    if silent.any():
        item = int(deferred[np.argmax(silent)])
        raise InputError(
            f": item {item} was deferred to expert {chosen[item]}, who has no recorded answer there; "
            "let the decision choose among those who answered (available=).",
            argument="answers",
        )
    return deferred, chosen_answers


def check_same_form(name: str, values: Labels, other_name: str, others: Labels) -> None:
    """Refuse names beside numbers: they would compare as different without a word."""
    if values.size and others.size and isinstance(values[0], str) != isinstance(others[0], str):
        raise InputError(
            f"must have the form of {other_name}, got {values[0]!r} beside {others[0]!r}; "
            "pass class names everywhere or class numbers everywhere.",
            argument=name,
        )
