"""Assign a batch: who answers each item, under capacity, a largest share of questions and a budget."""

import ctypes
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, names, numbers, one_of
from defero.core.errors import InputError
from defero.core.results import MODEL, Assignment
from defero.decide.assigning.chains import Chains, least_prices
from defero.decide.assigning.limits import Limits, Solved
from defero.decide.assigning.pricing import SAME, node_bounds, solve_by_prices, spread
from defero.decide.terms import TeamTerms, Terms, checked

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_LOCK = Lock()
"""Standard output belongs to the whole process: two solves must not move it at once."""
_PRINTED = b"Highs"


@contextmanager
def without_solver_lines() -> Iterator[None]:
    """Drop the lines that HiGHS prints in C, whatever its options; lines that other threads print are kept.

    Programs that print JSON or CSV would break at such a line.
    """
    with _LOCK:
        try:
            standard = os.dup(1)
        except OSError:  # no standard output
            yield
            return
        with tempfile.TemporaryFile() as lines:
            _flush()
            os.dup2(lines.fileno(), 1)
            try:
                yield
            finally:
                _flush()
                os.dup2(standard, 1)
                os.close(standard)
                lines.seek(0)
                other_lines = b"".join(line for line in lines if not line.startswith(_PRINTED))
                while other_lines:
                    other_lines = other_lines[os.write(1, other_lines) :]


def _flush() -> None:
    """Write what the C library still holds."""
    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush(None)


def solve_exactly(value: FloatArray, limits: Limits) -> Solved:
    """Return the assignment with the largest total gain.

    max sum_ij a_ij v_ij, sum_j a_ij <= 1, lower_j <= sum_i a_ij <= upper_j, sum_ij a_ij <= most_deferred. Without a
    budget the vertices of this polytope are whole numbers (items and experts are two nested families of constraints).
    A budget breaks that: the prices are then those of the linear program.
    """
    from scipy.optimize import LinearConstraint, linprog, milp  # here: it costs 0.2 s, and few routes have limits

    rows, experts = np.nonzero(np.isfinite(value))
    gain = value[rows, experts]
    if not len(rows):
        return Solved(np.full(len(value), MODEL), np.zeros(value.shape[1]), 0.0, 0.0, 0.0)
    matrix, bounds = _constraints(rows, experts, value.shape, limits)
    relaxed = linprog(-gain, A_ub=matrix, b_ub=bounds, bounds=(0, None), method="highs-ds")
    if relaxed.status != 0:
        raise _impossible(limits)
    share, bound = relaxed.x, -relaxed.fun
    if limits.fees is not None and np.abs(share - np.rint(share)).max() > 1e-7:
        with without_solver_lines():
            whole = milp(
                -gain,
                constraints=LinearConstraint(matrix, ub=bounds),
                integrality=np.ones(len(gain)),
                bounds=(0, 1),
                options={"mip_rel_gap": 0.0},
            )
        if whole.x is None:
            raise _impossible(limits)
        share, bound = whole.x, -whole.fun
    expert = np.full(len(value), MODEL)
    is_asked = share > 0.5
    expert[rows[is_asked]] = experts[is_asked]
    _, up, low, most, money = np.split(-relaxed.ineqlin.marginals, np.cumsum([len(value), *[value.shape[1]] * 2, 1]))
    return Solved(expert, up - low, float(most[0]), float(money.sum()), bound)


def _constraints(
    rows: IntArray, experts: IntArray, shape: tuple[int, ...], limits: Limits
) -> "tuple[csr_array, FloatArray]":
    """Return the matrix and the bounds: n items, J upper and J lower limits, all questions, and money."""
    from scipy.sparse import csr_array, vstack  # here: as above

    n_items, n_experts = shape
    places = np.arange(len(rows))
    of_item = csr_array((np.ones(len(rows)), (rows, places)), shape=(n_items, len(rows)))
    of_expert = csr_array((np.ones(len(rows)), (experts, places)), shape=(n_experts, len(rows)))
    parts = [of_item, of_expert, -of_expert, csr_array(np.ones((1, len(rows))))]
    bounds: list[ArrayLike] = [np.ones(n_items), limits.upper, -limits.lower, [limits.most_deferred]]
    if limits.fees is not None:
        parts.append(csr_array(limits.fees[rows, experts][None]))
        bounds.append([limits.budget])
    matrix = vstack(parts, format="csr")
    # Older scipy (1.13, 1.14) solves with 32-bit indices alone; a program with more cells is out of reach.
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix, np.concatenate([np.asarray(one, dtype=np.float64) for one in bounds])


def _impossible(limits: Limits) -> InputError:
    money = f" with a budget of {limits.budget:,.6g}" if limits.fees is not None else ""
    return InputError(f": the lower limits cannot be met together{money}.", argument="capacity")


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
    ask_all: bool = False,
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
    ask_all : bool
        There is no model: as many items are asked about as limits allow, whatever that costs.

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
    bonus = _bonus(gain, limits) if ask_all else 0.0
    gain = gain + bonus
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
    own[asked_idx] -= bonus
    return Assignment(
        solved.expert,
        who,
        cost,
        cost - own,
        np.where(solved.prices > bonus / 2, solved.prices - bonus, solved.prices),
        solved.deferral_price - bonus * (solved.deferral_price > bonus / 2),
        solved.money_price,
        0.0 if gap <= 1e-9 * max(abs(solved.bound), 1e-300) else gap,
        None if label is None else np.asarray(label),
        limit_that_binds(gain, limits, solved.expert),
        **({"why_not": "nobody can be asked", "otherwise": "nobody"} if ask_all else {}),
    )


def _bonus(gain: FloatArray, limits: Limits) -> float:
    """Return what is added to every gain so that one item more is worth any exchange along a chain of experts.

    Raises where the budget does not pay for the cheapest question to each item.
    """
    can = np.isfinite(gain)
    if limits.fees is not None and limits.most_deferred == len(gain):
        least = float(np.where(can, limits.fees, np.inf).min(axis=1, initial=np.inf)[can.any(axis=1)].sum())
        if least > limits.budget * (1 + 1e-12):
            raise InputError(
                f"allows {limits.budget:,.6g}, but the cheapest question to each of {len(gain):,} items costs "
                f"{least:,.6g} in total.",
                argument="budget",
            )
    known = gain[can]
    lowest, spread = (float(known.min()), float(known.max() - known.min())) if known.size else (0.0, 0.0)
    return (gain.shape[1] + 1) * max(spread, 1e-9) - min(lowest, 0.0)


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
