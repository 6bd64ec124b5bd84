"""Expected scores as a linear function of the features: shrunk tables of means and ridge regressions alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray, frozen
from defero.core.errors import InputError


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

    def arrays(self) -> dict[str, Any]:
        """Return what a model folder keeps."""
        return {"weights": self.weights, "intercept": self.intercept}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "LinearPart":
        """Return the part that `arrays()` described."""
        return cls(*(np.asarray(arrays[name], dtype=np.float64) for name in ("weights", "intercept")))
