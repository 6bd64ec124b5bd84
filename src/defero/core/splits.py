"""Split the rows of a table into disjoint parts, at random, by group, or by time; or draw a sample of them."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import IntArray
from defero.core.errors import InputError
from defero.core.labels import refuse_gaps
from defero.core.order import in_order_of_appearance


class SplitError(InputError):
    """Rows cannot be split as requested; the reason, and what to do.

    >>> str(SplitError("groups", "3 groups cannot fill 4 parts", advice="ask for fewer parts"))
    'groups: 3 groups cannot fill 4 parts; ask for fewer parts.'
    """

    def __init__(self, argument: str, reason: str, *, advice: str | None = None) -> None:
        super().__init__(f": {reason}{'' if advice is None else f'; {advice}'}.", argument=argument)
        self.reason, self.advice = reason, advice


Parts = tuple[IntArray, ...]
Column = NDArray[Any]


def split_rows(strata: IntArray, fractions: tuple[float, ...], *, rng: np.random.Generator) -> Parts:
    """Split the rows at random into parts of the given sizes, stratified.

    The first part gets at least one row of each stratum, so that a model fitted on it has every class.

    Parameters
    ----------
    strata : (n,) int
        The class of each row.
    fractions : sequence of float
        Sizes of the parts; they add up to 1.
    rng : numpy.random.Generator

    Returns
    -------
    tuple of (n_part,) int arrays, sorted; together they hold every row once.

    >>> first, second = split_rows(np.array([0, 0, 0, 0, 1]), (0.5, 0.5), rng=np.random.default_rng(0))
    >>> sorted([*first.tolist(), *second.tolist()])
    [0, 1, 2, 3, 4]
    """
    _check_fractions(fractions)
    parts: list[list[IntArray]] = [[] for _ in fractions]
    for stratum in np.unique(strata):
        rows = rng.permutation(np.flatnonzero(strata == stratum))
        cuts = np.floor(np.cumsum(fractions)[:-1] * len(rows) + rng.random()).astype(np.int64)
        cuts = np.clip(cuts, 1, len(rows))
        for part, chunk in zip(parts, np.split(rows, cuts), strict=True):
            part.append(chunk)
    return tuple(np.sort(np.concatenate(part)) if part else np.empty(0, np.int64) for part in parts)


def split_groups(groups: Column, strata: IntArray, fractions: tuple[float, ...], *, rng: np.random.Generator) -> Parts:
    """Split whole groups into parts: all rows of a group go to the same part.

    The size of each part differs from the requested one by at most the largest group; classes are stratified as far as
    groups allow (see `deal_groups`). The first part gets rows of each class if its size allows.

    Parameters
    ----------
    groups : (n,)
        The group of each row, such as a patient or a lesion; none missing.
    strata : (n,) int
        The class of each row.
    fractions : sequence of float
        Sizes of the parts; they add up to 1.
    rng : numpy.random.Generator

    Returns
    -------
    tuple of (n_part,) int arrays, sorted; together they hold every row once. None is empty.

    >>> groups = np.array(["ann", "ann", "bob", "cem", "cem", "dot"])
    >>> first, second = split_groups(groups, np.zeros(6, int), (0.5, 0.5), rng=np.random.default_rng(0))
    >>> set(groups[first]) & set(groups[second])
    set()
    """
    _check_fractions(fractions)
    group_idx = _numbered("groups", groups)
    n_groups = int(group_idx.max(initial=-1)) + 1
    if n_groups < len(fractions):
        raise SplitError(
            "groups", f"{n_groups} groups cannot fill {len(fractions)} parts", advice="ask for fewer parts"
        )
    part_of = deal_groups(group_idx, strata, fractions, rng=rng)
    parts = tuple(np.flatnonzero(part_of[group_idx] == part) for part in range(len(fractions)))
    empty = next((place for place, part in enumerate(parts) if not len(part)), None)
    if empty is not None:
        raise SplitError(
            "groups",
            f"{n_groups} groups, the largest of {np.bincount(group_idx).max()} rows, left none for part {empty + 1} of "
            f"size {fractions[empty]:g}",
            advice="ask for larger or fewer parts",
        )
    return parts


def split_by_time(times: Column, fractions: tuple[float, ...]) -> Parts:
    """Split the rows by time: all rows of a part are earlier than those of the next.

    Rows of equal time go to the same part, so each cut is moved to the nearest change of time.

    Parameters
    ----------
    times : (n,) numbers or dates
        Time of each row; none missing. Text raises, since "3/1/2020" sorts before "4/1/2019".
    fractions : sequence of float
        Sizes of the parts from the earliest on; they add up to 1.

    Returns
    -------
    tuple of (n_part,) int arrays, sorted; together they hold every row once. None is empty.

    >>> split_by_time(np.array([2019, 2020, 2018, 2020]), (0.5, 0.5))
    (array([0, 2]), array([1, 3]))
    """
    _check_fractions(fractions)
    _check_times(times)
    try:
        moments, moment_idx = np.unique(times, return_inverse=True)
    except TypeError as error:
        raise InputError(
            f"must be of one type (all numbers or all dates), got a mixture: {error}.", argument="times"
        ) from error
    ends = np.concatenate([[0], np.cumsum(np.bincount(moment_idx))])
    wishes = np.cumsum(fractions)[:-1] * len(times)
    cuts = [int(np.abs(ends - wish).argmin()) for wish in wishes]
    edges = [0, *cuts, len(moments)]
    empty = next((part for part in range(len(fractions)) if edges[part] >= edges[part + 1]), None)
    if empty is not None:
        raise SplitError(
            "times",
            f"rows of equal time stay together, which leaves none for part {empty + 1} of size {fractions[empty]:g} "
            f"({len(times)} rows have {len(moments)} different times)",
            advice="ask for larger or fewer parts, or pass finer times",
        )
    return tuple(np.flatnonzero((moment_idx >= low) & (moment_idx < high)) for low, high in pairwise(edges))


def split_in_order(
    order: IntArray,
    label_idx: IntArray,
    fractions: tuple[float, ...],
    *,
    rng: np.random.Generator,
    groups: Column | None = None,
) -> Parts:
    """Split rows as `split_rows` does, or `split_groups` where there are groups, once they are in an order.

    Parameters
    ----------
    order : (m,) int
        The rows to split, such as `row_order` puts them: then no part depends on the order of the table.
    label_idx, groups : (n,)
        Of all rows.
    fractions, rng
        As in `split_rows`.

    Returns
    -------
    tuple of (m_part,) int arrays, sorted.
    """
    strata = in_order_of_appearance(label_idx[order])
    if groups is None:
        parts = split_rows(strata, fractions, rng=rng)
    else:
        refuse_gaps(groups, name="groups")  # here a message can still name the row
        parts = split_groups(groups[order], strata, fractions, rng=rng)
    return tuple(np.sort(order[part]) for part in parts)


def refuse_shared_groups(groups: Column, parts: Parts) -> None:
    """Raise if a group is in two parts.

    >>> refuse_shared_groups(np.array(["ann", "bob", "ann"]), (np.array([0, 2]), np.array([1])))
    """
    part_of: dict[object, int] = {}
    for p, part in enumerate(parts):
        for group in dict.fromkeys(groups[part].tolist()):
            if part_of.setdefault(group, p) != p:
                raise SplitError(
                    "groups",
                    f"{group} is in parts {part_of[group] + 1} and {p + 1}; a group must be in one part only",
                )


def _check_fractions(fractions: tuple[float, ...]) -> None:
    if not fractions or any(not 0 < part <= 1 for part in fractions) or not math.isclose(sum(fractions), 1.0):
        raise InputError(
            f"must be positive and add up to 1, got {', '.join(f'{part:g}' for part in fractions) or 'none'} "
            f"(sum {sum(fractions):g}).",
            argument="fractions",
        )


def _check_times(times: Column) -> None:
    refuse_gaps(times, name="times")
    if times.dtype.kind not in "OUS":
        return
    text = next((row for row, time in enumerate(times.tolist()) if isinstance(time, str | bytes)), None)
    if text is not None:
        raise InputError(
            f"must be numbers or dates, got the text {times[text]!s} in row {text}; "
            "convert it to dates first (numpy.datetime64, pandas.to_datetime).",
            argument="times",
        )


def _numbered(name: str, values: Column) -> IntArray:
    """Return the index of each distinct value, in the order of their first rows."""
    refuse_gaps(values, name=name)
    number: dict[object, int] = {}
    try:
        return np.fromiter((number.setdefault(value, len(number)) for value in values.tolist()), np.int64, len(values))
    except TypeError as error:
        raise InputError(f"must be text or numbers, got a cell that is neither: {error}.", argument=name) from error


def sample_rows(n_rows: int, most: int) -> IntArray:
    """Return at most `most` of the row numbers, ascending, drawn at random with a seed of its own.

    Every second row would be one half of a table that alternates, such as left eye and right eye.

    Examples
    --------
    >>> sample_rows(3, 5).tolist(), len(sample_rows(1_000, 10))
    ([0, 1, 2], 10)
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


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
