"""Limits of a batch: capacity of each expert, how many questions in all, how much money; keeping within a budget."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, by_name, probability, whole_number
from defero.core.errors import Argument, InputError
from defero.core.wording import count_of, join_names
from defero.decide.assigning.chains import Bounds, Chains
from defero.decide.terms import Capacity, TeamTerms

_MOST_KINDS = 20_000
"""With more kinds of cases, by who can be asked, only the assignment itself shows that lower limits collide."""


@dataclass(frozen=True, eq=False)
class Limits:
    """How many questions each of J experts gets, how many are asked in all, and what they may cost.

    Attributes
    ----------
    lower, upper : (J,) int
        Fewest and most questions of each expert.
    most_deferred : int
        Most questions in all.
    fees : (n, J), optional
        What each question costs in money; None without a budget.
    budget : float
        Most money in all.
    """

    lower: IntArray
    upper: IntArray
    most_deferred: int
    fees: FloatArray | None = None
    budget: float = np.inf

    @classmethod
    def of(cls, can: BoolArray, terms: TeamTerms) -> "Limits":
        """Check the limits of n items, of which expert j can be asked about those in `can` (n, J).

        Raises where they cannot be met together.
        """
        n_items, budget = len(can), terms.budget
        lower, upper = capacity_of(terms.capacity, terms.expert_names, n_items=n_items)
        most = n_items
        if terms.at_most_asked is not None:
            most = most_asked(terms.at_most_asked, n_items)
        limits = cls(lower, upper, most)
        if budget is not None:
            if terms.fees is None:
                raise InputError(f"needs {Argument('fees')}: what each question costs.", argument="budget")
            if not (np.isfinite(budget) and budget >= 0):
                raise InputError(f"must be a number of at least 0, got {budget}.", argument="budget")
            limits = cls(lower, upper, most, terms.paid(n_items), float(budget))
        limits._check(can, terms.expert_names, terms.at_most_asked)
        return limits

    def _check(self, can: BoolArray, expert_names: tuple[str, ...], at_most_asked: float | None) -> None:
        n_items, asked_for = len(can), int(self.lower.sum())
        if asked_for > self.most_deferred:
            share: tuple[object, ...] = (f"there are {count_of(n_items, 'case')}",)
            if at_most_asked is not None:
                questions = count_of(self.most_deferred, "question")
                share = (Argument("at_most_asked", at_most_asked), f" allows {questions} for {n_items:,} cases")
            raise InputError(": ", *share, f", lower limits ask for {asked_for:,}.", argument="capacity")
        short = np.flatnonzero(can.sum(axis=0) < self.lower)
        if short.size:
            j = int(short[0])
            raise InputError(
                f": {expert_names[j]} can be asked about {count_of(int(can[:, j].sum()), 'case')}, "
                f"the lower limit asks for {self.lower[j]:,}.",
                argument="capacity",
            )
        self._check_together(can, expert_names)
        if self.fees is not None:
            least = cheapest_lower_limits(self.fees, can, self.lower)
            if least > self.budget * (1 + 1e-12):
                raise InputError(
                    f"allows {self.budget:,.6g}, but the questions that lower limits ask for cost {least:,.6g}.",
                    argument="budget",
                )

    def _check_together(self, can: BoolArray, expert_names: tuple[str, ...]) -> None:
        """Refuse lower limits that each expert could meet, but not all of them on the same cases."""
        needed_idx = np.flatnonzero(self.lower)
        if len(needed_idx) < 2 or can[:, needed_idx].all():
            return
        packed, counts = np.unique(np.packbits(can[:, needed_idx], axis=1), axis=0, return_counts=True)
        if len(packed) > _MOST_KINDS:
            return
        kinds = np.unpackbits(packed, axis=1, count=len(needed_idx)).astype(np.bool_)
        short = short_together(kinds, counts, self.lower[needed_idx])
        if short.size:
            who = join_names([expert_names[j] for j in needed_idx[short]])
            n_cases = int(counts[kinds[:, short].any(axis=1)].sum())
            raise InputError(
                f": {who} can be asked about {count_of(n_cases, 'case')} together, their lower limits ask for "
                f"{int(self.lower[needed_idx[short]].sum()):,}.",
                argument="capacity",
            )

    def scaled(self, n_items: int, n_rows: int, fees: FloatArray | None) -> "Limits":
        """Return the limits of `n_rows` rows drawn from all `n_items`, which have these fees."""
        share = n_rows / max(n_items, 1)
        lower, upper = (np.rint(one * share).astype(np.int64) for one in (self.lower, self.upper))
        return Limits(lower, upper, round(self.most_deferred * share), fees, self.budget * share)

    def less(self, load: IntArray, money: float, fees: FloatArray | None) -> "Limits":
        """Return what is left of the limits when each expert has some questions already, (J,), of so much money."""
        left = self.most_deferred - int(load.sum())
        return Limits(self.lower - load, self.upper - load, left, fees, self.budget - money)


class Solved(NamedTuple):
    """Who answers each item (n,), the prices of experts (J,), of any question and of money, and a bound on the gain."""

    expert: IntArray
    prices: FloatArray
    deferral_price: float
    money_price: float
    bound: float


def most_asked(share: float, n_items: int) -> int:
    """Return how many of n items are at most this share.

    >>> most_asked(0.29, 100)  # 0.29 * 100 is 28.999999999999996
    29
    """
    return int(np.floor(probability("at_most_asked", share) * n_items + 1e-9))


def capacity_of(capacity: Capacity | None, expert_names: tuple[str, ...], *, n_items: int) -> tuple[IntArray, IntArray]:
    """Return the fewest and the most questions of each expert, (J,) each.

    >>> lower, upper = capacity_of({"ann": (2, 40), "bob": 5}, ("ann", "bob", "cem"), n_items=100)
    >>> lower.tolist(), upper.tolist()
    ([2, 0, 0], [40, 5, 100])
    """
    if capacity is None:
        return np.zeros(len(expert_names), dtype=np.int64), np.full(len(expert_names), n_items)
    pairs: Any = by_name("capacity", capacity, expert_names, default=None)
    if isinstance(pairs, np.ndarray):
        pairs = pairs.tolist()
    if not isinstance(pairs, list | tuple) or len(pairs) != len(expert_names):
        raise InputError(
            f"must be {{name: most}} or {{name: (fewest, most)}}, or one entry for each of {len(expert_names)} "
            f"experts, got {capacity!r}.",
            argument="capacity",
        )
    limits = [_pair(name, one, n_items) for name, one in zip(expert_names, pairs, strict=True)]
    lower, upper = np.array(limits, dtype=np.int64).reshape(-1, 2).T
    return lower, upper


def _pair(name: str, value: Any, n_items: int) -> tuple[int, int]:
    fewest, most = value if isinstance(value, list | tuple) and len(value) == 2 else (0, value)
    try:
        low = whole_number("capacity", 0 if fewest is None else fewest, least=0)
        high = n_items if most is None else min(whole_number("capacity", most, least=0), max(n_items, low))
    except InputError as error:
        raise InputError(
            f": {name} must have a whole number of questions, or (fewest, most), got {value!r}.", argument="capacity"
        ) from error
    if most is not None and most < low:
        raise InputError(
            f"of {name} allows {count_of(int(most), 'question')}, the lower limit asks for {low:,}.",
            argument="capacity",
        )
    return low, high


def short_together(kinds: BoolArray, counts: IntArray, lower: IntArray) -> IntArray:
    """Return experts whose lower limits cannot be met together; none where all can.

    Parameters
    ----------
    kinds : (m, J) bool
        Kinds of items: who can be asked about them.
    counts : (m,)
        How many items there are of each kind.
    lower : (J,)

    Examples
    --------
    >>> short_together(np.array([[True, True]]), np.array([5]), np.array([3, 3])).tolist()
    [0, 1]
    """
    from scipy.sparse import csr_array  # here: it costs 0.1 s, and few routes have limits
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n_kinds, n_experts = kinds.shape
    source, sink = 0, 1 + n_experts + n_kinds
    kind, expert = np.nonzero(kinds)
    start = np.concatenate([np.zeros(n_experts, int), 1 + expert, 1 + n_experts + np.arange(n_kinds)])
    end = np.concatenate([1 + np.arange(n_experts), 1 + n_experts + kind, np.full(n_kinds, sink)])
    room = np.concatenate([lower, np.full(len(kind), counts.sum()), counts]).astype(np.int32)
    graph = csr_array((room, (start, end)), shape=(sink + 1, sink + 1), dtype=np.int32)
    # Older scipy (1.13, 1.14) takes graphs with 32-bit indices alone.
    graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    result = maximum_flow(graph, source, sink)
    if result.flow_value == lower.sum():
        return np.empty(0, dtype=np.int64)
    # Experts who can be reached where the flow is stuck: together they ask for more than there is.
    left = graph - result.flow
    left.data = (left.data > 0).astype(np.int32)
    left.eliminate_zeros()
    reached = breadth_first_order(left, source, return_predecessors=False)
    return np.sort(reached[(reached > 0) & (reached <= n_experts)] - 1).astype(np.int64)


def cheapest_lower_limits(fees: FloatArray, can: BoolArray, lower: IntArray) -> float:
    """Return what the lower limits cost at least: each expert's cheapest cases, even where two would need the same."""
    total = 0.0
    for j in np.flatnonzero(lower):
        total += float(np.sort(fees[can[:, j], j])[: lower[j]].sum())
    return total


_DEARER = 60
"""So often the price of money doubles before lower limits count as too dear."""
_TRIED = 5_000
"""So many questions, those that gain most for their fee, are tried with the money that is left."""


def spent(node: IntArray, fees: FloatArray) -> float:
    """Return what the questions of an assignment cost; J is the model."""
    asked_idx = np.flatnonzero(node < fees.shape[1])
    return float(fees[asked_idx, node[asked_idx]].sum())


def within_budget(
    value: FloatArray, node: IntArray, limits: Limits, bounds: Bounds, *, money_price: float, tolerance: float
) -> IntArray:
    """Return an assignment within the budget, from one that is within all other limits.

    Questions that gain least for their fee are dropped. Where lower limits forbid that, money becomes dearer and
    items move to cheaper experts.
    """
    assert limits.fees is not None
    price = max(money_price, tolerance)
    for _ in range(_DEARER):
        node = _cut(value, node, limits)
        if spent(node, limits.fees) <= limits.budget + 1e-9 * abs(limits.budget):
            return _fill(value, node, limits, money_price)
        price *= 2
        chains = Chains(value - price * limits.fees, node, bounds, tolerance=tolerance)
        chains.improve(most=10 * len(limits.upper) ** 2 + 1_000)
        node = chains.node
    raise InputError(f"of {limits.budget:,.6g} is too small for the lower limits.", argument="budget")


def _cut(value: FloatArray, node: IntArray, limits: Limits) -> IntArray:
    """Drop the questions that gain least for their fee until the budget holds, or lower limits forbid it."""
    fees = limits.fees
    assert fees is not None
    excess = spent(node, fees) - limits.budget
    if excess <= 0:
        return node
    n_experts = value.shape[1]
    asked_idx = np.flatnonzero(node < n_experts)
    fee = fees[asked_idx, node[asked_idx]]
    asked_idx, fee = asked_idx[fee > 0], fee[fee > 0]
    order = np.argsort(value[asked_idx, node[asked_idx]] / fee, kind="stable")
    asked_idx, fee = asked_idx[order], fee[order]
    spare = np.bincount(node, minlength=n_experts + 1)[:-1] - limits.lower
    may = np.zeros(len(asked_idx), dtype=np.bool_)
    for j in range(n_experts):
        may[np.flatnonzero(node[asked_idx] == j)[: spare[j]]] = True
    asked_idx, fee = asked_idx[may], fee[may]
    count = int(np.searchsorted(np.cumsum(fee), excess - 1e-12 * limits.budget)) + 1
    cut = node.copy()
    cut[asked_idx[:count]] = n_experts
    return cut


def _fill(value: FloatArray, node: IntArray, limits: Limits, money_price: float) -> IntArray:
    """Ask more questions with the money that is left, those first that gain most for their fee."""
    fees, n_experts = limits.fees, value.shape[1]
    assert fees is not None
    left = limits.budget - spent(node, fees)
    room = limits.upper - np.bincount(node, minlength=n_experts + 1)[:-1]
    questions = limits.most_deferred - int((node < n_experts).sum())
    free = np.flatnonzero(node == n_experts)
    may = (value[free] > 0) & (fees[free] <= left) & (room > 0)
    rows, experts = np.nonzero(may)
    worth = value[free[rows], experts] / np.maximum(fees[free[rows], experts], 1e-12)
    filled = node.copy()
    for one in np.argsort(-worth, kind="stable")[:_TRIED].tolist():
        item, j = free[rows[one]], experts[one]
        if questions > 0 and room[j] > 0 and filled[item] == n_experts and fees[item, j] <= left:
            filled[item], left = j, left - fees[item, j]
            room[j] -= 1
            questions -= 1
    return filled
