"""Limits that bind: which one keeps an item from its best question, and what a little more money would save."""

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.results import MODEL
from defero.decisions.assigning.exact import Solved
from defero.decisions.assigning.limits import Limits

_ROWS_AT_ONCE = 50_000


def limit_that_binds(value: FloatArray, limits: Limits, expert: IntArray) -> IntArray:
    """Return what keeps each item from the question that gains most, (n,), as `Assignment.limit` has it.

    Examples
    --------
    >>> limits = Limits(np.array([0]), np.array([1]), most_deferred=3)
    >>> limit_that_binds(np.array([[0.4], [0.3], [-0.1]]), limits, np.array([0, -1, -1])).tolist()
    [-1, 0, -1]
    """
    n_items, n_experts = value.shape
    limit = np.full(n_items, MODEL)
    if not value.size:
        return limit
    load = np.bincount(expert + 1, minlength=n_experts + 1)[1:]
    best = value.argmax(axis=1)
    wanted = np.flatnonzero((expert == MODEL) & (value[np.arange(n_items), best] > 0))
    full = load >= limits.upper
    other = n_experts + 1 if limits.fees is not None else MODEL
    limit[wanted] = np.where(full[best[wanted]], best[wanted], other)
    if load.sum() >= limits.most_deferred:
        limit[wanted] = n_experts
    return limit


def with_marginal_money(value: FloatArray, limits: Limits, solved: Solved) -> Solved:
    """Return prices in which that of money is what a little more of it saves.

    Many prices of money fit an assignment that uses up its budget, and with a budget of 0 any high one does. The least
    of them is what more money saves: the largest gain for its fee among the questions that the budget does not allow.
    """
    if limits.fees is None or solved.money_price <= 0:
        return solved
    best = 0.0
    for start in range(0, len(value), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        expert, fees = solved.expert[rows], limits.fees[rows]
        net = value[rows] - solved.prices - solved.deferral_price
        asked = np.flatnonzero(expert != MODEL)
        own, paid = np.zeros((2, len(expert)))
        own[asked], paid[asked] = net[asked, expert[asked]], fees[asked, expert[asked]]
        more = fees - paid[:, None]
        dearer = more > 0
        best = max(best, float(((net - own[:, None])[dearer] / more[dearer]).max(initial=0.0)))
    return solved._replace(money_price=min(solved.money_price, best))
