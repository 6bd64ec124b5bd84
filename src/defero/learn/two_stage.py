"""One classifier for the label, one for each expert's being right: kept as arrays, or given again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.codec import Count, Place, Within
from defero.core.errors import InputError
from defero.core.scores import Scores
from defero.core.wording import join_names
from defero.learn.kept import KeptClassifier


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
class GivenClassifier:
    """A fitted classifier of another library, which a folder does not hold: it is given again when that is loaded.

    Attributes
    ----------
    name : str
        What it is.
    n_features : int
    raw : RawColumns, optional
        The raw columns, for a classifier that was fitted on a DataFrame; others take the matrix.
    model : fitted classifier, optional
        None until it is given.
    """

    kind: ClassVar[str] = "given"
    name: str
    n_features: Count
    raw: RawColumns | None
    model: Any = field(default=None, metadata={"saved": False})

    def proba(self, features: FloatArray) -> FloatArray:
        """Return P(y = k | x), (n, K)."""
        table = features if self.raw is None else self.raw.table_for(self.model, features)
        proba = np.clip(np.asarray(self.model.predict_proba(table), dtype=np.float64), 0.0, 1.0)
        off = np.abs(proba.sum(axis=1, keepdims=True) - 1)
        # Single-precision classifiers are forgiven a sum that is 1 but for rounding.
        return np.where((off > 1e-9) & (off < 1e-3), proba / proba.sum(axis=1, keepdims=True), proba)

    def with_model(self, model: Any, classes: ArrayLike, *, argument: str) -> "GivenClassifier":
        """Return the same with its classifier; raise unless that is fitted for these features and classes."""
        n_features = getattr(model, "n_features_in_", self.n_features)
        same = hasattr(model, "predict_proba") and np.array_equal(getattr(model, "classes_", ()), classes)
        if not same or n_features != self.n_features:
            raise InputError(
                f"must be the fitted {self.name:.80} of {self.n_features} features and the classes "
                f"{join_names(np.asarray(classes).tolist(), most=6)}, got {type(model).__name__}; "
                "pass the one that was fitted with the team.",
                argument=argument,
            )
        return replace(self, model=model)


@dataclass(frozen=True, eq=False)
class TwoStageScorer:
    """Ask the classifier for P(y | x), and each expert's for P(right | x).

    Attributes
    ----------
    classifier : KeptClassifier or GivenClassifier
        Over K classes, in the team's order.
    experts : J of them
        Over "wrong" and "right".
    """

    kind: ClassVar[str] = "two-stage"
    classifier: KeptClassifier | GivenClassifier
    experts: tuple[KeptClassifier | GivenClassifier, ...]

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features."""
        columns = [expert.proba(features)[:, 1] for expert in self.experts]
        expert_proba = np.stack(columns, axis=1) if columns else np.empty((len(features), 0))
        return Scores.from_probabilities(self.classifier.proba(features), expert_proba)

    def in_order(self, experts: IntArray) -> "TwoStageScorer":
        """Return the same experts in another order, the j-th being expert experts[j]."""
        return replace(self, experts=tuple(self.experts[j] for j in experts))

    def not_kept(self) -> dict[str, str]:
        """Return what a folder does not hold, by the argument of `load` that gives it again."""
        models = {"classifier": (self.classifier,), "expert_model": self.experts}
        named = {
            key: [one.name[:80] for one in some if isinstance(one, GivenClassifier)] for key, some in models.items()
        }
        return {key: join_names(dict.fromkeys(names)) for key, names in named.items() if names}

    def with_models(self, classifier: Any, experts: Sequence[Any] | None, classes: ArrayLike) -> "TwoStageScorer":
        """Return the scorer with the classifiers that a folder does not hold."""
        experts = [None] * len(self.experts) if experts is None else experts
        if not isinstance(experts, list | tuple) or len(experts) != len(self.experts):
            raise InputError(f"must be a list of {len(self.experts)}, one for each expert.", argument="expert_model")
        pairs = zip(self.experts, experts, strict=True)
        return TwoStageScorer(
            _with_model(self.classifier, classifier, classes, "classifier"),
            tuple(_with_model(one, model, [0, 1], "expert_model") for one, model in pairs),
        )


def _with_model(
    one: KeptClassifier | GivenClassifier, model: Any, classes: ArrayLike, argument: str
) -> KeptClassifier | GivenClassifier:
    return one.with_model(model, classes, argument=argument) if isinstance(one, GivenClassifier) else one
