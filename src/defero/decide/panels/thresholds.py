"""Thresholds behind the sets: the conformal quantile, and the largest tau for each of the three targets."""

import math

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, refuse, share
from defero.core.errors import InputError
from defero.core.registry import Target

SLACK = 1e-9
"""How far a rank or a sum may pass its border by rounding alone: 100 * (1 - 0.95) is 5.000000000000004."""


def conformal_quantile(scores: ArrayLike, *, alpha: float) -> float:
    """Return a threshold that a fresh exchangeable score stays under with probability at least 1 - alpha.

    It is the ceil((n + 1)(1 - alpha))-th smallest of the n scores; the n + 1 counts the fresh one, whose rank
    among all is uniform. Scores without ties stay under it with probability at most 1 - alpha + 1 / (n + 1).

    Parameters
    ----------
    scores : (n,)
        Without NaN.
    alpha : float
        In (0, 1).

    Returns
    -------
    float
        +inf, which excludes nothing, when n < 1 / alpha - 1.

    Examples
    --------
    >>> conformal_quantile(np.arange(9.0), alpha=0.1)
    8.0
    >>> conformal_quantile(np.arange(8.0), alpha=0.1)
    inf
    """
    check_alpha(alpha)
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"must have one axis (n,), one score per item, got shape {array.shape}.", argument="scores")
    refuse("scores", array, np.isnan(array), "must be numbers")
    rank = max(1, math.ceil((len(array) + 1) * (1 - alpha) - SLACK))
    return float(np.partition(array, rank - 1)[rank - 1]) if rank <= len(array) else math.inf


def check_alpha(alpha: float) -> float:
    """Return alpha, or say what it must be."""
    return share("alpha", alpha, example="for 90% coverage pass 0.1")


def rows_needed(alpha: float) -> int:
    """Return the fewest calibration rows with which a set may leave anybody out: ceil(1 / alpha) - 1.

    >>> rows_needed(0.1), rows_needed(0.05), rows_needed(0.3)
    (9, 19, 3)
    """
    return math.ceil((1 - SLACK) / alpha) - 1


def all_correct_threshold(expert_proba: FloatArray, right: BoolArray, *, alpha: float) -> float:
    """Return tau so that, with probability at least 1 - alpha, every right expert is in the set.

    The set holds them all where the lowest score among them, min over right j of s_j, is at least tau.

    >>> all_correct_threshold(np.array([[0.9, 0.2], [0.8, 0.6]]), np.array([[True, False], [True, True]]), alpha=0.4)
    0.6
    """
    lowest = np.where(right, expert_proba, np.inf).min(axis=1, initial=np.inf)
    return -conformal_quantile(-lowest[right.any(axis=1)], alpha=alpha)


def any_correct_threshold(expert_proba: FloatArray, right: BoolArray, *, alpha: float) -> float:
    """Return tau so that, with probability at least 1 - alpha, at least one right expert is in the set.

    The set holds one where the highest score among them, max over right j of s_j, is at least tau.

    >>> any_correct_threshold(np.array([[0.9, 0.2], [0.8, 0.6]]), np.array([[True, False], [True, True]]), alpha=0.4)
    0.8
    """
    highest = np.where(right, expert_proba, -np.inf).max(axis=1, initial=-np.inf)
    return -conformal_quantile(-highest[right.any(axis=1)], alpha=alpha)


def missed_share_threshold(scores: FloatArray, right: BoolArray, *, alpha: float) -> float:
    """Return tau so that the expected share of right experts outside the set is at most alpha.

    Conformal risk control (Angelopoulos et al. 2022) with the loss L_i = |right experts of i below tau| / |right
    experts of i|, which is at most 1: the largest tau with (sum_i L_i + 1) / (n + 1) <= alpha. Only the scores of
    right experts can be that tau, so one sort of them finds it exactly; there is no grid.

    >>> missed_share_threshold(np.array([[0.9, 0.2], [0.8, 0.6]]), np.array([[True, False], [True, True]]), alpha=0.4)
    0.6
    >>> missed_share_threshold(np.array([[0.9, 0.2], [0.8, 0.6]]), np.array([[True, False], [True, True]]), alpha=0.5)
    0.8
    """
    n_right = right.sum(axis=1)
    n_right = n_right[n_right > 0]
    budget = alpha * (len(n_right) + 1) - 1 + SLACK
    if budget < 0:
        return -math.inf
    values, shares = scores[right], np.repeat(1 / n_right, n_right)
    # Each pair weighs at least 1 / max(n_right), so this many of the lowest pass the budget: no need to sort the rest.
    enough = math.floor(budget * n_right.max()) + 2
    if enough < len(values):
        low = np.argpartition(values, enough - 1)[:enough]
        values, shares = values[low], shares[low]
    order = np.argsort(values)
    # The pair whose share passes the budget must stay in. Pairs tied with it stay in too, so ties need no care.
    first_over = int(np.searchsorted(np.cumsum(shares[order]), budget, side="right"))
    return float(values[order[first_over]]) if first_over < len(order) else math.inf


def _share_found(inside: BoolArray, right: BoolArray) -> FloatArray:
    return (inside & right).sum(axis=1) / right.sum(axis=1)


ANY_CORRECT = Target(
    threshold=any_correct_threshold,
    judge=lambda inside, right: (_share_found(inside, right) > 0).astype(np.float64),
    promise="with probability at least {level:g} at least one {expert} who is right is in the set",
    broken="hold a right expert less often",
    of_panel="the panel has such an expert with probability at least {level:g}",
)
ALL_CORRECT = Target(
    threshold=all_correct_threshold,
    judge=lambda inside, right: (_share_found(inside, right) == 1).astype(np.float64),
    promise="with probability at least {level:g} every {expert} who is right is in the set",
    broken="hold every right expert less often",
    of_panel="the panel has every such expert with probability at least {level:g}",
)
MISSED_SHARE = Target(
    threshold=missed_share_threshold,
    judge=lambda inside, right: 1 - _share_found(inside, right),
    promise="the expected share of the right {expert}s who are left out of the set is at most {level:g}",
    broken="miss more of the right experts",
    at_most=True,
    of_panel="the panel leaves out a share of at most {level:g} of such experts on average",
)
