"""A large batch by prices: balance the loads, then mend what is left over by the cheapest chains of moves."""

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.results import MODEL
from defero.decisions.assigning.chains import Bounds, Chains, least_prices
from defero.decisions.assigning.exact import Solved
from defero.decisions.assigning.limits import Limits
from defero.decisions.assigning.money import spent, within_budget
from defero.decisions.assigning.pricing import (
    NOISE,
    Batch,
    Prices,
    balance,
    choices,
    dual_bound,
    find_prices,
    spread,
)

NEAR = 100_000
"""So many items, those next to a change of decider, settle the prices and the loads."""
SAME = 1e-12
"""Gains closer than this share of their spread are equal."""
_MOST_REPAIRS, _MOST_MOVES = 3_000, 500
"""Chains that are moved at most among the items next to a change, to meet the limits, and once they are met."""


def solve_by_prices(value: FloatArray, limits: Limits, *, seed: int = 0) -> Solved:
    """Return an assignment within the limits, close to the best one, its prices, and a bound on the best one's gain."""
    batch = Batch(value, limits, spread(value), seed=seed)
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


def _settled(batch: Batch, prices: Prices) -> tuple[IntArray, Prices]:
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
