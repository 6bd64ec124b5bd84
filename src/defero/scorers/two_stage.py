"""One classifier for the label, one for each expert's being right: any objects with `predict_proba`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.codec import Place, Share, Within
from defero.core.scores import Scores
from defero.scorers import PARTS


@dataclass(frozen=True)
class RawColumn:
    """One raw column and where it is in the matrix.

    Attributes
    ----------
    name : str
    start : int
        Its number, or the first of the 0/1 columns of its levels; -1 for a number that only marks its gaps.
    missing : int
        The column that marks gaps; -1 if there is none.
    fill : float
        The number of a column that only marks its gaps.
    levels : tuple of str, optional
        Of a category; the last may be "other", the levels that share one column.
    """

    name: str
    start: Place
    missing: Place
    fill: float = 0.0
    levels: Annotated[tuple[str, ...], Within(1)] | None = None

    def cells(self, matrix: FloatArray) -> Any:
        """Return the cells (n,): numbers or texts, NaN for gaps.

        A level that training did not have is a gap too; if training had no gaps, which a model may not take, it is
        read as the first level. Decisions mark such cases as unusual.
        """
        gaps = matrix[:, self.missing] > 0 if self.missing >= 0 else np.zeros(len(matrix), dtype=np.bool_)
        if self.levels is None:
            numbers = matrix[:, self.start] if self.start >= 0 else np.full(len(matrix), self.fill)
            return np.where(gaps, np.nan, numbers)
        block = matrix[:, self.start : self.start + len(self.levels)]
        cells = np.array(self.levels, dtype=object)[block.argmax(axis=1)]
        if self.missing >= 0:
            cells[gaps | (block <= 0).all(axis=1)] = np.nan
        return cells


@dataclass(frozen=True)
class RawColumns:
    """All raw columns in use.

    Examples
    --------
    >>> raw = RawColumns((RawColumn("age", 0, 1), RawColumn("site", 2, -1, levels=("arm", "leg"))))
    >>> raw.frame(np.array([[30.0, 0, 0, 1], [50.0, 1, 1, 0]])).to_dict("list")
    {'age': [30.0, nan], 'site': ['leg', 'arm']}
    """

    columns: tuple[RawColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the raw columns."""
        return tuple(column.name for column in self.columns)

    def frame(self, matrix: FloatArray) -> Any:
        """Return the table (a DataFrame) of the rows of a matrix (n, d)."""
        import pandas as pd  # imported here: other models are served without it

        return pd.DataFrame({column.name: column.cells(matrix) for column in self.columns})

    def reads(self, model: Any) -> bool:
        """Return whether a fitted model knows these columns by name, as one that was fitted on a DataFrame does."""
        return set(getattr(model, "feature_names_in_", ("",))) <= set(self.names)

    def table_for(self, model: Any, matrix: FloatArray) -> Any:
        """Return what a fitted model takes: its columns as a DataFrame, or the matrix."""
        return self.frame(matrix)[list(model.feature_names_in_)] if self.reads(model) else matrix


@dataclass(frozen=True, eq=False)
class TwoStageScorer:
    """Ask the classifier for P(y | x), and each expert's model for P(right | x).

    Attributes
    ----------
    classifier : fitted classifier over K classes
        Its columns are the classes in the team's order.
    experts : J entries
        A fitted classifier of "right or not", or a constant probability.
    raw : RawColumns, optional
        The raw columns, for models that were fitted on a DataFrame; the others take the matrix.
    """

    kind: ClassVar[str] = "two-stage"
    classifier: Any
    experts: Sequence[Any]
    raw: RawColumns | None = None

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features."""
        columns = [_right(expert, self._table(expert, features)) for expert in self.experts]
        expert_proba = np.stack(columns, axis=1) if columns else np.empty((len(features), 0))
        class_proba = self.classifier.predict_proba(self._table(self.classifier, features))
        class_proba = np.asarray(class_proba, dtype=np.float64)
        return Scores.from_probabilities(_normalised(class_proba), np.clip(expert_proba, 0.0, 1.0))

    def in_order(self, experts: IntArray) -> "TwoStageScorer":
        """Return the same experts in another order, the j-th being expert experts[j]."""
        return replace(self, experts=[self.experts[j] for j in experts])

    def _table(self, model: Any, features: FloatArray) -> Any:
        """Return what a model takes: the matrix, or the raw columns that it knows by name."""
        return features if self.raw is None else self.raw.table_for(model, features)

    def to_saved(self) -> "_SavedTwoStage":
        """Return the fitted parts without pickle; raises naming a type that cannot be trusted."""
        from defero.scorers.sklearn_parts import write_parts  # skops imports all of scikit-learn, and torch

        constants = tuple(float(one) if isinstance(one, float) else None for one in self.experts)
        models = [None if isinstance(one, float) else one for one in self.experts]
        return _SavedTwoStage(constants, write_parts({"classifier": self.classifier, "experts": models}), self.raw)

    @classmethod
    def from_saved(cls, saved: "_SavedTwoStage") -> "TwoStageScorer":
        """Build from what `to_saved` returned."""
        from defero.scorers.sklearn_parts import read_parts

        parts = read_parts(saved.parts)
        pairs = zip(saved.constants, parts["experts"], strict=True)
        return cls(parts["classifier"], [model if one is None else one for one, model in pairs], saved.raw)


@dataclass(frozen=True)
class _SavedTwoStage:
    """What a model folder keeps: the probability of each expert without a model, and all models in one archive."""

    constants: tuple[Share | None, ...]
    parts: bytes = field(metadata={"file": PARTS})
    raw: RawColumns | None


def _right(expert: Any, features: FloatArray) -> FloatArray:
    if isinstance(expert, float):
        return np.full(len(features), expert)
    right = list(expert.classes_).index(1)  # by its name, not its place; True is 1 too
    return np.asarray(expert.predict_proba(features), dtype=np.float64)[:, right]


def _normalised(class_proba: FloatArray) -> FloatArray:
    """Forgive single-precision classifiers a sum that is 1 but for rounding."""
    off = np.abs(class_proba.sum(axis=1, keepdims=True) - 1)
    return np.where((off > 1e-9) & (off < 1e-3), class_proba / class_proba.sum(axis=1, keepdims=True), class_proba)
