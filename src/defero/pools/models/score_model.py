"""ScoreModel: from features to the expected score of each member; a weighted sum of parts, calibrated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import BoolArray, FloatArray, frozen
from defero.core.codec import Within
from defero.core.errors import InputError
from defero.pools.models.parts import HeadsPart, LinearPart, NeighboursPart, TreesPart

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

    def without_member(self, place: int) -> "ScoreModel":
        """Return the model without a member."""
        return replace(self, mix=np.delete(self.mix, place, axis=1), offset=np.delete(self.offset, place))
