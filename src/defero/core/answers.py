"""Answers: who answered what, as class numbers; the one form that every stage reads."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.checks.arrays import BoolArray, IntArray, frozen, names, read_only
from defero.core.errors import InputError

MISSING = -1
NO_CLASS = -2
CELLS_AT_ONCE = 1 << 18
Codes = NDArray[np.signedinteger[Any]]
Values = NDArray[np.generic]


class Triplets(NamedTuple):
    """m answers, sorted by item and then by expert: item, expert and class number of each, (m,)."""

    item_idx: IntArray
    expert_idx: IntArray
    codes: Codes


def group_by_expert(expert_idx: IntArray, n_experts: int) -> tuple[IntArray, IntArray]:
    """Return an order (m,) that puts each expert's answers together, and where each expert's begin, (J + 1,).

    >>> [part.tolist() for part in group_by_expert(np.array([1, 0, 1]), 3)]
    [[1, 0, 2], [0, 1, 3, 3]]
    """
    order = np.argsort(expert_idx, kind="stable")
    return order, _starts(np.bincount(expert_idx, minlength=n_experts))


@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """Answers of J experts to n items as class numbers.

    Estimators and teams take them as they take a data frame, and rows are chosen as those of an array. Answers are
    stored row by row in a few bytes each, so that memory grows with their number and no (n, J) array is made unless
    asked for. Build them with `from_cells`, `from_matrix` or `from_triplets`.

    Attributes
    ----------
    codes : (m,) int of any size
        Class numbers of the m answers.
    n_experts : int
        J.
    starts : (n + 1,) int
        The answers to item i are those from starts[i] up to starts[i + 1].
    expert_idx : (m,) int of any size
        Who gave each answer.
    classes : (K,) or None
        What the numbers stand for; a part of the items need not show every class.
    expert_names : J names or None

    Examples
    --------
    >>> triplets = [0, 1, 1], [1, 0, 1], [2, 0, 2]
    >>> answers = Answers.from_triplets(*triplets, n_items=2, n_experts=2, classes=["a", "b", "c"])
    >>> answers.dense().tolist()
    [[-1, 2], [0, 2]]
    >>> answers[[1]].per_expert().tolist()
    [1, 1]
    >>> answers.among(np.array(["a", "c"])).dense().tolist()
    [[-1, 1], [0, 1]]
    """

    codes: Codes
    n_experts: int
    starts: IntArray
    expert_idx: NDArray[np.signedinteger[Any]]
    classes: Values | None = None
    expert_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("codes", "starts", "expert_idx", "classes"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(np.asarray(getattr(self, name))))
        if self.expert_names is not None:
            who = names("expert_names", self.expert_names, count=self.n_experts)
            object.__setattr__(self, "expert_names", who)

    @classmethod
    def from_cells(
        cls, codes: Codes, *, classes: Values | None = None, expert_names: tuple[str, ...] | None = None
    ) -> "Answers":
        """Take class numbers (n, J), -1 where there is no answer.

        >>> Answers.from_cells(np.array([[0, -1], [1, 1]])).per_expert().tolist()
        [2, 1]
        """
        (n_items, n_experts), answered = codes.shape, codes != MISSING
        experts = np.tile(np.arange(n_experts, dtype=code_type(n_experts)), n_items)
        flat = codes.reshape(-1)
        if not answered.all():
            flat, experts = flat[answered.reshape(-1)], experts[answered.reshape(-1)]
        starts = _starts(np.count_nonzero(answered, axis=1))
        return cls(flat, n_experts, starts, experts, classes, expert_names)

    @classmethod
    def from_triplets(
        cls,
        item_idx: ArrayLike,
        expert_idx: ArrayLike,
        codes: ArrayLike,
        *,
        n_items: int,
        n_experts: int,
        classes: Values | None = None,
        expert_names: tuple[str, ...] | None = None,
    ) -> "Answers":
        """Take m answers in any order, each pair (item, expert) once: the items, the experts, the class numbers."""
        cells = _in_order(np.asarray(item_idx), np.asarray(expert_idx), np.asarray(codes), n_experts=n_experts)
        starts = _starts(np.bincount(cells.rows, minlength=n_items))
        return cls(cells.values, n_experts, starts, cells.columns.astype(np.int32), classes, expert_names)

    @classmethod
    def from_matrix(cls, matrix: Any, *, classes: Values, name: str = "answers") -> "Answers":
        """Read a scipy.sparse matrix (n, J) whose stored values are class number + 1; a stored 0 is missing.

        Two stored values for one cell are an error: scipy would add them up to another class.
        """
        if len(matrix.shape) != 2:
            raise InputError(
                f"must have two axes (n, J), one per item and expert, got shape {matrix.shape}.", argument=name
            )
        n_items, n_experts = map(int, matrix.shape)
        stored = matrix.tocoo()
        filled = stored.data != 0
        parts = (stored.row, stored.col, stored.data)
        cells = _in_order(*(parts if filled.all() else (part[filled] for part in parts)), n_experts=n_experts)
        _check_stored(cells, n_classes=len(classes), name=name)
        codes = (cells.values.astype(np.int64) - 1).astype(code_type(len(classes)))
        starts = _starts(np.bincount(cells.rows, minlength=n_items))
        return cls(codes, n_experts, starts, cells.columns.astype(np.int32), classes)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, J)."""
        return len(self.starts) - 1, self.n_experts

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Answers(n_items={len(self)}, n_experts={self.n_experts}, n_answers={len(self.codes)})"

    def __getitem__(self, rows: Any) -> "Answers":
        """Return the answers to these items: numbers, a mask or a slice."""
        if isinstance(rows, tuple):  # scikit-learn writes answers[rows, ...]
            rows, *rest = rows
            if any(one is not Ellipsis for one in rest):
                raise IndexError("answers are chosen by item alone.")
        chosen = np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)]
        return self.take(np.atleast_1d(chosen))

    def take(self, rows: IntArray) -> "Answers":
        """Return the answers to these items, in this order."""
        counts = self.per_item()[rows]
        starts = _starts(counts)
        if self._is_full:
            total = int(starts[-1])
            more = total > len(self.codes)  # where rows are taken more than once
            expert_idx = np.resize(self.expert_idx, total) if more else self.expert_idx[:total]
            codes = read_only(self._as_cells()[rows].reshape(-1))
            return replace(self, starts=starts, expert_idx=expert_idx, codes=codes)
        chosen = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
        return replace(self, starts=starts, expert_idx=self.expert_idx[chosen], codes=self.codes[chosen])

    def of_experts(self, experts: IntArray) -> "Answers":
        """Return the answers of all experts in another order, the j-th being expert experts[j].

        >>> Answers.from_triplets([0, 1, 1], [1, 0, 1], [2, 0, 2], n_items=2, n_experts=2).of_experts(
        ...     np.array([1, 0])
        ... ).dense().tolist()
        [[2, -1], [2, 0]]
        """
        names = None if self.expert_names is None else tuple(self.expert_names[j] for j in experts)
        if 4 * len(self.codes) >= len(self) * self.n_experts:  # rather than sort, where the cells are no more memory
            codes = read_only(np.take(self._as_cells(), experts, axis=1))
            return Answers.from_cells(codes, classes=self.classes, expert_names=names)
        cells = _in_order(self._item_idx(), np.argsort(experts)[self.expert_idx], self.codes, n_experts=self.n_experts)
        return replace(self, codes=cells.values, expert_idx=cells.columns.astype(np.int32), expert_names=names)

    def among(self, classes: Values) -> "Answers":
        """Return the answers as numbers of other classes; `NO_CLASS` for an answer that is none of them."""
        if self.classes is None or np.array_equal(self.classes, classes):
            return self if self.classes is not None else replace(self, classes=classes)
        number = np.append(class_numbers(self.classes, classes), np.int8(MISSING))  # a missing cell is -1, the last
        return replace(self, codes=number[self.codes], classes=classes)

    def dense(self) -> IntArray:
        """Return the class numbers (n, J), -1 where there is no answer."""
        return self._as_cells().astype(np.int64)

    def observed(self) -> BoolArray:
        """Return who answered what, (n, J)."""
        observed: BoolArray = self._as_cells() != MISSING
        return observed

    def correct(self, label_idx: IntArray) -> BoolArray:
        """Return who was right on what, (n, J)."""
        cells = self._as_cells()
        correct: BoolArray = (cells == label_idx[:, None]) & (cells != MISSING)
        return correct

    def triplets(self) -> Triplets:
        """Return the answers one by one."""
        return Triplets(self._item_idx(), self.expert_idx.astype(np.int64), self.codes)

    def per_item(self) -> IntArray:
        """Return how many answers each item has, (n,)."""
        return np.diff(self.starts)

    def per_expert(self) -> IntArray:
        """Return how many answers each expert gave, (J,)."""
        if self._is_full:
            return np.full(self.n_experts, len(self), dtype=np.int64)
        return np.bincount(self.expert_idx, minlength=self.n_experts)

    def right_per_expert(self, label_idx: IntArray) -> IntArray:
        """Return how many of each expert's answers are right, (J,)."""
        if self._is_full:
            return np.count_nonzero(self.correct(label_idx), axis=0).astype(np.int64)
        right = self.codes == np.repeat(label_idx, self.per_item())
        return np.bincount(self.expert_idx[right], minlength=self.n_experts)

    def _item_idx(self) -> IntArray:
        return np.repeat(np.arange(len(self)), self.per_item())

    @property
    def _is_full(self) -> bool:
        """Whether everybody answered everything: the codes are then the cells, row by row."""
        return len(self.codes) == len(self) * self.n_experts

    def _as_cells(self) -> Codes:
        """Return the class numbers (n, J) in the type that they are stored in; not to be written into."""
        if self._is_full:
            return self.codes.reshape(self.shape)
        cells = np.full(self.shape, MISSING, dtype=self.codes.dtype)
        firsts = np.arange(len(self)) * self.n_experts
        cells.reshape(-1)[np.repeat(firsts, self.per_item()) + self.expert_idx] = self.codes
        return cells


def _starts(counts: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


class _Cells(NamedTuple):
    """Row, column and value of m cells, row by row; their places in the flat table."""

    rows: IntArray
    columns: IntArray
    values: NDArray[Any]
    places: IntArray


def _in_order(rows: IntArray, columns: IntArray, values: NDArray[Any], *, n_experts: int) -> _Cells:
    places = rows.astype(np.int64) * n_experts + columns
    if not (np.diff(places) < 0).any():
        return _Cells(rows, columns, values, places)
    order = np.argsort(places, kind="stable")
    return _Cells(rows[order], columns[order], values[order], places[order])


def _check_stored(cells: _Cells, *, n_classes: int, name: str) -> None:
    """Refuse a stored value that is no class number + 1, and two values for one cell."""
    rows, columns, values, places = cells
    wrong = np.flatnonzero(~((values >= 1) & (values <= n_classes) & (values % 1 == 0)))
    if wrong.size:
        first = wrong[0]
        raise InputError(
            f": row {rows[first]}, column {columns[first]}: a sparse matrix stores class number + 1, "
            f"from 1 to {n_classes}, got {values[first]}; where these classes are not those that the matrix counts, "
            "pass the answers of an ExpertTable or a data frame, which name them.",
            argument=name,
        )
    twice = np.flatnonzero(np.diff(places) == 0)
    if twice.size:
        raise InputError(
            f": row {rows[twice[0]]}, column {columns[twice[0]]}: a sparse matrix stores one value per cell, "
            "got more; keep one answer of an expert to an item.",
            argument=name,
        )


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or pandas' NA or NaT.

    >>> [is_missing(v) for v in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if isinstance(value, float):
        return value != value
    return (
        value is None
        or (isinstance(value, np.floating) and bool(np.isnan(value)))
        or type(value).__name__ in {"NAType", "NaTType"}
    )


def code_type(n_classes: int) -> "np.dtype[Any]":
    """Return the smallest type for the numbers 0..K-1, -1 for missing and -2 for no class.

    >>> code_type(2), code_type(128), code_type(129)
    (dtype('int8'), dtype('int8'), dtype('int16'))
    """
    return np.min_scalar_type(-max(n_classes, 2))


def class_numbers(values: Values, classes: Values) -> Codes:
    """Return the class index of each value, -1 if it is missing, -2 if it is not a class.

    Parameters
    ----------
    values : array of any shape
    classes : (K,), sorted

    >>> class_numbers(np.array([7, 3, 5]), np.array([3, 7])).tolist()
    [1, 0, -2]
    >>> class_numbers(np.array(["b", None], dtype=object), np.array(["a", "b"], dtype=object)).tolist()
    [1, -1]
    """
    codes = np.empty(values.shape, code_type(len(classes)))
    numeric = values.dtype.kind in "iufb" and classes.dtype.kind in "iufb"
    numbers = _Numbers({value: k for k, value in enumerate(classes.tolist())})
    # In chunks: the copies that a lookup makes are many times as large as its result.
    rows = max(1, CELLS_AT_ONCE // max(1, values[:1].size))
    for start in range(0, len(values), rows):
        chunk = values[start : start + rows]
        codes[start : start + rows] = _sorted_places(chunk, classes) if numeric else numbers.of(chunk, codes.dtype)
    return codes


def column_numbers(column: Any, classes: Values) -> Codes:
    """Return the class indices of a column of a data frame, (n,)."""
    if isinstance(column.dtype, np.dtype):
        values = column.to_numpy()
        return minus_one_is_missing(class_numbers(values, classes), values)
    places, distinct = column.factorize()
    values = np.empty(len(distinct), dtype=object)
    values[:] = distinct.tolist()
    codes = class_numbers(values, classes)
    if column.dtype.kind in "iu":
        codes[(codes == NO_CLASS) & (values == -1)] = MISSING
    # A missing cell's place is -1, the last of these.
    return np.append(codes, np.array(MISSING, codes.dtype))[places]


def minus_one_is_missing(codes: Codes, values: Values) -> Codes:
    """Set -1 in integer arrays to missing unless it is a class. Writes into `codes`."""
    if values.dtype.kind in "iu":
        codes[(codes == NO_CLASS) & (values == -1)] = MISSING
    return codes


class _Numbers(dict[object, int]):
    """Class indices by value, with all kinds of missing values."""

    def __missing__(self, value: object) -> int:
        return MISSING if is_missing(value) else NO_CLASS

    def of(self, values: Values, dtype: "np.dtype[Any]") -> Codes:
        cells = values.ravel().tolist()
        try:
            codes = np.fromiter(map(self.__getitem__, cells), dtype, len(cells))
        except TypeError as error:
            raise InputError(
                f"labels and answers must be text or numbers, got a cell that is neither: {error}."
            ) from error
        return codes.reshape(values.shape)


def _sorted_places(values: Values, classes: Values) -> Codes:
    place = np.searchsorted(classes, values)
    place[place == len(classes)] = 0
    codes = np.where(classes[place] == values, place, NO_CLASS)
    if values.dtype.kind == "f":
        codes[np.isnan(values)] = MISSING
    return codes
