"""Two experts who err together: how much, beyond what chance, and with the same wrong answers?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import MISSING
from defero.metrics.shared_chance import both_unlikely, chance_of_same, chance_together

COPY = 0.6
"""From this correlation on two experts are near-copies: together they are worth 1.25 voices at most."""
_BORROWED = 5.0
"""How many wrong answers of the pool each expert's own habits start with."""


@dataclass(frozen=True)
class SharedPair:
    """Two experts who err together beyond chance.

    Attributes
    ----------
    first, second : int
        Their numbers, first < second.
    names : (str, str)
    correlation : float
        Of their errors, beyond what the item explains.
    agreement : float
        The share of the shared items on which both gave the same answer, right or wrong.
    n_shared : int
        How many items both answered.
    both_wrong, same_wrong : int
        On how many both were wrong, and gave the same wrong answer.
    p_value : float
        A bound on how likely any pair of strangers looks so much alike: adjusted for the number of pairs.
    """

    first: int
    second: int
    names: tuple[str, str]
    correlation: float
    agreement: float
    n_shared: int
    both_wrong: int
    same_wrong: int
    p_value: float

    @property
    def near_copies(self) -> bool:
        """Should they count as one person?"""
        return self.correlation >= COPY

    @property
    def voices(self) -> float:
        """How many independent voices the two are worth: 2 / (1 + correlation)."""
        return 2 / (1 + self.correlation)

    def times(self, n_pairs: int) -> "SharedPair":
        """Return the same with its p value adjusted for so many pairs (Bonferroni)."""
        return replace(self, p_value=min(self.p_value * n_pairs, 1.0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "experts": list(self.names),
            "correlation": self.correlation,
            "agreement": self.agreement,
            "n_shared": self.n_shared,
            "both_wrong": self.both_wrong,
            "same_wrong": self.same_wrong,
            "voices": self.voices,
            "near_copies": self.near_copies,
            "p_value": self.p_value,
        }


@dataclass(frozen=True, eq=False)
class Wrongs:
    """Answers, and which wrong ones the pool gives.

    Attributes
    ----------
    answers : (n, J) class numbers, -1 where missing
    labels : (n,) class numbers
    habit : (K, K)
        [y, k]: the share of the wrong answers to items of class y that are k.
    alike : (K,)
        The share of pairs of wrong answers to one item of class y that are the same.
    """

    answers: IntArray
    labels: IntArray
    habit: FloatArray
    alike: FloatArray

    @classmethod
    def of(cls, answers: IntArray, labels: IntArray, *, n_classes: int) -> "Wrongs":
        """Count."""
        n_items = len(labels)
        item, expert = np.nonzero((answers != MISSING) & (answers != labels[:, None]))
        wrong_idx = answers[item, expert]
        habit = np.bincount(labels[item] * n_classes + wrong_idx, minlength=n_classes**2).reshape(n_classes, n_classes)
        cell, count = np.unique(item * n_classes + wrong_idx, return_counts=True)
        each = np.bincount(item, minlength=n_items)
        same = np.bincount(labels[cell // n_classes], weights=count * (count - 1), minlength=n_classes)
        pairs = np.bincount(labels, weights=each * (each - 1), minlength=n_classes)
        # One pair more, as alike as all: a class with few errors tells little.
        overall = same.sum() / max(pairs.sum(), 1)
        shares = (habit + 1e-9) / (habit + 1e-9).sum(axis=1, keepdims=True)
        return cls(answers, labels, shares, (same + overall) / (pairs + 1))

    def chance_alike(self, first: int, second: int, items: IntArray) -> FloatArray:
        """Return how likely both give the same wrong answer to items that both get wrong.

        The larger of what two of the pool do, and of what these two do by their own habits in that class.
        """
        habits = [self._habit_of(expert)[self.labels[items]] for expert in (first, second)]
        return np.maximum(self.alike[self.labels[items]], (habits[0] * habits[1]).sum(axis=1))

    def _habit_of(self, expert: int) -> FloatArray:
        answers_given = self.answers[:, expert]
        wrong = np.flatnonzero((answers_given != MISSING) & (answers_given != self.labels))
        n_classes = len(self.alike)
        own = np.bincount(self.labels[wrong] * n_classes + answers_given[wrong], minlength=n_classes**2)
        drawn: FloatArray = own.reshape(n_classes, n_classes) + _BORROWED * self.habit
        return drawn / drawn.sum(axis=1, keepdims=True)


def judge_pair(
    first: int,
    second: int,
    chances: FloatArray,
    wrongs: Wrongs,
    *,
    common: float,
    correlation: float,
    names: Sequence[str],
) -> SharedPair:
    """Return two experts with what chance says of them, not adjusted yet; `chances` (n, J) are those of being wrong."""
    answers_given = wrongs.answers[:, [first, second]]
    items = np.flatnonzero((answers_given != MISSING).all(axis=1))
    answers_given, truth = answers_given[items], wrongs.labels[items]
    wrong: BoolArray = answers_given != truth[:, None]
    both, alike = wrong.all(axis=1), answers_given[:, 0] == answers_given[:, 1]
    p_value = chance_together(chances[items, first], chances[items, second], wrong, common=common)
    if len(wrongs.alike) > 2:
        same = chance_of_same(int((both & alike).sum()), wrongs.chance_alike(first, second, items[both]))
        p_value = min(2 * min(p_value, both_unlikely(p_value, same)), 1.0)  # twice: the better of two looks
    return SharedPair(
        first,
        second,
        (names[first], names[second]),
        correlation,
        float(alike.mean()),
        len(items),
        int(both.sum()),
        int((both & alike).sum()),
        p_value,
    )


def groups_of(pairs: Sequence[SharedPair]) -> tuple[tuple[int, ...], ...]:
    """Put near-copies together: whoever is a near-copy of one of a group belongs to it."""
    groups: list[set[int]] = []
    for pair in pairs:
        if not pair.near_copies:
            continue
        touched = [group for group in groups if group & {pair.first, pair.second}]
        groups = [group for group in groups if group not in touched]
        groups.append(set().union({pair.first, pair.second}, *touched))
    return tuple(sorted(tuple(sorted(group)) for group in groups))
