"""What the votes accept: each check returns a clean array or raises a sentence that names the argument."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray, FloatArray, IntArray, expert_rows, probabilities
from defero.core.class_skill import ClassSkill
from defero.core.errors import InputError
from defero.core.labels import MISSING, Labels, as_column

EPS = 1e-6
"""Probabilities are clipped to [EPS, 1 - EPS]: nobody, expert or model, is beyond contradiction."""


def answer_numbers(answers: ArrayLike, *, n_classes: int) -> IntArray:
    """Return answers as class numbers (n, J), -1 where missing.

    >>> answer_numbers([[0, -1]], n_classes=2).tolist()
    [[0, -1]]
    """
    array = np.asarray(answers)
    if array.ndim != 2:
        raise InputError(f"answers must have two axes (n, J), one column per expert, got shape {array.shape}.")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"answers must be class numbers, -1 where missing, got dtype {array.dtype}; "
            "encode labels first (ExpertTable.answer_idx)."
        )
    wrong = np.argwhere((array < MISSING) | (array >= n_classes))
    if wrong.size:
        row, column = wrong[0]
        raise InputError(
            f"answers must be class numbers 0..{n_classes - 1}, or -1 where missing, "
            f"got {array[row, column]} at row {row}, column {column}."
        )
    return array.astype(np.int64)


def label_numbers(labels: ArrayLike, *, n_items: int) -> IntArray:
    """Return the truth as class numbers, (n,)."""
    array = np.asarray(labels)
    if array.shape != (n_items,):
        raise InputError(f"labels must have shape ({n_items},), one per row of answers, got {array.shape}.")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"labels must be class numbers, got dtype {array.dtype}; encode labels first (ExpertTable.label_idx)."
        )
    if array.size and array.min() < 0:
        raise InputError(f"labels must be class numbers from 0, got {array.min()} for item {int(array.argmin())}.")
    return array.astype(np.int64)


def class_count(n_classes: int) -> int:
    """Return K."""
    if n_classes != int(n_classes) or n_classes < 1:
        raise InputError(f"n_classes must be a whole number of at least 1, got {n_classes}.")
    return int(n_classes)


def heard_answers(answers: IntArray, mask: ArrayLike) -> BoolArray:
    """Return whose answer is heard, (n, J): in the mask, and recorded."""
    array = np.asarray(mask)
    if array.shape != answers.shape:
        raise InputError(f"mask must have the shape {answers.shape} of answers, got {array.shape}.")
    if array.dtype != np.bool_:
        raise InputError(f"mask must be True or False for each answer, got dtype {array.dtype}.")
    return array & (answers != MISSING)


def expert_probabilities(value: ArrayLike, *, n_items: int, n_experts: int) -> FloatArray:
    """Return P(expert j is right), (n, J), from (J,) or (n, J)."""
    spread = expert_rows("expert_proba", value, n_items=n_items, n_experts=n_experts)
    return probabilities("expert_proba", spread)


def class_probabilities(value: ArrayLike) -> FloatArray:
    """Return the model's P(y = k), (n, K), rows adding up to 1."""
    matrix = probabilities("class_proba", value)
    if matrix.shape[1] == 0:
        raise InputError("class_proba must have at least one class, got no column.")
    off = np.abs(matrix.sum(axis=1) - 1) > 1e-6
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise InputError(f"class_proba must add up to 1 in each row, got {matrix[row].sum():g} in row {row}.")
    return matrix


def answers_and_model(answers: ArrayLike, class_proba: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Return answers (n, J) and the model's probabilities (n, K) of the same items."""
    model = class_probabilities(class_proba)
    given = answer_numbers(answers, n_classes=model.shape[1])
    if len(model) != len(given):
        raise InputError(f"class_proba must have {len(given)} rows like answers, got {len(model)}.")
    return given, model


def optional_model(value: ArrayLike | None, *, heard: BoolArray, n_classes: int) -> FloatArray | None:
    """Return the model's probabilities where given; without them somebody must be heard on each item."""
    if value is not None:
        model = class_probabilities(value)
        if model.shape != (len(heard), n_classes):
            raise InputError(f"class_proba must have shape ({len(heard)}, {n_classes}), got {model.shape}.")
        return model
    silent = np.flatnonzero(~heard.any(axis=1))
    if silent.size:
        raise InputError(
            f"mask: nobody is heard on item {silent[0]} (no expert in the mask has answered it); "
            "pass class_proba, so that the model answers, or leave the item out."
        )
    return None


def discounts(value: ArrayLike | None, *, n_experts: int) -> FloatArray:
    """Return each expert's weight in (0, 1], (J,); 1 where nothing is said."""
    if value is None:
        return np.ones(n_experts)
    weights = np.asarray(value, dtype=np.float64)
    if weights.shape != (n_experts,):
        raise InputError(f"discount must have shape ({n_experts},), one weight per expert, got {weights.shape}.")
    if not ((weights > 0) & (weights <= 1)).all():
        raise InputError(f"discount must lie in (0, 1], got {weights.tolist()}; to silence an expert use mask instead.")
    return weights


def fitting_skill(skill: ClassSkill | None, *, n_items: int, n_experts: int, n_classes: int) -> ClassSkill | None:
    """Return the skill by class where it is given, of these items, experts and classes."""
    if skill is not None and skill.shape != (n_items, n_experts, n_classes):
        raise InputError(f"skill must be of shape ({n_items}, {n_experts}, {n_classes}), got {skill.shape}.")
    return skill


def clip_width(eps: float) -> float:
    """Return how far probabilities keep from 0 and 1."""
    if not 0 < eps < 0.5:
        raise InputError(f"eps must lie in (0, 0.5), got {eps}.")
    return float(eps)


def named(label_idx: IntArray, classes: ArrayLike | None, *, n_classes: int) -> Labels:
    """Return labels in their own type where the classes are given, else class numbers.

    >>> named(np.array([1, 0]), ["benign", "malign"], n_classes=2).tolist()
    ['malign', 'benign']
    """
    if classes is None:
        return label_idx
    own = as_column(classes, name="classes")
    if len(own) != n_classes:
        raise InputError(f"classes must be {n_classes} labels, one per class number, got {len(own)}.")
    return own[label_idx]
