"""Prices of a large batch: each item goes where its gain minus the price is largest, and the prices balance the loads.

The dual of the assignment, sum_i max(0, max_j v_ij - price_ij) + sum_j limit_j |mu_j| + ..., is convex in a few
prices. Its subgradient is load minus limit. Only signs of it are used, with a step of its own for every price that
grows while the sign stays and halves when it turns.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.results import MODEL
from defero.decide.assigning.chains import Bounds, Chains, least_prices
from defero.decide.assigning.limits import Limits, Solved, spent, within_budget

SAMPLE = 50_000
"""Prices are first found on so many items, drawn at random."""
NOISE = (1e-3, 1e-5)
"""Ties are broken by noise of this share of the gains' spread, the finer one once prices are close."""
_STEPS = 100
_ROWS_AT_ONCE = 50_000


@dataclass(frozen=True, eq=False)
class Prices:
    """What is charged for a question beyond its fee.

    Attributes
    ----------
    expert : (J,)
        For each expert; negative where the lower limit binds.
    question : float
        For any question.
    money : float
        For each unit of money spent.
    """

    expert: FloatArray
    question: float = 0.0
    money: float = 0.0

    def net(self, value: FloatArray, fees: FloatArray | None) -> FloatArray:
        """Return the gains (m, J) minus the prices."""
        net = value - (self.expert + self.question)
        return net if fees is None or self.money == 0 else net - self.money * fees

    def vector(self) -> FloatArray:
        """Return the prices as one array, (J + 2,)."""
        return np.concatenate([self.expert, [self.question, self.money]])

    @classmethod
    def of_vector(cls, vector: FloatArray) -> "Prices":
        """Return the prices in an array, (J + 2,)."""
        return cls(vector[:-2], float(vector[-2]), float(vector[-1]))


@dataclass(frozen=True, eq=False)
class NoisyGains:
    """The gains of n items, a little changed at random so that no two are equal, piece by piece.

    Attributes
    ----------
    value : (n, J)
    limits : Limits
    scale : float
        The spread of the gains.
    noise : float
        Share of it that is added at most.
    seed : int
    """

    value: FloatArray
    limits: Limits
    scale: float
    noise: float = NOISE[-1]
    seed: int = 0

    def pieces(self) -> Iterator[tuple[slice, FloatArray, FloatArray | None]]:
        """Go through the items: which ones, their changed gains, their fees."""
        fees = self.limits.fees
        for start in range(0, len(self.value), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            own = self.value[rows]
            changed = np.random.default_rng([self.seed, start]).random(own.shape)
            changed *= self.noise * self.scale
            changed += own
            yield rows, changed, None if fees is None else fees[rows]

    def take(self, rows: IntArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the changed gains of some items, in ascending order, and their fees."""
        parts = [
            changed[rows[(rows >= one.start) & (rows < one.stop)] - one.start] for one, changed, _ in self.pieces()
        ]
        return np.concatenate(parts), None if self.limits.fees is None else self.limits.fees[rows]

    def choose(self, prices: Prices) -> tuple[IntArray, FloatArray]:
        """Return who has the largest gain minus price, (n,), an expert or J for the model, and their lead, (n,)."""
        n_items, n_experts = self.value.shape
        node, lead = np.full(n_items, n_experts), np.zeros(n_items)
        for rows, changed, fees in self.pieces():
            net = np.zeros((len(changed), n_experts + 1))
            net[:, :-1] = prices.net(changed, fees)
            node[rows] = net.argmax(axis=1)
            net.partition(n_experts - 1, axis=1)
            lead[rows] = net[:, -1] - net[:, -2]
        return node, lead


def find_prices(batch: NoisyGains, rng: np.random.Generator) -> Prices:
    """Return prices that balance the loads of n items, found on a sample of them."""
    n_items, n_experts = batch.value.shape
    rows = np.arange(n_items) if n_items <= SAMPLE else np.sort(rng.choice(n_items, SAMPLE, replace=False))
    limits = batch.limits.scaled(n_items, len(rows), None if batch.limits.fees is None else batch.limits.fees[rows])
    prices, first = Prices(np.zeros(n_experts)), 0.3
    for noise in NOISE:
        noisy = batch.value[rows] + noise * batch.scale * rng.random((len(rows), n_experts))
        prices = balance(noisy, limits, prices, step=first * batch.scale, least_step=0.01 * noise * batch.scale)
        first = 10 * noise
    return prices


def balance(value: FloatArray, limits: Limits, prices: Prices, *, step: float, least_step: float) -> Prices:
    """Move prices until loads are within their limits, or prices above 0 at them."""
    vector, n_experts = prices.vector(), value.shape[1]
    # Money has its own unit: a price of it that is worth one step to a question of the mean fee.
    unit = 1.0 if limits.fees is None else 1 / max(float(np.abs(limits.fees).mean()), 1e-300)
    steps = np.full(n_experts + 2, step)
    steps[-1] *= unit
    least = np.full(n_experts + 2, least_step)
    least[-1] *= unit
    before = np.zeros(n_experts + 2)
    for _ in range(_STEPS):
        way = direction(value, limits, Prices.of_vector(vector))
        steps = np.where(way * before > 0, 1.3 * steps, np.where(way * before < 0, 0.5 * steps, steps))
        if (steps < least)[way != 0].all():
            break
        moved = vector + way * steps
        # A price stops at 0 on its way back: from there on its limit need not bind.
        back = (vector * way < 0) & (moved * vector < 0)
        vector, before = np.where(back, 0.0, moved), way
        vector[-2:] = np.maximum(vector[-2:], 0.0)
    return Prices.of_vector(vector)


def direction(value: FloatArray, limits: Limits, prices: Prices) -> FloatArray:
    """Return which way each price should go, (J + 2,): 1 up, -1 down, 0 stay."""
    expert = choices(value, limits.fees, prices)
    n_experts = value.shape[1]
    asked_idx = np.flatnonzero(expert < n_experts)
    load = np.bincount(expert, minlength=n_experts + 1)[:-1]
    money = 0.0 if limits.fees is None else float(limits.fees[asked_idx, expert[asked_idx]].sum())
    count = np.concatenate([load, [len(asked_idx), money]])
    most = np.concatenate([limits.upper, [limits.most_deferred, limits.budget]])
    fewest = np.concatenate([limits.lower, [0, -np.inf]])
    vector = prices.vector()
    back = np.where((vector > 0) & (count < most), -1.0, np.where((vector < 0) & (count > fewest), 1.0, 0.0))
    return np.where(count > most, 1.0, np.where(count < fewest, -1.0, back))


def choices(value: FloatArray, fees: FloatArray | None, prices: Prices) -> IntArray:
    """Return who has the largest gain minus price, (m,): an expert, or J for the model."""
    net = prices.net(value, fees)
    if not value.shape[1]:
        return np.zeros(len(value), dtype=np.int64)
    best = net.argmax(axis=1)
    return np.where(net[np.arange(len(net)), best] > 0, best, value.shape[1])


def dual_bound(value: FloatArray, limits: Limits, prices: Prices) -> float:
    """Return the dual at these prices: no assignment within the limits gains more."""
    total = 0.0
    for start in range(0, len(value), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        net = prices.net(value[rows], None if limits.fees is None else limits.fees[rows])
        total += float(np.maximum(net.max(axis=1, initial=0.0), 0.0).sum())
    own = np.where(prices.expert > 0, limits.upper, limits.lower) * prices.expert
    money = prices.money * limits.budget if prices.money else 0.0
    return total + float(own.sum()) + prices.question * limits.most_deferred + money


def spread(value: FloatArray) -> float:
    """Return the size of the gains: half of the range of what can be gained or lost."""
    finite = value[np.isfinite(value)]
    return max(float(finite.max(initial=0.0) - finite.min(initial=0.0)) / 2, 1e-12)


NEAR = 100_000
"""So many items, those next to a change of decider, settle the prices and the loads."""
SAME = 1e-12
"""Gains closer than this share of their spread are equal."""
_MOST_REPAIRS, _MOST_MOVES = 3_000, 500
"""Chains that are moved at most among the items next to a change, to meet the limits, and once they are met."""


def solve_by_prices(value: FloatArray, limits: Limits, *, seed: int = 0) -> Solved:
    """Return an assignment within the limits, close to the best one, its prices, and a bound on the best one's gain."""
    batch = NoisyGains(value, limits, spread(value), seed=seed)
    prices = find_prices(batch, np.random.default_rng(seed))
    node, prices = _settled(batch, prices)
    bounds, tolerance = node_bounds(limits, len(value)), SAME * batch.scale
    net = value if limits.fees is None or prices.money == 0 else value - prices.money * limits.fees
    chains = Chains(net, node, bounds, tolerance=tolerance)
    if not chains.meet_bounds():
        raise InputError(": the lower limits cannot be met together.", argument="capacity")
    chains.improve(most=_MOST_MOVES)
    own, any_question, most = least_prices(chains)
    bound, own_bound = (dual_bound(value, limits, one) for one in (prices, Prices(own, most, prices.money)))
    if own_bound <= bound:
        prices, bound = Prices(own, any_question, prices.money), own_bound
    node = chains.node
    if limits.fees is not None and np.isfinite(limits.budget):
        node = within_budget(value, node, limits, bounds, money_price=prices.money, tolerance=tolerance)
    expert = np.where(node == value.shape[1], MODEL, node)
    return Solved(expert, prices.expert, prices.question, prices.money, bound)


def node_bounds(limits: Limits, n_items: int) -> Bounds:
    """Return the fewest and the most items of each expert, and of the model."""
    return Bounds(np.append(limits.lower, n_items - limits.most_deferred), np.append(limits.upper, n_items))


def _settled(batch: NoisyGains, prices: Prices) -> tuple[IntArray, Prices]:
    """Return who has each item, (n,), and the prices, balanced on the items next to a change of decider."""
    value, limits, n_experts = batch.value, batch.limits, batch.value.shape[1]
    node, lead = batch.choose(prices)
    near = np.arange(len(value)) if len(value) <= NEAR else np.sort(np.argpartition(lead, NEAR)[:NEAR])
    far = np.ones(len(value), dtype=np.bool_)
    far[near] = False
    load = np.bincount(node[far], minlength=n_experts + 1)[:-1]
    changed, fees = batch.take(near)
    money = 0.0 if limits.fees is None else spent(node[far], limits.fees[far])
    left = limits.less(load, money, fees)
    coarse, fine = (noise * batch.scale for noise in NOISE)
    prices = balance(changed, left, prices, step=coarse, least_step=0.01 * fine)
    node[near] = choices(changed, fees, prices)
    net = value[near] if fees is None or prices.money == 0 else value[near] - prices.money * fees
    chains = Chains(net, node[near], node_bounds(left, len(near)), tolerance=SAME * batch.scale)
    chains.meet_bounds(most=_MOST_REPAIRS)
    chains.improve(most=_MOST_MOVES)
    node[near] = chains.node
    return node, prices
