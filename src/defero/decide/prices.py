"""LearnedPrices: what a question to each expert is expected to cost, learned where only logs of prices exist."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, frozen
from defero.core.errors import InputError


@dataclass(frozen=True, eq=False)
class LearnedPrices:
    """Expected prices, linear in the features; never negative.

    Attributes
    ----------
    weights : (d, J)
    intercept : (J,)
    known : (J,) bool
        Of whom a price was seen; the others' are not known.

    Examples
    --------
    >>> prices = LearnedPrices(np.array([[0.5, 0.0, 0.0]]), np.array([0.1, 2.0, 0.0]), np.array([True, True, False]))
    >>> prices.predict(np.array([[1.0], [-9.0]])).tolist()
    [[0.6, 2.0, nan], [0.0, 2.0, nan]]
    """

    weights: FloatArray
    intercept: FloatArray
    known: BoolArray

    def __post_init__(self) -> None:
        shape = self.weights.shape[1:]
        if self.weights.ndim != 2 or self.intercept.shape != shape or self.known.shape != shape:
            raise InputError(f"must be (d, J), with J of all else, got {self.weights.shape}.", argument="weights")
        if not (np.isfinite(self.weights).all() and np.isfinite(self.intercept).all()):
            raise InputError("must be finite.", argument="weights")
        for name in ("weights", "intercept", "known"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the expected prices of n items, (n, J), or (J,) where they do not depend on the item; nan: unknown."""
        price = self.intercept if not self.weights.any() else features @ self.weights + self.intercept
        return np.where(self.known, np.maximum(price, 0.0), np.nan)

    def take(self, experts: IntArray) -> Self:
        """Return the prices of some experts, in this order."""
        return replace(
            self, weights=self.weights[:, experts], intercept=self.intercept[experts], known=self.known[experts]
        )

    def with_expert(self, price: float | None) -> Self:
        """Return the prices with those of one more expert, the same for every item; None: not known."""
        return replace(
            self,
            weights=np.column_stack([self.weights, np.zeros(len(self.weights))]),
            intercept=np.append(self.intercept, 0.0 if price is None else price),
            known=np.append(self.known, price is not None),
        )
