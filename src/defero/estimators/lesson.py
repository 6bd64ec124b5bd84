"""What an estimator learns from: features, labels, and who was right, checked and encoded."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from defero.answering import answer_weights
from defero.answering.weights import By
from defero.core.answers import Answers, Triplets, group_by_expert
from defero.core.checks import BoolArray, FloatArray, IntArray, names
from defero.core.errors import InputError
from defero.core.labels import Labels, as_column, code_answers, is_missing, names_in
from defero.core.wording import join_names


@dataclass(frozen=True, eq=False)
class Lesson:
    """What an estimator learns from, checked and encoded. No (n, J) array is made: memory grows with the answers.

    Attributes
    ----------
    features : (n, d)
    labels : (n,)
        In their own type.
    label_idx : (n,)
        Class numbers.
    n_classes : int
        K.
    answers : Answers
        Of J experts to the n items.
    weight : (n,)
        How much each item counts.
    weighted : bool
        Whether `weight` was given.
    answer_weight : (m,), optional
        How much each answer counts beside its item's weight; alike for None.
    groups : (n,), optional
        Which items belong together; each to itself for None.
    summed : (d,) bool, optional
        Which features another model has summed up from a text; none for None.
    """

    features: FloatArray
    labels: Labels
    label_idx: IntArray
    n_classes: int
    answers: Answers
    weight: FloatArray
    weighted: bool
    answer_weight: FloatArray | None = None
    groups: IntArray | None = None
    summed: BoolArray | None = None

    @property
    def n_experts(self) -> int:
        """J."""
        return self.answers.n_experts

    @cached_property
    def triplets(self) -> Triplets:
        """The m answers one by one, sorted by item and then by expert."""
        return self.answers.triplets()

    @property
    def item_idx(self) -> IntArray:
        """The item of each answer, (m,)."""
        return self.triplets.item_idx

    @property
    def expert_idx(self) -> IntArray:
        """Who gave each answer, (m,)."""
        return self.triplets.expert_idx

    @cached_property
    def right(self) -> BoolArray:
        """Whether each answer was right, (m,)."""
        return self.triplets.codes == self.label_idx[self.item_idx]

    def weight_of_answers(self) -> FloatArray:
        """Return how much each answer counts, its item's weight included, (m,)."""
        of_items = self.weight[self.item_idx]
        return of_items if self.answer_weight is None else of_items * self.answer_weight

    def without_experts(self, rows: IntArray | None = None) -> "Lesson":
        """Return the lesson of these items, of all for None, with J = 0."""
        some = np.arange(len(self.labels)) if rows is None else rows
        return replace(
            self,
            features=self.features[some],
            labels=self.labels[some],
            label_idx=self.label_idx[some],
            answers=no_answers(len(some)),
            weight=self.weight[some],
            answer_weight=None,
            groups=None if self.groups is None else self.groups[some],
        )

    def by_expert(self) -> list[IntArray]:
        """Return the places of each expert's answers among the m, J arrays; each expert's items ascend."""
        order, starts = group_by_expert(self.expert_idx, self.n_experts)
        return np.split(order, starts[1:-1]) if self.n_experts else []


AnswerWeights = By
"""What answers may be weighted by."""


def with_answer_weights(lesson: Lesson, by: AnswerWeights | None) -> Lesson:
    """Return the lesson with answers weighted by how unlikely they were given; as it is for None."""
    if by is not None and by not in get_args(AnswerWeights):
        raise InputError(f"answer_weights must be None or one of {join_names(get_args(AnswerWeights))}, got {by!r}.")
    if by is None or not lesson.n_experts:
        return lesson
    weight = answer_weights(
        lesson.item_idx,
        lesson.expert_idx,
        lesson.label_idx,
        lesson.features,
        n_classes=lesson.n_classes,
        n_experts=lesson.n_experts,
        by=by,
    )
    return replace(lesson, answer_weight=weight)


def no_answers(n_items: int) -> Answers:
    """Return the answers of nobody, (n, 0)."""
    return Answers.from_cells(np.empty((n_items, 0), dtype=np.int8))


def coded_experts(experts: object, classes: Labels, *, n_items: int) -> tuple[Answers, tuple[str, ...]]:
    """Return the experts' answers as class numbers, (n, J), and their names; J = 0 for None.

    >>> coded_experts([["a"], [None]], np.array(["a", "b"], dtype=object), n_items=2)[1]
    ('expert_0',)
    """
    if experts is None:
        return no_answers(n_items), ()
    answers = code_answers(experts, classes)
    n_answered, n_experts = answers.shape
    if n_answered != n_items:
        raise InputError(f"experts must have one row per item: {n_items} items, {n_answered} rows of answers.")
    if n_experts and not answers.per_expert().any():
        raise InputError("experts: nobody answered anything; pass experts=None for a plain classifier.")
    return answers, names("experts", names_in(experts), count=n_experts)


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
            f"no answer of {join_names(silent)} in the training rows: they are taken to be as good as the others on "
            "average, and are never asked alone.",
            stacklevel=3,
        )
