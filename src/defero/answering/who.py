"""Who answered what, as pairs (item, expert), checked once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import FloatArray, IntArray, float_matrix, index_numbers
from defero.core.errors import InputError


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

    def part(self, kept: IntArray) -> "WhoAnswered":
        """Return the answers to some of the items, numbered anew."""
        place = np.full(self.n_items, -1)
        place[kept] = np.arange(len(kept))
        mine = place[self.item_idx] >= 0
        items, experts = place[self.item_idx[mine]], self.expert_idx[mine]
        return WhoAnswered(items, experts, self.label_idx[kept], self.n_classes, self.n_experts)

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
            raise InputError(f"{name} must be a whole number, 0 or more, got {count!r}.")
    labels = index_numbers("label_idx", label_idx, below=n_classes)
    if not len(labels):
        raise InputError("label_idx must hold at least one item, got none; pass answered and unanswered items alike.")
    items = index_numbers("item_idx", item_idx, below=len(labels))
    experts = index_numbers("expert_idx", expert_idx, below=n_experts)
    if len(experts) != len(items):
        raise InputError(f"expert_idx must have {len(items)} entries like item_idx, got {len(experts)}.")
    cells = np.sort(items * n_experts + experts)
    twice = np.flatnonzero(cells[1:] == cells[:-1])
    if twice.size:
        item, expert = divmod(int(cells[twice[0]]), n_experts)
        raise InputError(
            f"item_idx and expert_idx must name each answer once, got item {item} of expert {expert} twice; keep one."
        )
    return WhoAnswered(items, experts, labels, int(n_classes), int(n_experts))


def known_features(features: ArrayLike | None, *, n_items: int) -> FloatArray:
    """Return the items' features, (n, d); no columns where none are given."""
    if features is None:
        return np.empty((n_items, 0))
    known = float_matrix("features", features)
    if len(known) != n_items:
        raise InputError(f"features must have {n_items} rows, one per item, got {len(known)}.")
    return known
