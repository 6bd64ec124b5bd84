"""Answered: cases with a known class and the answers of several members; halves of them, and answers heard so far."""

from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.splits import split_groups, split_rows

MISSING = -1
MOST_ITEMS = 4_000
"""A half has at most so many items, drawn at random."""


@dataclass(frozen=True, eq=False)
class Answered:
    """Cases with a known class that several members have answered.

    Attributes
    ----------
    features : (n, d)
    label_idx : (n,) int
    answer_idx : (n, J) int
        Class numbers, -1 where missing.
    groups : (n,) int, optional
        Items that belong together.
    """

    features: FloatArray
    label_idx: IntArray
    answer_idx: IntArray
    groups: IntArray | None = None

    def __len__(self) -> int:
        return len(self.label_idx)

    def take(self, rows: IntArray) -> "Answered":
        """Return some of the items."""
        groups = None if self.groups is None else self.groups[rows]
        return Answered(self.features[rows], self.label_idx[rows], self.answer_idx[rows], groups)

    def parts(self, fractions: tuple[float, ...], *, seed: int) -> tuple["Answered", ...]:
        """Return disjoint parts of these sizes, groups kept whole."""
        rng = np.random.default_rng([seed, 36])
        if self.groups is None:
            rows = split_rows(self.label_idx, fractions, rng=rng)
        else:
            rows = split_groups(self.groups, self.label_idx, fractions, rng=rng)
        return tuple(self.take(part) for part in rows)

    def halves(self, *, seed: int) -> tuple["Answered", "Answered"]:
        """Return the items to learn from and those to judge on."""
        first, second = self.parts((0.5, 0.5), seed=seed)
        return first.at_most(MOST_ITEMS, seed=seed), second.at_most(MOST_ITEMS, seed=seed)

    def at_most(self, n_items: int, *, seed: int) -> "Answered":
        """Return so many items, drawn at random, or all."""
        if len(self) <= n_items:
            return self
        drawn = np.random.default_rng([seed, 37]).permutation(len(self))[:n_items]
        return self.take(np.sort(drawn))

    def heard(self, n_heard: int, *, seed: int) -> "Answered":
        """Return the items with at least so many answers, and as many of these, drawn at random; 0: with all."""
        given = self.answer_idx != MISSING
        rows = np.flatnonzero(given.sum(axis=1) >= max(n_heard, 1))
        part = self.take(rows)
        if n_heard == 0:
            return part
        drawn = np.where(given[rows], np.random.default_rng([seed, 38]).random(given.shape)[rows], np.inf)
        place = drawn.argsort(axis=1).argsort(axis=1)
        answers = np.where(place < n_heard, part.answer_idx, MISSING)
        return Answered(part.features, part.label_idx, answers, part.groups)
