"""DenseAnswers: a class number for every item and expert, in a byte or two."""

from dataclasses import dataclass

import numpy as np

from defero.core.answers import Given
from defero.core.checks import BoolArray, IntArray, frozen
from defero.core.lookup import Codes
from defero.core.missing import MISSING


@dataclass(frozen=True, eq=False)
class DenseAnswers:
    """Answers of J experts to n items, one cell for each pair.

    Attributes
    ----------
    codes : (n, J) int of any size
        Class numbers, -1 where missing.

    Examples
    --------
    >>> said = DenseAnswers(np.array([[0, -1], [1, 1]], dtype=np.int8))
    >>> said.per_expert().tolist(), said.right_per_expert(np.array([0, 0])).tolist()
    ([2, 1], [1, 0])
    """

    codes: Codes

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", frozen(self.codes))

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, J)."""
        n_items, n_experts = self.codes.shape
        return n_items, n_experts

    def cells(self) -> Codes:
        """Return the class numbers (n, J), -1 where missing, in the type of `codes`."""
        return self.codes

    def dense(self) -> IntArray:
        """Return the class numbers (n, J), -1 where missing."""
        return self.codes.astype(np.int64)

    def observed(self) -> BoolArray:
        """Return who answered what, (n, J)."""
        return self.codes != MISSING

    def correct(self, label_idx: IntArray) -> BoolArray:
        """Return who was right on what, (n, J)."""
        return self.codes == label_idx.astype(self.codes.dtype)[:, None]

    def given(self) -> Given:
        """Return the answers one by one, sorted by item and then by expert."""
        observed = self.observed()
        items, experts = np.nonzero(observed)
        return Given(items, experts, self.codes[observed])

    def per_expert(self) -> IntArray:
        """Return how many answers each expert gave, (J,)."""
        return np.count_nonzero(self.observed(), axis=0).astype(np.int64)

    def per_item(self) -> IntArray:
        """Return how many answers each item has, (n,)."""
        return np.count_nonzero(self.observed(), axis=1).astype(np.int64)

    def right_per_expert(self, label_idx: IntArray) -> IntArray:
        """Return how many of each expert's answers are right, (J,)."""
        return np.count_nonzero(self.correct(label_idx), axis=0).astype(np.int64)

    def take(self, rows: IntArray) -> "DenseAnswers":
        """Return the answers to these items, in this order."""
        return DenseAnswers(self.codes[rows])
