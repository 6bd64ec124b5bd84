"""Assign a batch: who answers each item, under capacity, a largest share of questions and a budget."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, names, numbers
from defero.core.checks.options import one_of
from defero.core.errors import InputError
from defero.core.results import MODEL, Assignment
from defero.decide.assigning.chains import Chains, least_prices
from defero.decide.assigning.exact import Solved, solve_exactly
from defero.decide.assigning.limits import Limits
from defero.decide.assigning.pricing import SAME, node_bounds, solve_by_prices, spread
from defero.decide.terms import TeamTerms, Terms, checked

MOST_EXACT, MOST_EXACT_WITH_MONEY = 40_000, 1_000
"""Up to so many pairs of item and expert the linear program is solved, and with a budget the mixed-integer one."""
_METHODS = ("auto", "exact", "prices")
_UNUSED = ("error_cost", "cost_matrix", "absent", "available", "prices")
"""Terms that are in the gains already."""


def assign(
    gain: ArrayLike,
    *,
    terms: Terms | TeamTerms | None = None,
    answer_cost: ArrayLike | None = None,
    expert_names: ArrayLike | None = None,
    label: ArrayLike | None = None,
    method: str = "auto",
) -> Assignment:
    """Choose who answers each item of a batch, so that the total gain is largest and no limit is exceeded.

    Parameters
    ----------
    gain : (n, J)
        Of asking expert j over the model's answer, in the unit of the costs, fees counted; -inf where an expert
        cannot be asked. `Team.gains` has them.
    terms : Terms, optional
        The limits: `capacity`, `at_most_asked`, and a `budget` with the `fees` that count toward it.
    answer_cost : (n,), optional
        Expected cost of the model's answer; 0 by default, so that expected costs are gains with a minus sign.
    expert_names : J names, optional
    label : (n,), optional
        What the model answers; the assignment has it where the model decides.
    method : "auto", "exact" or "prices"
        "exact" is a linear program (with a budget a mixed-integer one); "prices" is fast on large batches, and
        `Assignment.gap` says how far it can be from the best. "auto" takes "exact" for small batches.

    Returns
    -------
    Assignment

    Raises
    ------
    InputError
        Where the limits cannot be met together.

    Examples
    --------
    >>> gain = [[0.4, 0.3], [0.5, 0.1], [0.2, -0.1]]
    >>> batch = assign(gain, terms=Terms(capacity={"ann": 1}), expert_names=["ann", "bob"])
    >>> batch.name.tolist(), batch.prices.round(2).tolist()
    (['bob', 'ann', 'model'], [0.2, 0.0])
    >>> batch.sentences()
    ['One more question to ann would save 0.20.']
    """
    one_of("method", method, _METHODS)
    gain = _gains(gain)
    n_items, n_experts = gain.shape
    who = names("expert_names", expert_names, count=n_experts)
    limits = Limits.of(np.isfinite(gain), checked(terms, who, np.arange(1), unused=_UNUSED))
    small = gain.size <= (MOST_EXACT if limits.fees is None else MOST_EXACT_WITH_MONEY)
    if method == "exact" or (method == "auto" and small):
        solved = _with_least_prices(gain, limits, solve_exactly(gain, limits))
    else:
        solved = solve_by_prices(gain, limits)
    solved = with_marginal_money(gain, limits, solved)
    asked_idx = np.flatnonzero(solved.expert != MODEL)
    own = np.zeros(n_items)
    own[asked_idx] = gain[asked_idx, solved.expert[asked_idx]]
    cost = np.zeros(n_items) if answer_cost is None else numbers("answer_cost", answer_cost, n_items=n_items)
    gap = max(solved.bound - float(own.sum()), 0.0)
    return Assignment(
        solved.expert,
        who,
        cost,
        cost - own,
        solved.prices,
        solved.deferral_price,
        solved.money_price,
        0.0 if gap <= 1e-9 * max(abs(solved.bound), 1e-300) else gap,
        None if label is None else np.asarray(label),
        limit_that_binds(gain, limits, solved.expert),
    )


def _gains(gains: ArrayLike) -> FloatArray:
    try:
        gain = np.asarray(gains, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers of shape (n, J): {error}.", argument="gain") from error
    if gain.ndim != 2:
        raise InputError(f"must have two axes (n, J), one column per expert, got {gain.shape}.", argument="gain")
    if gain.size and (np.isnan(gain.sum()) or gain.max() == np.inf) and not (gain < np.inf).all():
        row, column = np.argwhere(~(gain < np.inf))[0]
        raise InputError(
            f"must be numbers, -inf where an expert cannot be asked, got {gain[row, column]} at row {row}, "
            f"column {column}.",
            argument="gain",
        )
    return gain


def _with_least_prices(gain: FloatArray, limits: Limits, solved: Solved) -> Solved:
    """Return exact prices, what one more question saves; with a budget that binds those of the linear program."""
    if solved.money_price > 0 or not gain.size:
        return solved
    node = np.where(solved.expert == MODEL, gain.shape[1], solved.expert)
    chains = Chains(gain, node, node_bounds(limits, len(gain)), tolerance=SAME * spread(gain))
    prices, question, _ = least_prices(chains)
    return solved._replace(prices=prices, deferral_price=question)


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
        asked_idx = np.flatnonzero(expert != MODEL)
        own, paid = np.zeros((2, len(expert)))
        own[asked_idx], paid[asked_idx] = net[asked_idx, expert[asked_idx]], fees[asked_idx, expert[asked_idx]]
        more = fees - paid[:, None]
        dearer = more > 0
        best = max(best, float(((net - own[:, None])[dearer] / more[dearer]).max(initial=0.0)))
    return solved._replace(money_price=min(solved.money_price, best))
