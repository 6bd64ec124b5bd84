"""What the votes share: counting per class, choosing the class that stands first, and their options."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.checks.experts import class_probabilities
from defero.core.class_skill import ClassSkill
from defero.core.errors import InputError
from defero.core.labels import Labels, as_column

EPS = 1e-6
"""Probabilities are clipped to [EPS, 1 - EPS]: nobody, expert or model, is beyond contradiction."""
_TIE = 1e-9
"""Sums of weights depend on the order of the experts in the last digits; closer than this is a tie."""


def tally(answers: IntArray, heard: BoolArray, weights: FloatArray, *, n_classes: int) -> FloatArray:
    """Return the weight that stands behind each class, (n, K).

    >>> tally(np.array([[0, 1, 1]]), np.array([[True, True, True]]), np.array([[3.0, 1.0, 1.0]]), n_classes=2).tolist()
    [[3.0, 2.0]]
    """
    rows, columns = np.nonzero(heard)
    cells = rows * n_classes + answers[rows, columns]
    sums = np.bincount(cells, weights=weights[rows, columns], minlength=len(answers) * n_classes)
    return sums.reshape(len(answers), n_classes).astype(np.float64)


def strongest(answers: IntArray, heard: BoolArray, values: FloatArray, *, n_classes: int) -> FloatArray:
    """Return the largest value among those who answered each class, (n, K); 0 where nobody did.

    >>> strongest(np.array([[1, 1]]), np.array([[True, True]]), np.array([[0.5, 0.75]]), n_classes=2).tolist()
    [[0.0, 0.75]]
    """
    best = np.zeros((len(answers), n_classes))
    for j in range(answers.shape[1]):
        rows = np.flatnonzero(heard[:, j])
        cells = (rows, answers[rows, j])
        best[cells] = np.maximum(best[cells], values[rows, j])
    return best


def first_best(*criteria: FloatArray) -> IntArray:
    """Return the class that is largest by the first criterion, ties by the next one, at last the first class, (n,).

    >>> first_best(np.array([[2.0, 2.0, 1.0]]), np.array([[0.1, 0.2, 0.7]])).tolist()
    [1]
    """
    standing = np.ones(criteria[0].shape, dtype=np.bool_)
    for criterion in criteria:
        value = np.where(standing, criterion, -np.inf)
        standing &= value >= value.max(axis=1, keepdims=True) - _TIE
    return standing.argmax(axis=1)


def at(values: FloatArray, label_idx: IntArray) -> FloatArray:
    """Return each item's value at its class, (n,)."""
    return values[np.arange(len(values)), label_idx]


def optional_model(value: ArrayLike | None, *, heard: BoolArray, n_classes: int) -> FloatArray | None:
    """Return the model's probabilities where given; without them somebody must be heard on each item."""
    if value is not None:
        model = class_probabilities(value)
        if model.shape != (len(heard), n_classes):
            raise InputError(f"must have shape ({len(heard)}, {n_classes}), got {model.shape}.", argument="class_proba")
        return model
    silent = np.flatnonzero(~heard.any(axis=1))
    if silent.size:
        raise InputError(
            f": nobody is heard on item {silent[0]} (no expert in the mask has answered it); "
            "pass class_proba, so that the model answers, or leave the item out.",
            argument="mask",
        )
    return None


def discounts(value: ArrayLike | None, *, n_experts: int) -> FloatArray:
    """Return each expert's weight in (0, 1], (J,); 1 by default."""
    if value is None:
        return np.ones(n_experts)
    weights = np.asarray(value, dtype=np.float64)
    if weights.shape != (n_experts,):
        raise InputError(
            f"must have shape ({n_experts},), one weight per expert, got {weights.shape}.", argument="discount"
        )
    if not ((weights > 0) & (weights <= 1)).all():
        raise InputError(
            f"must lie in (0, 1], got {weights.tolist()}; to silence an expert use mask instead.", argument="discount"
        )
    return weights


def fitting_skill(skill: ClassSkill | None, *, n_items: int, n_experts: int, n_classes: int) -> ClassSkill | None:
    """Return the skill by class where it is given, of these items, experts and classes."""
    if skill is not None and skill.shape != (n_items, n_experts, n_classes):
        raise InputError(
            f"must be of shape ({n_items}, {n_experts}, {n_classes}), got {skill.shape}.", argument="skill"
        )
    return skill


def clip_width(eps: float) -> float:
    """Return how far probabilities keep from 0 and 1."""
    if not 0 < eps < 0.5:
        raise InputError(f"must lie in (0, 0.5), got {eps}.", argument="eps")
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
        raise InputError(f"must be {n_classes} labels, one per class number, got {len(own)}.", argument="classes")
    return own[label_idx]
