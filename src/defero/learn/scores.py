"""ScoreScorer: the expected score of every expert, where scores are all that is known of them."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, set_numbers
from defero.core.codec import Within
from defero.core.errors import InputError
from defero.core.scores import Scores

_NUMBERS_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Past items, or centers of them, that new items are compared with: what is curved becomes linear in the likeness.

    The likeness is exp(-|(x - center) * scale - point|^2 / width).

    Attributes
    ----------
    columns : (c,) int
        The features that are compared, of d.
    center, scale : (c,)
    points : (m, c)
    width : float

    Examples
    --------
    >>> one = Landmarks(np.array([0]), np.zeros(1), np.ones(1), np.array([[2.0]]), width=4.0)
    >>> one.likeness(np.array([[2.0], [4.0]])).round(2).tolist()
    [[1.0], [0.37]]
    """

    columns: Annotated[IntArray, Within(0)]
    center: FloatArray
    scale: FloatArray
    points: FloatArray
    width: Annotated[float, Within(0)]

    def __post_init__(self) -> None:
        c = len(self.columns)
        set_numbers(self, center=(c,), scale=(c,), points=("m", c))
        if not self.width > 0:
            raise InputError(f"must be above 0, got {self.width}.", argument="width")

    def likeness(self, features: FloatArray) -> FloatArray:
        """Return how alike n items (n, d) and the points are, (n, m)."""
        items = (features[:, self.columns] - self.center) * self.scale
        squares = (items**2).sum(axis=1)[:, None] + (self.points**2).sum(axis=1)
        return np.exp(np.minimum(2.0 * items @ self.points.T - squares, 0.0) / self.width)


def _nothing() -> FloatArray:
    return np.zeros((0, 0, 0))


@dataclass(frozen=True, eq=False)
class ScoreScorer:
    """Expected scores: x @ weights + intercept, limited to [0, 1], where x are the features and the likeness.

    Attributes
    ----------
    weights : (d + m, J)
        Of the features, then of the likeness to m landmarks.
    intercept : (J,)
    landmarks : Landmarks, optional
    categories : pairs (start, stop)
        The 0/1 columns of each categorical column.
    instead : (k, d + m + 1, J)
        What stands for each of the k categorical columns where an item's category is not known: weights of the other
        features, then an offset. Without it the category adds nothing: the mean over categories.

    Examples
    --------
    >>> scorer = ScoreScorer(np.array([[0.5, 0.0]]), np.array([0.1, 0.2]))
    >>> scorer.predict(np.array([[1.0], [9.0]])).tolist()
    [[0.6, 0.2], [1.0, 0.2]]
    """

    kind: ClassVar[str] = "scores"
    weights: FloatArray
    intercept: FloatArray
    landmarks: Landmarks | None = None
    categories: tuple[tuple[int, int], ...] = ()
    instead: FloatArray = field(default_factory=_nothing)

    def __post_init__(self) -> None:
        set_numbers(self, weights=("d", "J"), intercept=self.weights.shape[1:])
        width, d = self.weights.shape[0], self.n_features
        shape = (len(self.categories), width + 1, len(self.intercept)) if self.instead.size else self.instead.shape
        set_numbers(self, instead=shape)
        if d < 0 or not all(0 <= start < stop <= d for start, stop in self.categories):
            raise InputError(f"must be columns of {d} features.", argument="categories")
        if self.landmarks is not None and self.landmarks.columns.max(initial=-1) >= d:
            raise InputError(f"must compare some of {d} features.", argument="landmarks")

    @property
    def n_features(self) -> int:
        """D."""
        return len(self.weights) - (0 if self.landmarks is None else len(self.landmarks.points))

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.intercept)

    @cached_property
    def product(self) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """Weights (d, J) and intercept (J,) in single precision; None where more than one product is needed."""
        if self.landmarks is not None or self.instead.size:
            return None
        return self.weights.astype(np.float32), self.intercept.astype(np.float32)

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of n items, (n, d): no classes, and expected scores as P(right)."""
        values = self.linear_values(features)
        n_items = len(values)
        return Scores.computed(np.zeros((n_items, 0)), np.zeros(n_items), values, "share")

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the expected scores of n items, (n, J)."""
        return np.clip(self.linear_values(features), 0.0, 1.0)

    @np.errstate(invalid="ignore")  # what is not finite is refused
    def linear_values(self, features: NDArray[Any]) -> NDArray[Any]:
        """Return the values before they are limited to [0, 1], (n, J)."""
        if self.product is not None and features.dtype == np.float32:  # in single precision in half of the time
            weights, intercept = self.product
            values: NDArray[Any] = np.asarray(features @ weights + intercept, dtype=np.float32)
        elif self.landmarks is None:
            values = self._values(features, features)
        else:
            values = np.empty((len(features), self.n_experts))
            size = max(_NUMBERS_AT_ONCE // len(self.weights), 1)
            for start in range(0, len(features), size):
                piece = features[start : start + size]
                values[start : start + size] = self._values(piece, np.hstack([piece, self.landmarks.likeness(piece)]))
        if not np.isfinite(values.sum()):
            _refuse_not_finite(features)
        return values

    def _values(self, features: FloatArray, inputs: FloatArray) -> FloatArray:
        values: FloatArray = inputs @ self.weights + self.intercept
        for (start, stop), weights in zip(self.categories, self.instead, strict=False):
            rows = np.flatnonzero(unknown(features[:, start:stop]))
            if rows.size:
                values[rows] += inputs[rows] @ weights[:-1] + weights[-1]
        return values

    def with_member(self, weights: FloatArray, offset: float) -> "ScoreScorer":
        """Return the scorer with one more expert at the end: a mix of the J others' values."""
        intercept = np.append(self.intercept, self.intercept @ weights + offset)
        instead = self.instead
        if instead.size:
            instead = np.concatenate([instead, (instead @ weights)[:, :, None]], axis=2)
        return replace(
            self, weights=np.column_stack([self.weights, self.weights @ weights]), intercept=intercept, instead=instead
        )

    def take(self, experts: IntArray) -> "ScoreScorer":
        """Return the scorer of some experts, in this order."""
        return replace(
            self,
            weights=self.weights[:, experts],
            intercept=self.intercept[experts],
            instead=self.instead[:, :, experts] if self.instead.size else self.instead,
        )


@dataclass(frozen=True, eq=False)
class LearnedPrices:
    """Expected prices: max(x @ weights + intercept, 0), where they are known.

    Attributes
    ----------
    weights : (d, J)
    intercept : (J,)
    known : (J,) bool

    Examples
    --------
    >>> LearnedPrices(np.zeros((1, 2)), np.array([0.1, 0.0]), np.array([True, False])).predict(np.ones((1, 1))).tolist()
    [[0.1, nan]]
    """

    weights: FloatArray
    intercept: FloatArray
    known: BoolArray

    def __post_init__(self) -> None:
        n_experts = len(self.intercept)
        set_numbers(self, weights=("d", n_experts), intercept=(n_experts,), known=(n_experts,))

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the prices of n items, (n, J); NaN where nothing is known."""
        price = np.maximum(features @ self.weights + self.intercept, 0.0)
        price[:, ~self.known] = np.nan
        return price

    def of(self, features: FloatArray) -> FloatArray:
        """Return the prices (n, J), or (J,) where they are the same for every item."""
        if self.weights.any():
            return self.predict(features)
        return np.where(self.known, np.maximum(self.intercept, 0.0), np.nan)

    def take(self, experts: IntArray) -> "LearnedPrices":
        """Return the prices of some experts, in this order."""
        return LearnedPrices(self.weights[:, experts], self.intercept[experts], self.known[experts])

    def with_member(self, price: float | None) -> "LearnedPrices":
        """Return the prices with one more expert at the end; None or NaN is unknown."""
        amount = np.nan if price is None else price
        return LearnedPrices(
            np.column_stack([self.weights, np.zeros(len(self.weights))]),
            np.append(self.intercept, np.nan_to_num(amount)),
            np.append(self.known, np.isfinite(amount)),
        )


def _refuse_not_finite(features: NDArray[Any]) -> None:
    """Raise where a number is not finite; sums of finite ones may be too large all the same."""
    wrong = np.argwhere(~np.isfinite(features))
    if len(wrong):
        row, column = wrong[0]
        raise InputError(f"must be finite, got {features[row, column]} in column {column}.", argument="X")


def unknown(block: FloatArray) -> BoolArray:
    """Return which rows of the 0/1 columns of a category (n, levels) are of none of them, (n,).

    >>> unknown(np.array([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [False, True]
    """
    return np.asarray(~block.any(axis=1))
