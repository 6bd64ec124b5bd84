"""Forest: boosted trees as arrays, evaluated in numpy for many rows at once.

A tree of at most 16 leaves is walked without branches: each split that sends a row to the right clears the bits of the
leaves on its left, and the lowest bit that is left is the row's leaf (Lucchese et al. 2015, QuickScorer).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, check_shape, set_numbers
from defero.core.codec import Count, Within
from defero.core.errors import InputError

MOST_LEAVES = 16
"""Bits of the leaves of one tree."""
_ROWS_AT_ONCE = 4_096
"""So few that the bits of a tree and the columns stay in the processor's cache."""
_NO_SPLIT = -1
_SPLITS = {
    **{"feature": _NO_SPLIT, "threshold": 0.0, "missing_left": False, "categories": 0},
    **{"is_category": False, "leaves_left": 0},
}
"""The arrays (t, s, ...) of splits, and what stands in each where there is none."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Boosted trees with several outputs, such as the classes and the experts.

    A tree has L leaves, from left to right, and L - 1 splits; arrays are padded to the largest L.

    Attributes
    ----------
    n_features : int
    baseline : (o,)
        Where each output starts.
    output : (t,) int
        The output to which each of t trees adds.
    feature : (t, s) int
        Column that each split looks at; -1 where there is none.
    threshold : (t, s)
        A row goes left if its number is at most this; unused for categories.
    missing_left : (t, s) bool
        Whether a row without a value goes left.
    categories : (t, s, 4) uint64
        For splits of categories: bits of the category numbers that go left. No bits for splits of numbers.
    is_category : (t, s) bool
    leaves_left : (t, s) uint16
        Bits of the leaves on the left of each split.
    value : (t, L)

    Examples
    --------
    One split, x <= 0.5, and two leaves:

    >>> forest = Forest(1, np.array([1.0]), np.array([0]), np.array([[0]]), np.array([[0.5]]), np.array([[True]]),
    ...                 np.zeros((1, 1, 4), np.uint64), np.array([[False]]), np.array([[1]], np.uint16),
    ...                 np.array([[10.0, 20.0]]))
    >>> forest.predict(np.array([[0.0], [1.0], [np.nan]])).ravel().tolist()
    [11.0, 21.0, 11.0]
    """

    n_features: Count
    baseline: FloatArray
    output: IntArray
    feature: IntArray
    threshold: Annotated[FloatArray, Within(finite=False)]
    missing_left: BoolArray
    categories: NDArray[np.uint64]
    is_category: BoolArray
    leaves_left: NDArray[np.uint16]
    value: FloatArray

    def __post_init__(self) -> None:
        n_trees, n_splits = self.feature.shape
        shapes: dict[str, tuple[int | str, ...]] = dict.fromkeys(_SPLITS, (n_trees, n_splits))
        shapes |= {"output": (n_trees,), "categories": (n_trees, n_splits, 4), "value": (n_trees, n_splits + 1)}
        check_shape("threshold", self.threshold, shapes.pop("threshold"))
        set_numbers(self, **shapes, baseline=("o",))
        if self.feature.size and not (self.feature.min() >= _NO_SPLIT and self.feature.max() < self.n_features):
            raise InputError(f"must name one of {self.n_features} columns.", argument="feature")
        if n_trees and not (self.output.min() >= 0 and self.output.max() < len(self.baseline)):
            raise InputError(f"must name one of {len(self.baseline)} outputs.", argument="output")
        if np.isnan(self.threshold).any():
            raise InputError("must be numbers, got NaN.", argument="threshold")
        self._check_leaves()

    def _check_leaves(self) -> None:
        """Raise if some row could clear every leaf of a tree; then it would have no leaf."""
        if self.feature.shape[1] >= MOST_LEAVES:
            raise InputError(f"must have at most {MOST_LEAVES} leaves a tree.", argument="value")
        last = (self.feature != _NO_SPLIT).sum(axis=1).astype(np.uint16)
        beyond = self.leaves_left.astype(np.uint32) >> last[:, None]
        if (beyond[self.feature != _NO_SPLIT] != 0).any():
            raise InputError("must leave the last leaf of each tree.", argument="leaves_left")

    @property
    def n_outputs(self) -> int:
        """O."""
        return len(self.baseline)

    @cached_property
    def _edges(self) -> list[FloatArray]:
        """The sorted thresholds of each column."""
        numeric = (self.feature != _NO_SPLIT) & ~self.is_category
        return [np.unique(self.threshold[numeric & (self.feature == f)]) for f in range(self.n_features)]

    @cached_property
    def _trees(self) -> list[tuple[int, FloatArray, list[tuple[int, int, bool, Any, np.uint16]]]]:
        """For each tree: its output, its leaves and its splits (column, place of the threshold, ...)."""
        trees = []
        for t in range(len(self.output)):
            splits = []
            for s in np.flatnonzero(self.feature[t] != _NO_SPLIT):
                f = int(self.feature[t, s])
                goes_right, place = None, 0
                if self.is_category[t, s]:
                    goes_right = ~_bits(self.categories[t, s])
                else:
                    place = int(np.searchsorted(self._edges[f], self.threshold[t, s]))
                splits.append((f, place, bool(self.missing_left[t, s]), goes_right, self.leaves_left[t, s]))
            trees.append((int(self.output[t]), self.value[t], splits))
        return trees

    def predict(self, columns: FloatArray) -> FloatArray:
        """Return the outputs (n, o) of n rows; NaN is a missing value, categories are numbers 0..255."""
        raw = np.tile(self.baseline, (len(columns), 1)).T.copy()
        for start in range(0, len(columns), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            self._add(raw[:, rows], columns[rows])
        return np.ascontiguousarray(raw.T)

    def _add(self, raw: FloatArray, columns: FloatArray) -> None:
        """Add all trees to raw (o, m), the outputs of a few rows."""
        codes = [_Codes(columns[:, f], self._edges[f]) for f in range(self.n_features)]
        cleared = np.empty(len(columns), dtype=np.uint16)
        for output, value, splits in self._trees:
            cleared.fill(0)
            for f, place, missing_left, goes_right, bits in splits:
                cleared |= codes[f].right_of(place, missing_left=missing_left, goes_right=goes_right) * bits
            # The lowest bit that is not cleared: c ^ (c + 1) has ones up to it.
            leaf = np.bitwise_count(cleared ^ (cleared + np.uint16(1))) - np.uint8(1)
            raw[output] += value[leaf]

    def stages(self, columns: FloatArray, shares: FloatArray) -> FloatArray:
        """Return what a share of the trees of a forest with one output would predict, (s, n); shares grow from 0 to 1.

        At least one tree for a share above 0.
        """
        ends = np.where(shares > 0, np.maximum(np.round(shares * len(self.output)), 1), 0)
        # One output for the trees that each stage adds.
        stage = np.searchsorted(ends, np.arange(len(self.output)), side="right")
        added = replace(self, output=stage, baseline=np.zeros(len(shares))).predict(columns)
        return np.asarray(self.baseline[0] + added.T.cumsum(axis=0))

    def first(self, share: float) -> "Forest":
        """Return a forest with one output as it was after a share of its trees."""
        n_trees = max(round(share * len(self.output)), 1)
        per_tree = Forest.__dataclass_fields__.keys() - {"n_features", "baseline"}
        return replace(self, **{name: getattr(self, name)[:n_trees] for name in per_tree})

    def take(self, outputs: IntArray) -> "Forest":
        """Return the trees of some outputs, in this order."""
        new_place = np.full(self.n_outputs, -1)
        new_place[outputs] = np.arange(len(outputs))
        stay = new_place[self.output] >= 0
        trees = {name: getattr(self, name)[stay] for name in ("output", "value", *_SPLITS)}
        return replace(self, **{**trees, "output": new_place[trees["output"]], "baseline": self.baseline[outputs]})


class _Codes:
    """One column of a few rows, as the number of thresholds below each value."""

    def __init__(self, column: FloatArray, edges: FloatArray) -> None:
        self.missing = np.isnan(column)
        self.any_missing = bool(self.missing.any())
        code = np.searchsorted(edges, column, side="left").astype(np.min_scalar_type(len(edges)))
        self.low: Any = code
        self.high: Any = code
        if self.any_missing:
            self.low, self.high = np.where(self.missing, 0, code), np.where(self.missing, len(edges), code)
            self.low, self.high = self.low.astype(code.dtype), self.high.astype(code.dtype)
        self.column = column
        self._category: Any = None

    def right_of(self, place: int, *, missing_left: bool, goes_right: Any) -> Any:
        """Return whether each row goes to the right, (m,) bool."""
        if goes_right is None:
            return (self.low if missing_left else self.high) > place
        if self._category is None:
            known = ~self.missing & (self.column >= 0) & (self.column < len(goes_right))
            self._category = known, np.where(known, self.column, 0).astype(np.uint8)
        known, number = self._category
        return np.where(known, goes_right[number], not missing_left)


def join_forests(forests: Sequence[Forest]) -> Forest:
    """Return one forest with the outputs of several, in order; all read the same columns."""
    n_splits = max(forest.feature.shape[1] for forest in forests)
    starts = np.cumsum([0, *(forest.n_outputs for forest in forests)])

    def padded(name: str, fill: Any, width: int) -> Any:
        parts = []
        for forest in forests:
            value = getattr(forest, name)
            pad = [(0, 0), (0, width - value.shape[1]), *([(0, 0)] * (value.ndim - 2))]
            parts.append(np.pad(value, pad, constant_values=fill))
        return np.concatenate(parts)

    return Forest(
        forests[0].n_features,
        np.concatenate([forest.baseline for forest in forests]),
        np.concatenate([forest.output + start for forest, start in zip(forests, starts, strict=False)]),
        **{name: padded(name, fill, n_splits) for name, fill in _SPLITS.items()},
        value=padded("value", 0.0, n_splits + 1),
    )


def _bits(words: Any) -> Any:
    """Return the 256 bits of four words, the lowest first."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little").astype(np.bool_)
