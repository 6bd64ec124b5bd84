"""Money: bring an assignment within a budget, and spend what is left of it."""

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.decisions.assigning.chains import Bounds, Chains
from defero.decisions.assigning.limits import Limits

_DEARER = 60
"""So often the price of money doubles before lower limits count as too dear."""
_TRIED = 5_000
"""So many questions, those that gain most for their fee, are tried with the money that is left."""


def spent(node: IntArray, fees: FloatArray) -> float:
    """Return what the questions of an assignment cost; J is the model."""
    asked = np.flatnonzero(node < fees.shape[1])
    return float(fees[asked, node[asked]].sum())


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
    asked = np.flatnonzero(node < n_experts)
    fee = fees[asked, node[asked]]
    asked, fee = asked[fee > 0], fee[fee > 0]
    order = np.argsort(value[asked, node[asked]] / fee, kind="stable")
    asked, fee = asked[order], fee[order]
    spare = np.bincount(node, minlength=n_experts + 1)[:-1] - limits.lower
    may = np.zeros(len(asked), dtype=np.bool_)
    for j in range(n_experts):
        may[np.flatnonzero(node[asked] == j)[: spare[j]]] = True
    asked, fee = asked[may], fee[may]
    count = int(np.searchsorted(np.cumsum(fee), excess - 1e-12 * limits.budget)) + 1
    cut = node.copy()
    cut[asked[:count]] = n_experts
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
