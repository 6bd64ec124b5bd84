"""What an estimator learns from: features, labels, and who was right, checked and encoded."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from defero.core.answers import Answers
from defero.core.checks import BoolArray, FloatArray, IntArray, names
from defero.core.dense_answers import DenseAnswers
from defero.core.errors import InputError, listing
from defero.core.labels import Labels, as_column, code_answers, expert_names, is_missing


class Lesson(NamedTuple):
    """What an estimator learns from, checked and encoded.

    features (n, d), labels (n,) in their own type, label_idx (n,) out of n_classes, correct (n, J), observed (n, J),
    weight (n,) and whether the weights were given.
    """

    features: FloatArray
    labels: Labels
    label_idx: IntArray
    n_classes: int
    correct: BoolArray
    observed: BoolArray
    weight: FloatArray
    weighted: bool


def coded_experts(experts: object, classes: Labels, *, n_items: int) -> tuple[Answers, tuple[str, ...]]:
    """Return the experts' answers as class numbers, (n, J), and their names; J = 0 for None.

    >>> coded_experts([["a"], [None]], np.array(["a", "b"], dtype=object), n_items=2)[1]
    ('expert_0',)
    """
    if experts is None:
        return DenseAnswers(np.empty((n_items, 0), dtype=np.int8)), ()
    said = code_answers(experts, classes)
    n_answered, n_experts = said.shape
    if n_answered != n_items:
        raise InputError(f"experts must have one row per item: {n_items} items, {n_answered} rows of answers.")
    if n_experts and not said.per_expert().any():
        raise InputError("experts: nobody answered anything; pass experts=None for a plain classifier.")
    return said, names("experts", expert_names(experts), count=n_experts)


def group_numbers(groups: ArrayLike, *, n_items: int) -> IntArray:
    """Return the number of each row's group, (n,), groups in the order of their names.

    >>> group_numbers(["lea", "jo", "lea"], n_items=3).tolist()
    [1, 0, 1]
    """
    given = as_column(groups, name="groups")
    if len(given) != n_items:
        raise InputError(f"groups must have one entry per item: {n_items} items, got {len(given)}.")
    gap = next((row for row, group in enumerate(given.tolist()) if is_missing(group)), None)
    if gap is not None:
        raise InputError(f"groups must name a group in every row, got none in row {gap}; give it one of its own.")
    return np.unique(given.astype(str), return_inverse=True)[1].astype(np.int64)


def warn_of_silent_experts(counts: IntArray, who: tuple[str, ...]) -> None:
    """Warn where an expert gave no answer at all; counts (J,)."""
    silent = [name for name, count in zip(who, counts, strict=True) if count == 0]
    if silent:
        warnings.warn(
            f"no answer of {listing(silent)} in the training rows: they are taken to be as good as the others on "
            "average, and are never asked alone.",
            stacklevel=3,
        )
