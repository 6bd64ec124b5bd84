"""Cascades played to their end, where all marks are known."""

from typing import NamedTuple

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.results import MODEL as NOBODY
from defero.decide.cascade import Cascade, Marking, moved


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
    answer, live, belief = np.full(n, NOBODY), np.arange(n), right.copy()
    for _ in range(n_members + 1):
        now = belief[live], price[live], asked[live], allowed[live]
        step = Cascade(*now, marking, covariance, trade_off).step()
        answer[live] = step.answer
        go = step.ask != NOBODY
        live, ask, judged = live[go], step.ask[go], step.judged[go]
        if not live.size:
            break
        asked[live, ask] = True
        cost[live] += price[live, ask] + marking.price * judged
        for j in range(n_members):
            for mark in (0, 1):
                rows = live[judged & (ask == j) & (marks[live, ask] == mark)]
                belief[rows] = moved(belief[rows], j, marking.after(belief[rows, j], mark), covariance)
    return Cascaded(answer, cost, asked.sum(axis=1))
