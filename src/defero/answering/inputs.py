"""What the check and the weights take: who answered what, as pairs (item, expert), and the items' features."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, float_matrix, index_numbers
from defero.core.errors import InputError

MOST_DIRECTIONS = 6
"""How many directions of the features are asked about."""
MOST_COLUMNS = 512
"""Wider features are narrowed to their leading directions."""
NARROWED = 128
BENT = 16
"""Up to so many features get bends and products."""
MOST_SPREADS = 4.0
"""A feature further than this many standard deviations from its mean is taken at that: its products would rule."""


@dataclass(frozen=True, eq=False)
class WhoAnswered:
    """m answers of J experts to n items of K classes: who and to what, never what was said.

    Attributes
    ----------
    item_idx, expert_idx : (m,) int
        The item of each answer, and whose it is.
    label_idx : (n,) int
        The class of each item.
    n_classes, n_experts : int
        K and J.
    """

    item_idx: IntArray
    expert_idx: IntArray
    label_idx: IntArray
    n_classes: int
    n_experts: int

    @property
    def n_items(self) -> int:
        """How many items there are, n."""
        return len(self.label_idx)

    @cached_property
    def per_item(self) -> IntArray:
        """How many answers each item got, (n,)."""
        return np.bincount(self.item_idx, minlength=self.n_items)

    @cached_property
    def per_expert(self) -> IntArray:
        """How many answers each expert gave, (J,)."""
        return np.bincount(self.expert_idx, minlength=self.n_experts)

    @cached_property
    def per_class(self) -> IntArray:
        """How many items each class has, (K,)."""
        return np.bincount(self.label_idx, minlength=self.n_classes)

    @cached_property
    def by_class(self) -> IntArray:
        """How many items of each class each expert answered, (J, K)."""
        cell = self.expert_idx * self.n_classes + self.label_idx[self.item_idx]
        return np.bincount(cell, minlength=self.n_experts * self.n_classes).reshape(self.n_experts, self.n_classes)

    def part(self, items: IntArray) -> "WhoAnswered":
        """Return the answers to some of the items, numbered anew."""
        place = np.full(self.n_items, -1)
        place[items] = np.arange(len(items))
        inside = place[self.item_idx] >= 0
        new_items, experts = place[self.item_idx[inside]], self.expert_idx[inside]
        return WhoAnswered(new_items, experts, self.label_idx[items], self.n_classes, self.n_experts)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up what the items have, (n, c), over the items that each expert answered, (J, c)."""
        of_answers = values[self.item_idx]
        columns = [np.bincount(self.expert_idx, one, minlength=self.n_experts) for one in of_answers.T]
        return np.column_stack(columns) if columns else np.empty((self.n_experts, 0))


def who_answered(
    item_idx: ArrayLike, expert_idx: ArrayLike, label_idx: ArrayLike, *, n_classes: int, n_experts: int
) -> WhoAnswered:
    """Check the answers and the labels.

    >>> who = who_answered([0, 2, 2], [1, 0, 1], [0, 0, 1], n_classes=2, n_experts=2)
    >>> who.per_item.tolist(), who.by_class.tolist()
    ([1, 0, 2], [[0, 1], [1, 1]])
    """
    for name, count in (("n_classes", n_classes), ("n_experts", n_experts)):
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise InputError(f"must be a whole number, 0 or more, got {count!r}.", argument=name)
    labels = index_numbers("label_idx", label_idx, below=n_classes)
    if not len(labels):
        raise InputError(
            "must hold at least one item, got none; pass answered and unanswered items alike.", argument="label_idx"
        )
    items = index_numbers("item_idx", item_idx, below=len(labels))
    experts = index_numbers("expert_idx", expert_idx, below=n_experts)
    if len(experts) != len(items):
        raise InputError(f"must have {len(items)} entries like item_idx, got {len(experts)}.", argument="expert_idx")
    cells = np.sort(items * n_experts + experts)
    twice = np.flatnonzero(cells[1:] == cells[:-1])
    if twice.size:
        item, expert = divmod(int(cells[twice[0]]), n_experts)
        raise InputError(
            f"and expert_idx must name each answer once, got item {item} of expert {expert} twice; keep one.",
            argument="item_idx",
        )
    return WhoAnswered(items, experts, labels, int(n_classes), int(n_experts))


def known_features(features: ArrayLike | None, *, n_items: int) -> FloatArray:
    """Return the items' features, (n, d); no columns where none are given."""
    if features is None:
        return np.empty((n_items, 0))
    known = float_matrix("features", features)
    if len(known) != n_items:
        raise InputError(f"must have {n_items} rows, one per item, got {len(known)}.", argument="features")
    return known


def standardised(features: FloatArray) -> FloatArray:
    """Return each feature with mean 0 and standard deviation 1, without those that never change.

    >>> standardised(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0], [1.0]]
    """
    if not len(features):
        return np.empty((0, 0))
    centre, spread = features.mean(axis=0), features.std(axis=0)
    # Rounding leaves a constant column a standard deviation of 1e-16 or so.
    changing = spread > 1e-12 * np.maximum(np.abs(centre), 1.0)
    return (features[:, changing] - centre[changing]) / spread[changing]


def directions(features: FloatArray) -> FloatArray:
    """Return the leading principal directions of the features and their squares, each of mean 0 and variance 1.

    The squares show who is asked about what is unusual, or usual, in any direction. At most 12 columns.
    """
    scaled = standardised(features)
    if not scaled.size:
        return np.empty((len(features), 0))
    leading = leading_directions(scaled, MOST_DIRECTIONS)
    return np.column_stack([leading, standardised(np.clip(leading, -MOST_SPREADS, MOST_SPREADS) ** 2)])


def leading_directions(scaled: FloatArray, count: int) -> FloatArray:
    """Return the leading principal directions of standardised features, each of mean 0 and variance 1."""
    if scaled.shape[1] > MOST_COLUMNS:
        return standardised(_leading(scaled, count))
    sizes, vectors = np.linalg.eigh(scaled.T @ scaled / len(scaled))
    return standardised(scaled @ vectors[:, sizes > 1e-8 * sizes[-1]][:, ::-1][:, :count])


def basis(features: FloatArray) -> FloatArray:
    """Return columns of mean 0 that predict a class: the features, bent where they are few.

    While there are at most 16 features and ten items for each column, each feature gets bends, max(0, x - q), at seven
    of its quantiles, and each pair its product.
    """
    scaled = standardised(features)
    n_items, d = scaled.shape
    if d > MOST_COLUMNS:
        return _leading(scaled, NARROWED)
    if 0 < d <= BENT and n_items >= 10 * (8 * d + d * (d - 1) // 2):
        bounded = np.clip(scaled, -MOST_SPREADS, MOST_SPREADS)
        first, second = np.triu_indices(d, 1)
        return standardised(np.column_stack([scaled, bends(scaled), bounded[:, first] * bounded[:, second]]))
    return scaled


def bends(columns: FloatArray) -> FloatArray:
    """Return max(0, x - q) of each column at seven of its quantiles, (n, 7 d)."""
    knots = np.quantile(columns, np.arange(1, 8) / 8.0, axis=0)
    return np.column_stack([np.maximum(columns - knot, 0.0) for knot in knots])


def _leading(scaled: FloatArray, count: int) -> FloatArray:
    """Return about the leading `count` principal directions of many columns, each of variance 1, (n, count).

    Two rounds of subspace iteration from a fixed start (Halko, Martinsson & Tropp 2011): d x d numbers are never held.
    """
    wide = np.random.default_rng(0).normal(size=(scaled.shape[1], count + 8))
    for _ in range(2):
        wide = np.linalg.qr(scaled.T @ (scaled @ wide))[0]
    left, sizes, _ = np.linalg.svd(scaled @ wide, full_matrices=False)
    enough = sizes[:count] > 1e-8 * sizes[0]
    return left[:, :count][:, enough] * np.sqrt(len(scaled))
