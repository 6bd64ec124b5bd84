"""SparseAnswers: the class numbers of the answers that were given, row by row, and nothing for the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.answers import Given
from defero.core.checks import BoolArray, IntArray, frozen
from defero.core.errors import InputError
from defero.core.lookup import Codes, code_type
from defero.core.missing import MISSING


@dataclass(frozen=True, eq=False)
class SparseAnswers:
    """m answers of J experts to n items, sorted by item; no (n, J) array is made unless asked for.

    Attributes
    ----------
    starts : (n + 1,) int
        The answers to item i are those from starts[i] up to starts[i + 1].
    expert_idx : (m,) int
        Who answered.
    codes : (m,) int of any size
        What: a class number.
    n_experts : int
        J.

    Examples
    --------
    >>> said = SparseAnswers(np.array([0, 1, 3]), np.array([1, 0, 1]), np.array([2, 0, 0]), n_experts=2)
    >>> said.dense().tolist()
    [[-1, 2], [0, 0]]
    >>> said.take(np.array([0])).per_expert().tolist()
    [0, 1]
    """

    starts: IntArray
    expert_idx: NDArray[np.signedinteger[Any]]
    codes: Codes
    n_experts: int

    def __post_init__(self) -> None:
        for name in ("starts", "expert_idx", "codes"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @classmethod
    def from_matrix(cls, matrix: Any, *, n_classes: int, name: str) -> "SparseAnswers":
        """Read a scipy.sparse matrix (n, J) whose stored values are class number + 1; a stored 0 is missing.

        Two stored values for one cell are an error: scipy would add them up to another class.
        """
        if len(matrix.shape) != 2:
            raise InputError(f"{name} must have two axes (n, J), one column per expert, got shape {matrix.shape}.")
        n_items, n_experts = map(int, matrix.shape)
        cells = matrix.tocoo()
        given = cells.data != 0
        rows, columns, values = (cells.row, cells.col, cells.data)
        if not given.all():
            rows, columns, values = rows[given], columns[given], values[given]
        place = rows.astype(np.int64) * n_experts + columns
        if (np.diff(place) < 0).any():
            order = np.argsort(place, kind="stable")
            place, rows, columns, values = place[order], rows[order], columns[order], values[order]
        _check(rows, columns, values, n_classes=n_classes, name=name)
        twice = np.flatnonzero(np.diff(place) == 0)
        if twice.size:
            raise InputError(
                f"{name}: row {rows[twice[0]]}, column {columns[twice[0]]}: a sparse matrix stores one value per cell, "
                "got more; keep one answer of an expert to an item."
            )
        return cls(
            starts=_starts(np.bincount(rows, minlength=n_items)),
            expert_idx=columns.astype(np.int32),
            codes=(values.astype(np.int64) - 1).astype(code_type(n_classes)),
            n_experts=n_experts,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, J)."""
        return len(self.starts) - 1, self.n_experts

    def item_idx(self) -> IntArray:
        """Return which item each answer is to, (m,)."""
        return np.repeat(np.arange(self.shape[0]), self.per_item())

    def cells(self) -> Codes:
        """Return the class numbers (n, J), -1 where missing, in the type of `codes`."""
        cells: Codes = np.full(self.shape, MISSING, dtype=self.codes.dtype)
        cells[self.item_idx(), self.expert_idx] = self.codes
        return cells

    def dense(self) -> IntArray:
        """Return the class numbers (n, J), -1 where missing."""
        return self.cells().astype(np.int64)

    def observed(self) -> BoolArray:
        """Return who answered what, (n, J)."""
        cells = np.zeros(self.shape, dtype=np.bool_)
        cells[self.item_idx(), self.expert_idx] = True
        return cells

    def correct(self, label_idx: IntArray) -> BoolArray:
        """Return who was right on what, (n, J)."""
        cells = np.zeros(self.shape, dtype=np.bool_)
        items = self.item_idx()
        cells[items, self.expert_idx] = self.codes == label_idx[items]
        return cells

    def given(self) -> Given:
        """Return the answers one by one, sorted by item and then by expert."""
        items, experts = self.item_idx(), self.expert_idx.astype(np.int64)
        if ((np.diff(experts) < 0) & (np.diff(items) == 0)).any():
            order = np.lexsort((experts, items))
            return Given(items[order], experts[order], self.codes[order])
        return Given(items, experts, self.codes)

    def per_expert(self) -> IntArray:
        """Return how many answers each expert gave, (J,)."""
        return np.bincount(self.expert_idx, minlength=self.n_experts)

    def per_item(self) -> IntArray:
        """Return how many answers each item has, (n,)."""
        return np.diff(self.starts)

    def right_per_expert(self, label_idx: IntArray) -> IntArray:
        """Return how many of each expert's answers are right, (J,)."""
        right = self.codes == np.repeat(label_idx, self.per_item())
        return np.bincount(self.expert_idx[right], minlength=self.n_experts)

    def take(self, rows: IntArray) -> "SparseAnswers":
        """Return the answers to these items, in this order."""
        counts = self.per_item()[rows]
        starts = _starts(counts)
        kept = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
        return SparseAnswers(starts, self.expert_idx[kept], self.codes[kept], n_experts=self.n_experts)


def _starts(counts: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _check(rows: IntArray, columns: IntArray, values: NDArray[Any], *, n_classes: int, name: str) -> None:
    wrong = np.flatnonzero(~((values >= 1) & (values <= n_classes) & (values % 1 == 0)))
    if wrong.size:
        first = wrong[0]
        raise InputError(
            f"{name}: row {rows[first]}, column {columns[first]}: a sparse matrix stores class number + 1, "
            f"from 1 to {n_classes}, got {values[first]}; where these classes are not those that the matrix counts, "
            "pass the answers of an ExpertTable or a data frame, which name them."
        )
