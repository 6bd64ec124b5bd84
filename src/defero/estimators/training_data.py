"""Training data of the estimators: features, labels and answers, checked and encoded."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from defero.core.answers import Answers, Triplets, group_by_expert
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, float_matrix, names, one_of, refuse_text
from defero.core.errors import Argument, InputError
from defero.core.labels import Labels, code_answers, complete_labels, names_in
from defero.core.order import row_order
from defero.core.wording import join_names
from defero.data.recipes.columns import SAYS_NOTHING, CategoricalColumn, NumericColumn
from defero.data.recipes.inputs import NumberedColumns
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_encoder import find_encoder
from defero.judge.weights import By, answer_weights
from defero.learn.classes import TreeColumns
from defero.learn.two_stage import RawColumn, RawColumns
from defero.team import Team


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Features, labels and answers, checked and encoded. Answers stay sparse: memory grows with their number.

    Attributes
    ----------
    features : (n, d)
    labels : (n,)
        Of any type.
    label_idx : (n,)
        Class indices.
    n_classes : int
        K.
    answers : Answers
        Of J experts to the n items.
    weight : (n,)
        Sample weights.
    weighted : bool
        Whether the user passed sample weights.
    answer_weight : (m,), optional
        Weights of the answers, beside the sample weights; equal if None.
    groups : (n,), optional
        Group index of each item; each item is a group of its own if None.
    summed : (d,) bool, optional
        Features that are scores of a text; none if None.
    columns : TreeColumns, optional
        The columns that trees look at; each feature is a number if None.
    raw : RawColumns, optional
        The raw columns of a table, for models that select columns by name.
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
    columns: TreeColumns | None = None
    raw: RawColumns | None = None

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
        """Item of each answer, (m,)."""
        return self.triplets.item_idx

    @property
    def expert_idx(self) -> IntArray:
        """Expert of each answer, (m,)."""
        return self.triplets.expert_idx

    @cached_property
    def right(self) -> BoolArray:
        """Whether each answer was right, (m,)."""
        return self.triplets.codes == self.label_idx[self.item_idx]

    def weight_of_answers(self) -> FloatArray:
        """Return the weight of each answer, the sample weight of its item included, (m,)."""
        item_weight = self.weight[self.item_idx]
        return item_weight if self.answer_weight is None else item_weight * self.answer_weight

    def with_mean_weight(self) -> "TrainingData":
        """Return the data with weights of mean 1 over the items that count: their scale must not matter.

        To the precision of trees, so that weights c w are the same numbers for every c.
        """
        total = float(self.weight.sum())
        scaled = self.weight * (np.count_nonzero(self.weight) / total) if total > 0 else self.weight
        return replace(self, weight=scaled.astype(np.float32).astype(np.float64))

    def without_experts(self, rows: IntArray | None = None) -> "TrainingData":
        """Return the data of these rows (all by default) without experts, J = 0."""
        rows = np.arange(len(self.labels)) if rows is None else rows
        return replace(
            self,
            features=self.features[rows],
            labels=self.labels[rows],
            label_idx=self.label_idx[rows],
            answers=no_answers(len(rows)),
            weight=self.weight[rows],
            answer_weight=None,
            groups=None if self.groups is None else self.groups[rows],
        )

    def take(self, rows: IntArray) -> "TrainingData":
        """Return the data of these rows, answers included."""
        inside = np.isin(self.item_idx, rows)
        answer_weight = None if self.answer_weight is None else self.answer_weight[inside]
        return replace(self.without_experts(rows), answers=self.answers[rows], answer_weight=answer_weight)

    def of_experts(self, experts: IntArray) -> "TrainingData":
        """Return the data with the experts in another order."""
        return replace(self, answers=self.answers.of_experts(experts))

    def row_order(self, table: Any) -> IntArray:
        """Return the rows in an order that does not depend on the one they are in, (n,).

        `table` holds the raw columns, or the array that the features were made of.
        """
        return row_order(table, self.label_idx, self.answers, weight=self.with_mean_weight().weight, group=self.groups)

    def by_expert(self) -> list[IntArray]:
        """Return the positions of each expert's answers among the m, J arrays; each sorted by item."""
        order, starts = group_by_expert(self.expert_idx, self.n_experts)
        return np.split(order, starts[1:-1]) if self.n_experts else []


AnswerWeights = By
"""Options of `answer_weights`."""


def with_answer_weights(data: TrainingData, by: AnswerWeights | None) -> TrainingData:
    """Return the data with answers weighted by the inverse probability of being given; unchanged if None."""
    one_of("answer_weights", by, (None, *get_args(AnswerWeights)))
    if by is None or not data.n_experts:
        return data
    return replace(data, answer_weight=answer_weights(data.answers, data.label_idx, data.features, by=by))


def no_answers(n_items: int) -> Answers:
    """Return the answers of no experts, (n, 0)."""
    return Answers.from_cells(np.empty((n_items, 0), dtype=np.int8))


def coded_experts(experts: object, classes: Labels, *, n_items: int) -> tuple[Answers, tuple[str, ...]]:
    """Return the answers as class indices, (n, J), and the expert names; J = 0 if None.

    >>> coded_experts([["a"], [None]], np.array(["a", "b"], dtype=object), n_items=2)[1]
    ('expert_0',)
    """
    if experts is None:
        return no_answers(n_items), ()
    answers = code_answers(experts, classes)
    n_answered, n_experts = answers.shape
    if n_answered != n_items:
        raise InputError(f"must have one row per item: {n_items} items, got {n_answered} rows.", argument="experts")
    if n_experts and not answers.per_expert().any():
        raise InputError(
            f": no answers in any row; pass {Argument('experts', None)} for a plain classifier.", argument="experts"
        )
    return answers, names("experts", names_in(experts), count=n_experts)


def group_numbers(groups: ArrayLike, *, n_items: int) -> IntArray:
    """Return the index of each row's group, (n,), groups sorted by name.

    >>> group_numbers(["lea", "jo", "lea"], n_items=3).tolist()
    [1, 0, 1]
    """
    column = complete_labels("groups", groups, n_items=n_items)
    return np.unique(column.astype(str), return_inverse=True)[1].astype(np.int64)


def warn_about_silent_experts(counts: IntArray, expert_names: tuple[str, ...]) -> None:
    """Warn if an expert gave no answer; counts (J,)."""
    silent = [name for name, count in zip(expert_names, counts, strict=True) if count == 0]
    if silent:
        warnings.warn(
            f"no answer of {join_names(silent)} in the training rows: they count as average experts.",
            stacklevel=3,
        )


def training_matrix(
    estimator: Any, X: Any, y: ArrayLike, *, text: Any, fills_gaps: bool
) -> tuple[FloatArray, FeatureRecipe | None]:
    """Return the training features, and how new ones are made from raw columns; None for an array without gaps.

    Features of texts are left out: they need the labels.
    """
    if hasattr(X, "columns"):
        validate_data(estimator, X, y, skip_check_array=True)
        encoder = None if estimator.text_encoder is None else find_encoder(estimator.text_encoder)
        recipe = FeatureRecipe.learn(X, text=text, encoder=encoder, source="X")
        return (np.empty((len(X), 0)) if recipe.text else recipe.apply(X, source="X")), recipe
    if text is not None:
        raise InputError(f"names columns, but X is {type(X).__name__}; pass a DataFrame.", argument="text")
    _refuse_text(X)
    matrix, _ = validate_data(estimator, X, y, dtype=np.float64, ensure_all_finite=False)
    if not fills_gaps or not np.isnan(matrix).any():
        return float_matrix("X", matrix), None
    table = NumberedColumns(matrix)
    recipe = FeatureRecipe.learn(table, source="X")
    return recipe.apply(table), recipe


def with_sorted_columns(X: Any) -> Any:
    """Return a table with its columns in the order of their names; an array as it is."""
    return X[sorted(X.columns, key=str)] if hasattr(X, "columns") else X


def raw_columns(recipe: FeatureRecipe) -> RawColumns:
    """Return where the numbers and the categories of a table are in the matrix of its recipe."""
    raw = []
    for column, start, _ in recipe.blocks():
        if isinstance(column, NumericColumn):
            missing = start + column.varies if column.missing else -1
            raw.append(RawColumn(column.name, start if column.varies else -1, missing, column.fill))
        elif isinstance(column, CategoricalColumn):
            levels = (*column.levels, *("other",) * column.other)
            raw.append(RawColumn(column.name, start, start + len(levels) if column.missing else -1, levels=levels))
    return RawColumns(tuple(raw))


def checked_rows(estimator: Any, X: Any, team: Team) -> Any:
    """Return rows that a fitted estimator can read: those of fit had the same columns."""
    if hasattr(X, "columns"):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return X if team.recipe is not None else np.asarray(X, dtype=np.float64)
    _refuse_text(X)
    if team.recipe is None:
        return float_matrix("X", validate_data(estimator, X, reset=False, dtype=np.float64, ensure_all_finite=False))
    return X


def _refuse_text(X: Any) -> None:
    """Name the cell of an array of objects or texts that is not a number; scikit-learn's error does not."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
        refuse_text("X", X)


def warn_about_unused_columns(recipe: FeatureRecipe | None) -> None:
    """Warn about columns that hold something and are not used; the warning points to the caller of `fit`."""
    unused = {} if recipe is None else {k: why for k, why in recipe.dropped.items() if why not in SAYS_NOTHING}
    if unused:
        # Reasons have a remedy for the command line after a semicolon.
        listing = join_names((f"{name} ({why.partition(';')[0]})" for name, why in unused.items()), most=6)
        count = "1 column is" if len(unused) == 1 else f"{len(unused)} columns are"
        warnings.warn(
            f"X: {count} not used: {listing}. Correct those that matter, name texts in text=[...], and drop the "
            "rest; dropped_columns_ has the list.",
            stacklevel=3,
        )


def columns_of(recipe: FeatureRecipe) -> TreeColumns:
    """Return the columns of trees for a recipe: a category and a number with gaps are one column each."""
    categories, numbers, missing, stop = [], [], [], 0
    for column, start, stop in recipe.blocks():
        if isinstance(column, CategoricalColumn):
            categories.append((start, stop))
        elif isinstance(column, NumericColumn):
            numbers.append(start)
            missing.append(start + 1 if column.missing and column.varies else -1)
        else:
            numbers += range(start, stop)
            missing += [-1] * (stop - start)
    return TreeColumns.of(stop, categories=categories, numbers=numbers, missing=missing)
