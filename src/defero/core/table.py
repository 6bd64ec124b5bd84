"""ExpertTable: past cases, their labels, and what each expert answered."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray, IntArray, frozen, names
from defero.core.errors import InputError
from defero.core.labels import (
    MISSING,
    Labels,
    answer_matrix,
    as_column,
    encode_answers,
    encode_labels,
    expert_names,
    find_classes,
)
from defero.core.split import split_rows


@dataclass(frozen=True, eq=False)
class ExpertTable:
    """Cases with their true labels and the experts' answers.

    Parameters
    ----------
    labels : (n,) any type
        The truth.
    answers : (n, J) array, DataFrame or scipy.sparse matrix
        Each expert's answer, in the labels' own type; missing (None, NaN, pandas' NA, or -1 in integer
        arrays where -1 is no class) where the expert was not asked. A DataFrame's columns name the experts.
    features : (n, ...) array or DataFrame, optional
        Kept as it is.
    classes : (K,), optional
        All classes, where the labels do not show each of them.
    experts : J names, optional
        Else the DataFrame's columns, else `expert_0`, `expert_1`, ...

    Attributes
    ----------
    label_idx : (n,) int
        The class number of each label.
    answer_idx : (n, J) int
        The class number of each answer, -1 where missing.

    Examples
    --------
    >>> table = ExpertTable(["a", "b", "a"], [["a", None], ["a", "b"], [None, None]], experts=["ann", "bob"])
    >>> table.correct.tolist()
    [[True, False], [False, True], [False, False]]
    >>> table.observed.sum(axis=0).tolist()
    [2, 1]
    """

    labels: Any
    answers: Any
    features: Any = None
    classes: Any = None
    experts: Any = None
    label_idx: IntArray = field(init=False, repr=False)
    answer_idx: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        labels: Labels = as_column(self.labels, name="labels")
        if len(labels) == 0:
            raise InputError("labels must hold at least one item, got an empty table.")
        classes: Labels = (
            find_classes(labels, name="labels") if self.classes is None else find_classes(self.classes, name="classes")
        )
        label_idx = encode_labels(labels, classes, name="labels")
        answer_idx = encode_answers(self.answers, classes, name="answers")
        if len(answer_idx) != len(labels):
            raise InputError(
                f"answers must have one row per label: {len(labels)} labels, {len(answer_idx)} rows of answers."
            )
        n_described = len(labels) if self.features is None else _n_rows(self.features)
        if n_described != len(labels):
            raise InputError(
                f"features must have one row per label: {len(labels)} labels, {n_described} rows of features."
            )
        kept_whole = hasattr(self.answers, "columns") or hasattr(self.answers, "tocsr")
        given = expert_names(self.answers) if self.experts is None else self.experts
        self._set(
            labels=frozen(labels),
            answers=self.answers if kept_whole else frozen(answer_matrix(self.answers, name="answers")),
            classes=frozen(classes),
            experts=names("experts", given, count=answer_idx.shape[1]),
            label_idx=frozen(label_idx),
            answer_idx=frozen(answer_idx),
        )

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.label_idx)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def n_experts(self) -> int:
        """J."""
        return self.answer_idx.shape[1]

    @property
    def observed(self) -> BoolArray:
        """(n, J): did expert j answer item i?"""
        return self.answer_idx != MISSING

    @property
    def correct(self) -> BoolArray:
        """(n, J): was expert j right on item i? False where they did not answer."""
        return self.answer_idx == self.label_idx[:, None]

    def take(self, rows: ArrayLike) -> "ExpertTable":
        """Return the table of these rows (numbers or a mask), with the same classes and experts."""
        chosen = _row_numbers(rows, n_items=len(self))
        answers = _rows(self.answers, chosen)
        part = object.__new__(ExpertTable)
        part._set(
            labels=frozen(self.labels[chosen]),
            answers=frozen(answers) if isinstance(answers, np.ndarray) else answers,
            features=None if self.features is None else _rows(self.features, chosen),
            classes=self.classes,
            experts=self.experts,
            label_idx=frozen(self.label_idx[chosen]),
            answer_idx=frozen(self.answer_idx[chosen]),
        )
        return part

    def split(self, *fractions: float, random_state: int | None = None) -> "tuple[ExpertTable, ...]":
        """Cut into disjoint parts of the given sizes, stratified by label.

        >>> table = ExpertTable([0, 1] * 10, [[0], [1]] * 10)
        >>> [len(part) for part in table.split(0.5, 0.5, random_state=0)]
        [10, 10]
        """
        rows = split_rows(self.label_idx, fractions, rng=np.random.default_rng(random_state))
        return tuple(self.take(part) for part in rows)


def _row_numbers(rows: ArrayLike, *, n_items: int) -> IntArray:
    array = np.asarray(rows)
    if array.shape == (n_items,) and array.dtype.kind == "b":
        return np.flatnonzero(array)
    numbers = array.astype(np.int64) if array.dtype.kind in "iu" or array.shape == (0,) else None
    if (
        numbers is None
        or numbers.ndim != 1
        or (numbers.size and (numbers.min() < -n_items or numbers.max() >= n_items))
    ):
        raise InputError(
            f"rows must be numbers below {n_items} or a mask of {n_items} True or False, "
            f"got shape {array.shape} of {array.dtype}."
        )
    return np.arange(n_items)[numbers]


def _n_rows(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def _rows(values: Any, rows: IntArray) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "tocsr"):
        return values.tocsr()[rows]
    return values[rows] if isinstance(values, np.ndarray) else np.asarray(values)[rows]
