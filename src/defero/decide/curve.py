"""Curve: quality against cost, whatever an error costs, beside the members alone and their hull."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.wording import Tabular, count_of, money
from defero.decide.frontier import along, area_between, frontier_steps, quality_at, upper_hull

MOST_POINTS = 200
_APART = 1e-5
"""Costs of an error that are nearer than this are not told apart by decisions in single precision."""


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Tabular):
    """Mean quality and mean cost of an item along the costs of an error.

    Attributes
    ----------
    error_cost, error_cost_end : (p,)
        What an error costs, rising from 0: a point is reached by every cost of an error above the first and up to the
        second. At a tie the cheaper member is chosen.
    cost, quality : (p,)
        Mean price and mean score of those who are chosen.
    expert_names : J names
    member_cost, member_quality : (J,)
        Of each member alone; nan where not known.
    hull : (h,) int
        The members between whom the zero router mixes, cheapest first.

    Examples
    --------
    >>> score, price = np.array([[0.2, 0.9], [0.8, 0.9]]), np.array([[1.0, 3.0], [1.0, 3.0]])
    >>> curve = curve_of(score, price, expert_names=("small", "large"))
    >>> curve.cost.tolist(), curve.quality.round(2).tolist(), round(curve.area, 3)
    ([1.0, 2.0, 3.0], [0.5, 0.85, 0.9], 0.075)
    """

    error_cost: FloatArray
    error_cost_end: FloatArray
    cost: FloatArray
    quality: FloatArray
    expert_names: tuple[str, ...]
    member_cost: FloatArray
    member_quality: FloatArray
    hull: IntArray

    def __len__(self) -> int:
        return len(self.cost)

    @cached_property
    def area(self) -> float:
        """Mean gain in quality over the zero router, over the costs that both reach; nan where prices are all equal."""
        hull = self.hull
        if len(hull) < 2 or not len(self):
            return float("nan")
        return area_between(self.cost, self.quality, self.member_cost[hull], self.member_quality[hull])

    def at_cost(self, cost: float) -> float:
        """Return the quality at a mean cost; nan below the cheapest."""
        return float(quality_at(self.cost, self.quality, cost))

    def zero_at_cost(self, cost: float) -> float:
        """Return the quality of the zero router at a mean cost; nan below the cheapest member."""
        return float(quality_at(self.member_cost[self.hull], self.member_quality[self.hull], cost))

    def error_cost_for(self, *, cost: float | None = None, quality: float | None = None) -> float:
        """Return the cost of an error that spends at most `cost` an item on average, or that reaches a mean `quality`.

        Pass it in `Terms` for items that come one by one.
        """
        if not len(self):
            raise InputError("the curve has no points, as nobody can be asked about any item; pass other terms.")
        if cost is not None and quality is None:
            inside = np.flatnonzero(self.cost <= cost * (1 + 1e-12))
            if not inside.size:
                raise InputError(
                    f"must be at least {money(float(self.cost[0]))}, the cheapest way, got {cost:g}.", argument="cost"
                )
            return self._inside(int(inside[-1]))
        if quality is None or cost is not None:
            raise InputError(f"pass either {Argument('cost')} or {Argument('quality')}.")
        reached = np.flatnonzero(self.quality >= quality - 1e-12)
        if not reached.size:
            raise InputError(
                f"must be at most {self.quality.max():.4f}, the best that this team reaches, got {quality:g}.",
                argument="quality",
            )
        return self._inside(int(reached[0]))

    def _inside(self, point: int) -> float:
        """Return a cost of an error well between the ends of a point."""
        low, high = float(self.error_cost[point]), float(self.error_cost_end[point])
        if np.isinf(high):
            return 2.0 * low if low > 0 else 1.0
        return (low + high) / 2

    def headline(self) -> str:
        """Return the ends of the curve and the area over the zero router."""
        if not len(self):
            return "Curve: 0 points, because nobody can be asked about any item."
        area = "" if np.isnan(self.area) else f"; {self.area:+.4f} over the zero router on average"
        ends = [f"{self.quality[k]:.3f} at {money(float(self.cost[k]))}" for k in (0, -1)]
        return f"Curve: {count_of(len(self), 'point')}, from {ends[0]} to {ends[1]}{area}."

    def columns(self, most: int | None = None) -> dict[str, Any]:
        """Return error_cost, cost, quality and the zero router's quality at the same cost."""
        hull = self.hull
        zero = quality_at(self.member_cost[hull], self.member_quality[hull], self.cost[:most])
        return {
            "error_cost": self.error_cost[:most],
            "cost": self.cost[:most],
            "quality": self.quality[:most],
            "zero_router": zero,
        }


def curve_of(
    expected: FloatArray,
    price: FloatArray,
    *,
    expert_names: tuple[str, ...],
    scores: FloatArray | None = None,
    can: BoolArray | None = None,
    hull: IntArray | None = None,
    most_points: int | None = MOST_POINTS,
) -> Curve:
    """Return the curve of n items: decided by the expected scores, judged by the scores that came.

    Parameters
    ----------
    expected, price : (n, J)
    expert_names : J names
    scores : (n, J), optional
        What came; NaN where there is none, and then this member is not chosen there. By default the expected scores.
    can : (n, J) bool, optional
        Who can be asked.
    hull : members, optional
        The zero router's, from training rows; by default the best on these rows. Who has no price or no score on
        these rows is left out.
    most_points : int, optional
        Points spread evenly over the steps; None for every step.
    """
    real = expected if scores is None else scores
    can_ask = np.isfinite(real) & np.isfinite(price)
    can_ask = can_ask if can is None else can_ask & can
    steps = frontier_steps(expected, price, can_ask)
    cost, quality = along(steps, np.nan_to_num(price)), along(steps, np.nan_to_num(real))
    error_cost = np.concatenate([[0.0], steps.error_cost])
    # One point for each cost of an error: the one after the last of steps that are equal but for rounding.
    last = np.append(error_cost[1:] > error_cost[:-1] * (1 + _APART), bool(can_ask.any()))
    cost, quality, error_cost = cost[last], quality[last], error_cost[last]
    end = np.append(error_cost[1:], np.inf)
    if most_points is not None and len(cost) > most_points:
        spread = np.unique(np.rint(np.linspace(0, len(cost) - 1, most_points)).astype(np.int64))
        cost, quality, error_cost, end = cost[spread], quality[spread], error_cost[spread], end[spread]
    member_cost, member_quality = member_means(price, real if can is None else np.where(can, real, np.nan))
    known = np.flatnonzero(np.isfinite(member_cost) & np.isfinite(member_quality))
    corners = known[upper_hull(member_cost[known], member_quality[known])] if hull is None else hull
    corners = corners[np.isin(corners, known)]
    corners = corners[np.argsort(member_cost[corners], kind="stable")]
    return Curve(error_cost, end, cost, quality, expert_names, member_cost, member_quality, corners)


def member_means(price: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean price and the mean score of each member over the items with a score, (J,) each; nan for none.

    A price that is not known does not count.
    """
    scored = np.isfinite(scores)
    n = scored.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        quality = np.where(scored, scores, 0.0).sum(axis=0) / np.where(n, n, np.nan)
        paid = scored & np.isfinite(price)
        n_paid = paid.sum(axis=0)
        cost = np.where(paid, price, 0.0).sum(axis=0) / np.where(n_paid, n_paid, np.nan)
    return cost, quality
