"""Expected scores by the mean score of the nearest past items."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError

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
    values: NDArray[np.float32]
    k: int
    shrink: float
    n_features: int

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

    def arrays(self) -> dict[str, Any]:
        """Return what a model folder keeps."""
        sizes = np.array([self.k, self.n_features], dtype=np.int64)
        return {
            **{name: getattr(self, name) for name in ("columns", "center", "scale", "rows", "values")},
            "sizes": sizes,
            "shrink": np.array([self.shrink]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "NeighboursPart":
        """Return the part that `arrays()` described."""
        k, n_features = (int(one) for one in np.asarray(arrays["sizes"]))
        return cls(
            np.asarray(arrays["columns"], dtype=np.int64),
            np.asarray(arrays["center"], dtype=np.float64),
            np.asarray(arrays["scale"], dtype=np.float64),
            np.asarray(arrays["rows"], dtype=np.float32),
            np.asarray(arrays["values"], dtype=np.float32),
            k,
            float(np.asarray(arrays["shrink"])[0]),
            n_features,
        )
