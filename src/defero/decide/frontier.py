"""The frontier of quality and cost: every cost of an error at once, the zero router's hull, and the area between them.

Where an error costs v an item goes to argmax_j v m_j - c_j, with m_j = P(member j is right), or the expected score, and
c_j the price; the model is a member at price 0. As v grows from 0, each item starts at its cheapest member and climbs
the upper hull of its own points (c_j, m_j): the whole frontier is one sorted list of these steps.
"""

from typing import NamedTuple

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.results import MODEL as NOBODY


class FrontierSteps(NamedTuple):
    """How each item's member changes as the cost of an error grows.

    Attributes
    ----------
    start : (n,) int
        The member at a cost of 0: the cheapest, of several the best; -1 where nobody can be asked.
    item, before, after : (m,) int
        At each step one item goes from a member to another; in the order of the costs of an error.
    error_cost : (m,)
        From this cost of an error on.
    """

    start: IntArray
    item: IntArray
    before: IntArray
    after: IntArray
    error_cost: FloatArray


def frontier_steps(score: FloatArray, price: FloatArray, can: BoolArray) -> FrontierSteps:
    """Return all steps of n items with J members.

    Parameters
    ----------
    score, price : (n, J)
    can : (n, J) bool
        Who can be asked about what; prices elsewhere are ignored.

    Examples
    --------
    >>> steps = frontier_steps(np.array([[0.5, 0.7, 0.8]]), np.array([[0.0, 1.0, 4.0]]), np.ones((1, 3), bool))
    >>> steps.start.tolist(), steps.after.tolist(), steps.error_cost.round(6).tolist()
    ([0], [1, 2], [5.0, 30.0])
    """
    n = len(score)
    price, score = np.where(can, price, np.inf), np.where(can, score, -np.inf)
    least = price.min(axis=1, keepdims=True, initial=np.inf)
    here = np.where(price == least, score, -np.inf).argmax(axis=1) if score.shape[1] else np.zeros(n, np.int64)
    start = np.where(can.any(axis=1), here, NOBODY)
    rows, now = np.flatnonzero(start != NOBODY), start[start != NOBODY]
    moves_so_far: list[tuple[IntArray, IntArray, IntArray, FloatArray]] = []
    while len(rows):
        gain = score[rows] - score[rows, now][:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            at = np.where(gain > 0, (price[rows] - price[rows, now][:, None]) / gain, np.inf)
        best = at.min(axis=1)
        # Of several steps at the same cost the longest.
        after = np.where(at == best[:, None], gain, -np.inf).argmax(axis=1)
        moves = np.isfinite(best)
        rows, best, after, now = rows[moves], best[moves], after[moves], now[moves]
        moves_so_far.append((rows, now, after, best))
        now = after
    if not moves_so_far:
        none = np.empty(0, dtype=np.int64)
        return FrontierSteps(start, none, none, none, np.empty(0))
    item, before, after = (np.concatenate([one[k] for one in moves_so_far]).astype(np.int64) for k in range(3))
    error_cost = np.concatenate([one[3] for one in moves_so_far])
    order = np.argsort(error_cost, kind="stable")
    return FrontierSteps(start, item[order], before[order], after[order], error_cost[order])


def along(steps: FrontierSteps, values: FloatArray) -> FloatArray:
    """Return the mean over items of (n, J) values at each step of the frontier, (m + 1,); the first before any."""
    is_asked = steps.start != NOBODY
    n = max(int(is_asked.sum()), 1)
    first = values[np.flatnonzero(is_asked), steps.start[is_asked]].sum()
    change = values[steps.item, steps.after] - values[steps.item, steps.before]
    return np.concatenate([[first], first + np.cumsum(change)]) / n


def upper_hull(cost: FloatArray, quality: FloatArray) -> IntArray:
    """Return which of J points are corners of the upper hull that rises, cheapest first.

    These are the members between whom the zero router mixes at random.

    Examples
    --------
    >>> upper_hull(np.array([1.0, 2.0, 3.0, 5.0]), np.array([0.5, 0.55, 0.8, 0.7])).tolist()
    [0, 2]
    """
    corners: list[int] = []
    for j in np.lexsort((-quality, cost)).tolist():
        if corners and quality[j] <= quality[corners[-1]]:
            continue
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (quality[b] - quality[a]) * (cost[j] - cost[a]) > (quality[j] - quality[a]) * (cost[b] - cost[a]):
                break
            corners.pop()
        corners.append(j)
    return np.array(corners, dtype=np.int64)


def quality_at(cost: FloatArray, quality: FloatArray, at: FloatArray | float) -> FloatArray:
    """Return the quality of a curve, given by points of rising cost, at other costs: linear between two points.

    Points between two others are reached by mixing them at random. Beyond the last point its quality is held; below
    the first one, and of a curve without points, there is none (nan).
    """
    where = np.asarray(at, dtype=np.float64)
    if not len(cost):
        return np.full(where.shape, np.nan)
    return np.where(where < cost[0] - 1e-12 * abs(cost[0]), np.nan, np.interp(where, cost, quality))


def area_between(cost: FloatArray, quality: FloatArray, other_cost: FloatArray, other_quality: FloatArray) -> float:
    """Return how much higher one curve is than another on average, over the costs that both reach; nan without any.

    Examples
    --------
    >>> area_between(np.array([0.0, 1.0]), np.array([0.5, 0.7]), np.array([0.0, 2.0]), np.array([0.5, 0.7]))
    0.05
    """
    low, high = max(cost[0], other_cost[0]), min(cost[-1], other_cost[-1])
    if not high > low:
        return float("nan")
    corners = np.concatenate([[low, high], cost, other_cost])
    at = np.unique(corners[(corners >= low) & (corners <= high)])
    gap = np.interp(at, cost, quality) - np.interp(at, other_cost, other_quality)
    return round(float(np.trapezoid(gap, at) / (high - low)), 12)
