"""Cascades played to their end, where all marks are known."""

from typing import NamedTuple

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.results import MODEL as NOBODY
from defero.decide.cascade import Marking, cascade_step, heard_marks


class Cascaded(NamedTuple):
    """How n items end: whose answer stands (n,), what all of it costs (n,), how many were asked (n,)."""

    answer: IntArray
    cost: FloatArray
    n_asked: IntArray


def run_cascade(
    right: FloatArray,
    price: FloatArray,
    marks: FloatArray,
    *,
    marking: Marking,
    covariance: FloatArray,
    trade_off: float,
    can: BoolArray | None = None,
) -> Cascaded:
    """Play cascades to their end where all marks are known, such as simulated ones.

    Parameters
    ----------
    right, price : (n, J)
        P(right) before anybody is asked, and prices.
    marks : (n, J)
        0 or 1: what the judge would say of each member's answer.
    """
    n, n_members = right.shape
    allowed = np.ones((n, n_members), dtype=np.bool_) if can is None else can
    asked, cost = np.zeros((n, n_members), dtype=np.bool_), np.zeros(n)
    answer, live, heard = np.full(n, NOBODY), np.arange(n), np.full(marks.shape, np.nan)
    for _ in range(n_members + 1):
        step = cascade_step(
            heard_marks(right[live], heard[live], marking, covariance),
            price[live],
            asked[live],
            allowed[live],
            marking=marking,
            covariance=covariance,
            error_cost=trade_off,
        )
        answer[live] = step.answer
        go = step.ask != NOBODY
        live, ask, judged = live[go], step.ask[go], step.judged[go]
        if not live.size:
            break
        asked[live, ask] = True
        cost[live] += price[live, ask] + marking.price * judged
        heard[live[judged], ask[judged]] = marks[live[judged], ask[judged]]
    return Cascaded(answer, cost, asked.sum(axis=1))
