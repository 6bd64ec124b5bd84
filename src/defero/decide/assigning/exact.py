"""Assignments by a mixed-integer program, exact up to its gap; what the solver prints stays off standard output."""

import ctypes
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.results import MODEL
from defero.decide.assigning.limits import Limits

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


class Solved(NamedTuple):
    """Who answers each item (n,), the prices of experts (J,), of any question and of money, and a bound on the gain."""

    expert: IntArray
    prices: FloatArray
    deferral_price: float
    money_price: float
    bound: float


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
