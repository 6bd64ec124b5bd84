"""ExpertTable: past cases, their labels, and what each expert answered."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.answers import Answers
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, check_length, frozen, names, read_only
from defero.core.errors import Argument, InputError
from defero.core.labels import (
    Labels,
    answer_matrix,
    as_column,
    code_answers,
    encode_labels,
    find_classes,
    is_frame,
    is_text_array,
    names_in,
)
from defero.core.order import row_order
from defero.core.splits import split_by_time, split_in_order
from defero.core.wording import Preformatted, count_of, join_names


@dataclass(frozen=True, eq=False, repr=False)
class ExpertTable(Preformatted):
    """Cases with their true labels and the experts' answers.

    Parameters
    ----------
    labels : (n,) any type
        The truth.
    answers : (n, J) array, DataFrame or scipy.sparse matrix, or long answers
        Each expert's answer, in the labels' own type; missing (None, NaN, pandas' NA, or -1 in integer
        arrays where -1 is no class) where the expert was not asked. A DataFrame's columns name the experts.
        A sparse matrix stores class number + 1, and stays sparse here and in every part; so does a log of answers.
        Both become `Answers`, which know the classes and the experts' names wherever they are taken.
    features : (n, ...) array or DataFrame, optional
        Kept as it is.
    classes : (K,), optional
        All classes, where the labels do not show each of them.
    expert_names : J names, optional
        Else the DataFrame's columns, else `expert_0`, `expert_1`, ...

    Attributes
    ----------
    label_idx : (n,) int
        The class number of each label.
    coded : Answers
        The answers as class numbers, sparse where they are.
    scores : (n, J) or None
        How good each answer was, in [0, 1], NaN where there is none, of a table without labels: see `of_scores`.

    Notes
    -----
    `answer_idx`, `observed` and `correct` are (n, J) and made anew each time; a sparse table of 1,000,000 items and
    1,000 experts has no room for them. `answer_counts`, `answered`, `n_answers` and `expert_accuracy` need no such
    array.

    Examples
    --------
    >>> table = ExpertTable(["a", "b", "a"], [["a", None], ["a", "b"], [None, None]], expert_names=["ann", "bob"])
    >>> table.correct.tolist()
    [[True, False], [False, True], [False, False]]
    >>> table.answer_counts.tolist(), table.expert_accuracy.tolist()
    ([2, 1], [0.5, 1.0])
    >>> table
    ExpertTable: 3 cases, 2 classes, 2 experts; 50.0 % of their answers are recorded.
      classes: a, b
      experts: ann, bob
    """

    labels: Any
    answers: Any
    features: Any = None
    classes: Any = None
    expert_names: Any = None
    label_idx: IntArray = field(init=False, repr=False)
    coded: Answers = field(init=False, repr=False)
    scores: FloatArray | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        labels: Labels = as_column(self.labels, name="labels")
        if len(labels) == 0:
            raise InputError("must hold at least one item, got an empty table.", argument="labels")
        classes: Labels = (
            find_classes(labels, name="labels") if self.classes is None else find_classes(self.classes, name="classes")
        )
        label_idx = encode_labels(labels, classes, name="labels")
        stored = _answers_as_stored(self.answers)
        coded = code_answers(stored, classes, name="answers")
        described = labels if self.features is None else self.features
        n_described = described.shape[0] if hasattr(described, "shape") else len(described)
        for name, n_rows in (("answers", len(coded)), ("features", n_described)):
            if n_rows != len(labels):
                raise InputError(
                    f"must have one row per label: {len(labels)} labels, {n_rows} rows of {name}.", argument=name
                )
        if is_text_array(stored):
            stored = classes.astype(object)[coded.dense()]  # each text once, not once for each cell
        expert_names = names(
            "expert_names",
            names_in(self.answers) if self.expert_names is None else self.expert_names,
            count=coded.n_experts,
        )
        coded = replace(coded, expert_names=expert_names)
        if not (is_frame(stored) or isinstance(stored, np.ndarray)):
            stored = coded
        self._set(
            labels=frozen(labels),
            answers=frozen(stored) if isinstance(stored, np.ndarray) else stored,
            classes=frozen(classes),
            expert_names=expert_names,
            label_idx=frozen(label_idx),
            coded=coded,
        )

    @classmethod
    def of_scores(cls, scores: ArrayLike, *, features: Any, expert_names: Sequence[str]) -> "ExpertTable":
        """Return a table without labels or classes (K = 0), in which only scores (n, J) in [0, 1] are known.

        An expert has answered an item where there is a score, and not where it is NaN.

        >>> table = ExpertTable.of_scores([[1.0, np.nan], [0.5, 0.0]], features=None, expert_names=["ann", "bob"])
        >>> len(table), table.n_classes, table.answer_counts.tolist(), table.take([1]).scores.tolist()
        (2, 0, [2, 1], [[0.5, 0.0]])
        """
        values = np.array(scores, dtype=np.float64)
        n_items, n_experts = values.shape
        who = names("expert_names", expert_names, count=n_experts)
        coded = Answers.from_cells(np.where(np.isnan(values), -1, 0), expert_names=who)
        table = object.__new__(cls)
        table._set(
            labels=None,
            answers=coded,
            features=features,
            classes=frozen(np.empty(0, dtype=object)),
            expert_names=who,
            label_idx=frozen(np.zeros(n_items, dtype=np.int64)),
            coded=coded,
            scores=frozen(values),
        )
        return table

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.label_idx)

    def __repr__(self) -> str:
        cells = len(self) * self.n_experts
        n_classes, n_experts = count_of(self.n_classes, "class", "classes"), count_of(self.n_experts, "expert")
        counts = f"{count_of(len(self), 'case')}, {'scores' if self.labels is None else n_classes}, {n_experts}"
        share = f"; {100 * self.n_answers / cells:.1f} % of their answers are recorded" if cells else ""
        lines = [f"ExpertTable: {counts}{share}."]
        lines += [f"  classes: {_cut_short(self.classes.tolist())}"] if self.n_classes else []
        return "\n".join([*lines, f"  experts: {_cut_short(self.expert_names)}"] if self.expert_names else lines)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def n_experts(self) -> int:
        """J."""
        return self.coded.shape[1]

    @property
    def answer_idx(self) -> IntArray:
        """(n, J): the class number of each answer, -1 where missing."""
        return read_only(self.coded.dense())

    @property
    def observed(self) -> BoolArray:
        """(n, J): whether expert j answered item i."""
        return self.coded.observed()

    @property
    def correct(self) -> BoolArray:
        """(n, J): whether expert j is right on item i; False without an answer."""
        return self.coded.correct(self.label_idx)

    @property
    def n_answers(self) -> int:
        """How many answers there are in all."""
        return int(self.answer_counts.sum())

    @property
    def answer_counts(self) -> IntArray:
        """(J,): how many items each expert answered."""
        return self.coded.per_expert()

    @property
    def answered(self) -> IntArray:
        """(n,): how many experts answered each item."""
        return self.coded.per_item()

    @property
    def expert_accuracy(self) -> FloatArray:
        """(J,): accuracy of each expert; NaN without answers."""
        counts = self.answer_counts
        right = self.coded.right_per_expert(self.label_idx)
        return np.divide(right, counts, out=np.full(len(counts), np.nan), where=counts > 0)

    def take(self, rows: ArrayLike) -> "ExpertTable":
        """Return the table of these rows (numbers or a mask), with the same classes and experts."""
        chosen = _row_numbers(rows, n_items=len(self))
        coded = self.coded.take(chosen)
        answers = coded if self.answers is self.coded else _rows(self.answers, chosen)
        part = object.__new__(ExpertTable)
        part._set(
            labels=None if self.labels is None else frozen(self.labels[chosen]),
            scores=None if self.scores is None else frozen(self.scores[chosen]),
            answers=frozen(answers) if isinstance(answers, np.ndarray) else answers,
            features=None if self.features is None else _rows(self.features, chosen),
            classes=self.classes,
            expert_names=self.expert_names,
            label_idx=frozen(self.label_idx[chosen]),
            coded=coded,
        )
        return part

    def with_features(self, features: Any) -> "ExpertTable":
        """Return the same cases with other features, a row for each."""
        other = copy(self)
        other._set(features=features)
        return other

    def split(
        self,
        *fractions: float,
        random_state: int | None = None,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> "tuple[ExpertTable, ...]":
        """Split into disjoint parts of the given sizes.

        Parameters
        ----------
        *fractions : float
            Sizes of the parts; they add up to 1.
        random_state : int, optional
        groups : (n,), optional
            Group ids, such as patient ids. All rows of a group go to the same part: see `split_groups`.
        times : (n,) numbers or dates, optional
            Earlier rows go to earlier parts: see `split_by_time`. Without groups and times rows are split at random.
            All but times stratify by label.

        A part holds the same rows whatever the order of rows, columns and experts in the table.

        >>> table = ExpertTable([0, 1] * 10, [[0], [1]] * 10)
        >>> [len(part) for part in table.split(0.5, 0.5, random_state=0)]
        [10, 10]
        >>> early, late = table.split(0.5, 0.5, times=np.arange(20) // 2)
        """
        rng = np.random.default_rng(random_state)
        if times is not None:
            if groups is not None:
                raise InputError(
                    f"and {Argument('times')} cannot be used together: a long-lasting group would bring later rows "
                    "into an earlier part; pass one of them.",
                    argument="groups",
                )
            rows = split_by_time(_one_each("times", times, n_items=len(self)), fractions)
        elif groups is not None:
            group_ids = _one_each("groups", groups, n_items=len(self))
            rows = split_in_order(
                self.row_order(groups=group_ids), self.label_idx, fractions, rng=rng, groups=group_ids
            )
        else:
            rows = split_in_order(self.row_order(), self.label_idx, fractions, rng=rng)
        return tuple(self.take(part) for part in rows)

    def row_order(self, **beside: Any) -> IntArray:
        """Return the rows in an order that does not depend on the one they are in, (n,): see `core.order.row_order`."""
        if self.scores is not None:
            by_name = np.argsort(self.expert_names, kind="stable")
            return row_order(self.features, self.label_idx, scores=self.scores[:, by_name], **beside)
        return row_order(self.features, self.label_idx, self.coded, **beside)


def _answers_as_stored(answers: Any) -> Any:
    """Return frames and sparse answers unchanged, anything else as an array."""
    if is_frame(answers) or is_text_array(answers) or hasattr(answers, "among") or hasattr(answers, "tocsr"):
        return answers
    return answer_matrix(answers, name="answers")


def _cut_short(values: Sequence[object]) -> str:
    texts = (str(value) for value in values)
    return join_names((text if len(text) <= 24 else f"{text[:21]}..." for text in texts), most=6)


def _one_each(name: str, values: ArrayLike, *, n_items: int) -> Labels:
    column = as_column(values, name=name)
    check_length(name, column, n_items=n_items)
    return column


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
            f"must be numbers below {n_items} or a mask of {n_items} True or False, "
            f"got shape {array.shape} of {array.dtype}.",
            argument="rows",
        )
    return np.arange(n_items)[numbers]


def _rows(values: Any, rows: IntArray) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "tocsr"):
        return values.tocsr()[rows]
    return values[rows] if isinstance(values, np.ndarray) else np.asarray(values)[rows]
