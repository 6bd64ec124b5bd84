"""Assign whole groups of rows to parts, close to the requested sizes and stratified by class."""

from itertools import pairwise

import numpy as np

from defero.core.checks.arrays import IntArray


def deal_groups(
    group_idx: IntArray, strata: IntArray, fractions: tuple[float, ...], *, rng: np.random.Generator
) -> IntArray:
    """Return the part of each group, (G,).

    Groups are dealt largest first, equal ones in random order. The chance that a part gets a group is proportional to
    what the part lacks of the group's classes among the rows dealt so far, so that large groups are shared out like
    small ones: were they dealt to whoever lacks most in the end, the first part would get them all. Before that
    the first part gets, rarest class first, a smallest group of each class that it lacks.

    Each part's size ends within one largest group of its wish. Let s be the size of the largest group. A group may go
    to any part that still lacks rows while all overfull parts together stay at most s above their wishes; where no
    part is left by this rule, to the one that lacks most, from then on always. Were a part to end D below its wish,
    each part that was dealt to since then ends at least D - s below its own, the overfull ones of before are together
    at most s above theirs, and all differences add up to 0: D <= s.

    Parameters
    ----------
    group_idx : (n,) int
        The group of each row, 0..G-1, none of them empty.
    strata : (n,) int
        The class of each row, 0..K-1.
    fractions : sequence of float
    rng : numpy.random.Generator
    """
    sizes = np.bincount(group_idx)
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    deal = _Deal(group_idx, strata, fractions)
    for group in _one_of_each_class(deal, order):
        deal.give(group, 0)
    for group, chance in zip(order.tolist(), rng.random(len(order)).tolist(), strict=True):
        if deal.part_of[group] < 0:
            deal.give(group, deal.choose(group, chance))
    return np.array(deal.part_of, dtype=np.int64)


class _Deal:
    """Rows that each part has and lacks. Plain lists: a group has few classes, and there are many groups."""

    def __init__(self, group_idx: IntArray, strata: IntArray, fractions: tuple[float, ...]) -> None:
        n_classes = int(strata.max()) + 1
        pairs, counts = np.unique(group_idx * n_classes + strata, return_counts=True)
        sizes = np.bincount(group_idx)
        first = np.searchsorted(pairs, np.arange(len(sizes) + 1) * n_classes)
        cells = list(zip((pairs % n_classes).tolist(), counts.tolist(), strict=True))
        # Of each group: its classes and how many rows it has of each.
        self.rows: list[list[tuple[int, int]]] = [cells[low:high] for low, high in pairwise(first.tolist())]
        self.sizes: list[int] = sizes.tolist()
        self.largest = max(self.sizes)
        self.n_rows: list[int] = np.bincount(strata, minlength=n_classes).tolist()
        self.fractions = fractions
        self.lacking = [fraction * len(strata) for fraction in fractions]
        self.overfull = 0.0
        self.have = [[0] * n_classes for _ in fractions]
        self.dealt = [0] * n_classes
        self.part_of = [-1] * len(sizes)
        self.n_left = len(sizes)
        self.empty = set(range(len(fractions)))

    def give(self, group: int, part: int) -> None:
        self.part_of[group] = part
        self.n_left -= 1
        self.empty.discard(part)
        before = max(0.0, -self.lacking[part])
        self.lacking[part] -= self.sizes[group]
        self.overfull += max(0.0, -self.lacking[part]) - before
        for k, count in self.rows[group]:
            self.have[part][k] += count
            self.dealt[k] += count

    def may_go(self, group: int, part: int) -> bool:
        over = max(0.0, self.sizes[group] - self.lacking[part])
        # 1e-9: a tenth of ten rows is not quite one row in floating point.
        return self.lacking[part] > 1e-9 and self.overfull + over <= self.largest + 1e-9

    def open_to(self, group: int) -> list[int]:
        every = range(len(self.fractions))
        if min(self.lacking) >= self.largest:
            return list(every)
        return [part for part in every if self.may_go(group, part)]

    def choose(self, group: int, chance: float) -> int:
        open_parts = self.open_to(group)
        if not open_parts:
            return int(np.argmax(self.lacking))
        if self.n_left <= len(self.empty):
            open_parts = [part for part in open_parts if part in self.empty] or open_parts
        rows = self.rows[group]
        wants = [max(0.0, self._want(rows, part)) for part in open_parts]
        aim = chance * sum(wants)
        if aim == 0.0:
            return max(open_parts, key=self.lacking.__getitem__)
        for part, want in zip(open_parts, wants, strict=True):
            aim -= want
            if aim < 0:
                return part
        return open_parts[int(np.argmax(wants))]

    def _want(self, rows: list[tuple[int, int]], part: int) -> float:
        """Return how far this part is behind its share, were the group dealt; each class counts alike.

        The part of the largest value is the one that lowers the sum of squared differences, over the classes' sizes,
        the most.
        """
        fraction, have = self.fractions[part], self.have[part]
        return sum(count * (fraction * (self.dealt[k] + count) - have[k]) / self.n_rows[k] for k, count in rows)


def _one_of_each_class(deal: _Deal, order: IntArray) -> list[int]:
    """Choose groups for the first part until it has every class, is full, or the other parts would get none."""
    n_groups_with: dict[int, int] = {}
    smallest: dict[int, int] = {}
    for group in order.tolist():  # largest first: the last to be written is a smallest
        for k, _ in deal.rows[group]:
            n_groups_with[k] = n_groups_with.get(k, 0) + 1
            smallest[k] = group
    known: set[int] = set()
    chosen: list[int] = []
    room = deal.lacking[0]
    for k in sorted(smallest, key=lambda k: (n_groups_with[k], k)):
        enough_for_others = len(chosen) + len(deal.fractions) <= len(order)
        if k not in known and room > 1e-9 and enough_for_others:
            chosen.append(smallest[k])
            room -= deal.sizes[smallest[k]]
            known.update(other for other, _ in deal.rows[smallest[k]])
    return chosen
