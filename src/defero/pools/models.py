"""Expected scores of a pool from its features, in numpy: a weighted sum of parts, calibrated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, frozen
from defero.core.codec import Count, Within
from defero.core.errors import InputError
from defero.core.scores import Scores, sigmoid
from defero.learn.classes import TreeColumns
from defero.learn.forest import Forest
from defero.learn.heads import Heads
from defero.learn.skill import Directions


@dataclass(frozen=True, eq=False)
class LinearPart:
    """x @ weights + intercept.

    A table of means is linear in the 0/1 columns of its categories, so that a table with a ridge regression on its
    residuals is one product of matrices.

    Attributes
    ----------
    weights : (d, J)
    intercept : (J,)

    Examples
    --------
    >>> LinearPart(np.array([[0.5, 0.0]]), np.array([0.1, 0.2])).predict(np.array([[1.0]])).tolist()
    [[0.6, 0.2]]
    """

    kind: ClassVar[str] = "linear"
    weights: FloatArray
    intercept: FloatArray

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.intercept.shape != (self.weights.shape[1],):
            raise InputError(
                f"must be (d, J) with an intercept (J,), got {self.weights.shape} and {self.intercept.shape}.",
                argument="weights",
            )
        if not (np.isfinite(self.weights).all() and np.isfinite(self.intercept).all()):
            raise InputError("must be finite.", argument="weights")
        object.__setattr__(self, "weights", frozen(self.weights))
        object.__setattr__(self, "intercept", frozen(self.intercept))

    @property
    def n_features(self) -> int:
        """D."""
        return len(self.weights)

    @property
    def n_members(self) -> int:
        """J."""
        return len(self.intercept)

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the values of n items, (n, J)."""
        return features @ self.weights + self.intercept


_PAIRS_AT_ONCE = 8_000_000


@dataclass(frozen=True, eq=False)
class NeighboursPart:
    """Mean of the k nearest rows' values, shrunk toward 0; the values are what another part leaves over.

    Attributes
    ----------
    columns : (c,) int
        The features in which rows are compared, of d.
    center, scale : (c,)
        They are compared as (x - center) * scale.
    rows : (m, c) float32
        Past items, centered and scaled.
    values : (m, J) float32
        NaN where a member has no score.
    k : int
    shrink : float
        The mean is sum / (count + shrink).
    n_features : int
        d.
    """

    kind: ClassVar[str] = "knn"
    columns: IntArray
    center: FloatArray
    scale: FloatArray
    rows: NDArray[np.float32]
    values: Annotated[NDArray[np.float32], Within(finite=False)]
    k: Count
    shrink: float
    n_features: Count

    def __post_init__(self) -> None:
        c, m = len(self.columns), len(self.rows)
        shapes = (self.center.shape, self.scale.shape, self.rows.shape[1:], self.values.shape[:1])
        if shapes != ((c,), (c,), (c,), (m,)) or self.values.ndim != 2:
            raise InputError(f"must have {c} columns and {m} rows, got shapes {shapes}.", argument="rows")
        if not 1 <= self.k <= m:
            raise InputError(f"must be from 1 to {m}, the number of rows, got {self.k}.", argument="k")
        if c and not (self.columns.min() >= 0 and self.columns.max() < self.n_features):
            raise InputError(f"must name columns 0..{self.n_features - 1}.", argument="columns")
        if not all(np.isfinite(one).all() for one in (self.center, self.scale, self.rows)) or not self.shrink >= 0:
            raise InputError("must be finite.", argument="rows")

    @property
    def n_members(self) -> int:
        """J."""
        return self.values.shape[1]

    @cached_property
    def _half_squares(self) -> NDArray[np.float32]:
        return (self.rows**2).sum(axis=1) / 2

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the values of n items, (n, J)."""
        means = np.empty((len(features), self.n_members))
        size = max(1, _PAIRS_AT_ONCE // len(self.rows))
        scored = np.isfinite(self.values)
        values = np.where(scored, self.values, 0.0).astype(np.float64)
        for start in range(0, len(features), size):
            block = slice(start, start + size)
            query = ((features[block][:, self.columns] - self.center) * self.scale).astype(np.float32)
            # The largest x . r - |r|^2 / 2 is the smallest distance.
            near = np.argpartition(self._half_squares - query @ self.rows.T, self.k - 1, axis=1)[:, : self.k]
            means[block] = values[near].sum(axis=1) / np.maximum(scored[near].sum(axis=1) + self.shrink, 1e-9)
        return means


@dataclass(frozen=True)
class TargetRange:
    """The range of what was learned from: [0, 1] for scores, more for marks that were corrected for a judge's errors.

    What is learned is the place in the range, a number in [0, 1]. For corrected marks these are the marks themselves.

    >>> corrected = TargetRange.of(np.array([-0.5, 1.25, np.nan]))
    >>> corrected.shares(np.array([-0.5, 1.25])).tolist(), corrected.values(np.array([0.0, 0.5])).tolist()
    ([0.0, 1.0], [-0.5, 0.375])
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise InputError(f"must be finite and rise, got {self.low} to {self.high}.", argument="target_range")

    @classmethod
    def of(cls, targets: FloatArray) -> "TargetRange":
        """Return the range of targets (n, J), NaN where there is none."""
        known = targets[np.isfinite(targets)]
        return cls(float(known.min(initial=0.0)), float(known.max(initial=1.0)))

    def shares(self, targets: FloatArray) -> FloatArray:
        """Return the places of targets in the range, in [0, 1]."""
        return (targets - self.low) / (self.high - self.low)

    def values(self, shares: FloatArray) -> FloatArray:
        """Return the targets at these places."""
        return self.low + (self.high - self.low) * shares


@dataclass(frozen=True, eq=False)
class TreesPart:
    """sigmoid of a forest with one output per member.

    Attributes
    ----------
    columns : TreeColumns
    forest : Forest
    target_range : TargetRange
    """

    kind: ClassVar[str] = "trees"
    columns: TreeColumns
    forest: Forest
    target_range: TargetRange = TargetRange()

    def __post_init__(self) -> None:
        if self.forest.n_features != self.columns.n_columns:
            raise InputError(
                f"must look at {self.columns.n_columns} columns, got {self.forest.n_features}.", argument="forest"
            )

    @property
    def n_features(self) -> int:
        """D."""
        return self.columns.n_inputs

    @property
    def n_members(self) -> int:
        """J."""
        return self.forest.n_outputs

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the values of n items, (n, J)."""
        return self.target_range.values(sigmoid(self.forest.predict(self.columns.of_matrix(features))))


@dataclass(frozen=True, eq=False)
class HeadsPart:
    """P(right) by logistic heads that are shrunk toward the average member.

    Attributes
    ----------
    directions : Directions
        What heads read of the features.
    heads : Heads
    target_range : TargetRange
    """

    kind: ClassVar[str] = "heads"
    directions: Directions
    heads: Heads
    target_range: TargetRange = TargetRange()

    @property
    def n_features(self) -> int:
        """D."""
        return len(self.directions.center)

    @property
    def n_members(self) -> int:
        """J."""
        return self.heads.n_experts

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the values of n items, (n, J)."""
        proba = self.heads.proba(self.directions.of(features))
        return self.target_range.values(proba)


Part = LinearPart | NeighboursPart | TreesPart | HeadsPart
"""From features (n, d) to values of the members that were learned together, (n, J0)."""
MOST_PARTS = 16


@dataclass(frozen=True, eq=False)
class ScoreModel:
    """Expected scores: clip(sum_p w_p part_p(x) @ mix + offset, 0, 1).

    Attributes
    ----------
    parts : Part
    weights : one number per part
    mix : (J0, J)
        Calibration on the diagonal; a member who joined later is a mix of those who were learned together.
    offset : (J,)

    Examples
    --------
    >>> part = LinearPart(np.array([[0.5, 0.0]]), np.array([0.1, 0.2]))
    >>> model = ScoreModel.of([part], [1.0])
    >>> model.predict(np.array([[1.0], [9.0]])).tolist()
    [[0.6, 0.2], [1.0, 0.2]]
    """

    kind: ClassVar[str] = "score-model"
    parts: Annotated[tuple[Part, ...], Within(1, MOST_PARTS)]
    weights: tuple[float, ...]
    mix: FloatArray
    offset: FloatArray

    def __post_init__(self) -> None:
        n_learned, n_members = self.mix.shape
        sizes = {(part.n_features, part.n_members) for part in self.parts}
        if len(sizes) != 1 or next(iter(sizes))[1] != n_learned or self.offset.shape != (n_members,):
            raise InputError(f"must be of the same features and {n_learned} members.", argument="parts")
        if len(self.weights) != len(self.parts) or not np.isfinite([*self.weights, *self.offset]).all():
            raise InputError("must be finite, one for each part.", argument="weights")
        if not np.isfinite(self.mix).all():
            raise InputError("must be finite.", argument="mix")
        object.__setattr__(self, "mix", frozen(self.mix))
        object.__setattr__(self, "offset", frozen(self.offset))

    @classmethod
    def of(cls, parts: Sequence[Part], weights: Sequence[float]) -> "ScoreModel":
        """Return the sum of parts; the linear ones become one."""
        pairs: list[tuple[Part, float]] = list(zip(parts, weights, strict=True))
        linear = [(part, w) for part, w in pairs if isinstance(part, LinearPart)]
        others: list[tuple[Part, float]] = [(part, w) for part, w in pairs if not isinstance(part, LinearPart)]
        if linear:
            slopes = sum((w * part.weights for part, w in linear), np.zeros(linear[0][0].weights.shape))
            start = sum((w * part.intercept for part, w in linear), np.zeros(linear[0][0].n_members))
            others.insert(0, (LinearPart(slopes, start), 1.0))
        n_members = others[0][0].n_members
        return cls(
            tuple(part for part, _ in others),
            tuple(float(w) for _, w in others),
            np.eye(n_members),
            np.zeros(n_members),
        )

    @property
    def n_features(self) -> int:
        """D."""
        return self.parts[0].n_features

    @property
    def n_members(self) -> int:
        """J."""
        return len(self.offset)

    @cached_property
    def _folded(self) -> LinearPart | None:
        """The whole model as one product of matrices; None where a part is not linear."""
        part = self.parts[0]
        if len(self.parts) > 1 or not isinstance(part, LinearPart):
            return None
        return LinearPart(
            self.weights[0] * part.weights @ self.mix, self.weights[0] * part.intercept @ self.mix + self.offset
        )

    @cached_property
    def product(self) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """Weights (d, J) and intercept (J,) in single precision; None where a part is not linear."""
        folded = self._folded
        if folded is None:
            return None
        return folded.weights.astype(np.float32), folded.intercept.astype(np.float32)

    def linear_values(self, features: FloatArray) -> FloatArray:
        """Return the values before they are limited to [0, 1], (n, J)."""
        if self._folded is not None:
            return self._folded.predict(features)
        total = sum(
            (w * part.predict(features) for part, w in zip(self.parts, self.weights, strict=True)),
            np.zeros((len(features), len(self.mix))),
        )
        return total @ self.mix + self.offset

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the expected scores of n items, (n, J)."""
        return np.clip(self.linear_values(features), 0.0, 1.0)

    def score(self, features: Any) -> Scores:
        """Return the expected scores of n items as scores without classes."""
        n_items = len(features)
        return Scores.computed(np.empty((n_items, 0)), np.zeros(n_items), self.linear_values(features), "share")

    def calibrated(self, slope: FloatArray, offset: FloatArray) -> "ScoreModel":
        """Return the model with each member's values v replaced by slope * v + offset, (J,) each."""
        return replace(self, mix=self.mix * slope, offset=self.offset * slope + offset)

    def with_member(self, weights: FloatArray, offset: float) -> "ScoreModel":
        """Return the model with one more member at the end: a mix of the J others' values."""
        column = self.mix @ weights
        return replace(
            self,
            mix=np.column_stack([self.mix, column]),
            offset=np.append(self.offset, self.offset @ weights + offset),
        )

    def with_average_members(self, learned: BoolArray) -> "ScoreModel":
        """Return the model of more members: those with `learned` (J,) are the present ones, others their average."""
        mix, offset = np.empty((len(self.mix), len(learned))), np.empty(len(learned))
        mix[:, learned], offset[learned] = self.mix, self.offset
        mix[:, ~learned], offset[~learned] = self.mix.mean(axis=1, keepdims=True), self.offset.mean()
        return replace(self, mix=mix, offset=offset)

    def take(self, members: IntArray) -> "ScoreModel":
        """Return the model of some members, in this order."""
        return replace(self, mix=self.mix[:, members], offset=self.offset[members])
