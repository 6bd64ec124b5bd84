"""PoolRecord: what a pool did on items whose scores are known, beside every plain way of choosing."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.pools.curve import PoolCurve, member_means, pool_curve
from defero.pools.decision import PoolDecision
from defero.pools.frontier import upper_hull
from defero.pools.router import PoolRouter

Z95 = 1.959964


@dataclass(frozen=True)
class Way:
    """A way of choosing: mean score and mean price of an item; the price is nan where it is not known."""

    name: str
    quality: float
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"name": self.name, "quality": number(self.quality), "cost": number(self.cost)}


@dataclass(frozen=True, eq=False)
class PoolRecord:
    """A pool on n items.

    Attributes
    ----------
    decision : PoolDecision
        Who was chosen, among the members with a score.
    expected, scores : (n, J)
        The scores are NaN where there are none.
    price : (n, J)
    pool, best_single, random, cheapest, oracle : Way
        The best single member is the best in training; the oracle knows the scores and takes the cheapest of the best.
    gain : (difference, low, high)
        The pool minus the best single member on the same items, with a 95 % interval.
    curve : PoolCurve or None
        Quality against cost; None where no price is known.
    """

    decision: PoolDecision
    expected: FloatArray
    scores: FloatArray
    price: FloatArray
    pool: Way
    best_single: Way
    random: Way
    cheapest: Way | None
    oracle: Way
    gain: tuple[float, float, float]
    curve: PoolCurve | None

    @property
    def kept(self) -> FloatArray:
        """(n,): the scores of those who were chosen."""
        return self.scores[np.arange(len(self.scores)), self.decision.expert]

    @property
    def area(self) -> float:
        """Mean gain in quality over the zero router; nan where prices are unknown or all equal."""
        return float("nan") if self.curve is None else self.curve.area

    @property
    def gap_share(self) -> float:
        """The share of the gap from the best single member to the oracle that the pool closes; nan for no gap."""
        gap = self.oracle.quality - self.best_single.quality
        return (self.pool.quality - self.best_single.quality) / gap if gap > 1e-12 else float("nan")

    def members(self) -> list[dict[str, Any]]:
        """Return for each member the load, what was promised and kept there, and quality and cost of it alone."""
        cost, quality = member_means(self.price, self.scores)
        rows = []
        for j, name in enumerate(self.decision.expert_names):
            own = self.decision.expert == j
            rows.append(
                {
                    "name": name,
                    "items": int(own.sum()),
                    "promised": number(_mean(self.decision.score[own])),
                    "kept": number(_mean(self.kept[own])),
                    "quality": number(quality[j]),
                    "cost": number(cost[j]),
                }
            )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "items": len(self.scores),
            "pool": {
                "quality": number(self.pool.quality),
                "cost": number(self.pool.cost),
                "area": number(self.area),
                "gap_share": number(self.gap_share),
                "gain": {key: number(one) for key, one in zip(("difference", "low", "high"), self.gain, strict=True)},
                "trade_off": number(self.decision.trade_off),
                "members": self.members(),
                "frontier": _frontier(self.curve),
            },
            "promised": number(_mean(self.decision.score)),
            "kept": number(self.pool.quality),
            "ways": {
                key: None if way is None else way.to_dict()
                for key, way in (
                    ("best_single", self.best_single),
                    ("random", self.random),
                    ("cheapest", self.cheapest),
                    ("oracle", self.oracle),
                )
            },
        }


def judge_pool(router: PoolRouter, X: Any, scores: FloatArray, *, prices: Any = None, **rule: Any) -> PoolRecord:
    """Route items whose scores are known, and judge.

    Parameters
    ----------
    router : PoolRouter
    X : n items
    scores : (n, J)
        NaN where there are none: who has no score for an item is not chosen for it. Every item has a score.
    prices, rule
        As in `PoolRouter.route`: `trade_off`, `budget` or `floor`, and `available`.
    """
    seen = np.isfinite(scores)
    if not seen.any(axis=1).all():
        raise InputError("must have a score of some member for every item.", argument="scores")
    available = rule.pop("available", None)
    can = seen if available is None else seen & np.asarray(available, dtype=np.bool_)
    decision = router.route(X, prices=prices, available=can, **rule)
    expected, price = router.scores(X), router.prices(X, prices)
    rows = np.arange(len(scores))
    achieved = scores[rows, decision.expert]
    best = _best_in_training(router)
    alone = np.where(seen[:, best], scores[:, best], np.nan)
    difference = (achieved - alone)[np.isfinite(alone)]
    half = Z95 * float(difference.std(ddof=1)) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
    mean = _mean(difference)
    cost, quality = member_means(price, scores)
    known = np.flatnonzero(np.isfinite(cost))
    cheapest = int(known[np.argmin(cost[known])]) if known.size else None
    names = router.expert_names
    return PoolRecord(
        decision,
        expected,
        scores,
        price,
        Way("pool", _mean(achieved), _mean(price[rows, decision.expert])),
        Way(names[best], _mean(alone[np.isfinite(alone)]), float(cost[best])),
        Way("random", _mean(_row_means(scores, seen)), _mean(_row_means(price, seen))),
        None if cheapest is None else Way(names[cheapest], float(quality[cheapest]), float(cost[cheapest])),
        _oracle(scores, price, seen),
        (mean, mean - half, mean + half),
        _curve(router, expected, scores, price) if known.size else None,
    )


def _best_in_training(router: PoolRouter) -> int:
    known = np.where(router.n_scores > 0, router.train_score, -np.inf)
    return int(known.argmax())


def _curve(router: PoolRouter, expected: FloatArray, scores: FloatArray, price: FloatArray) -> PoolCurve:
    """Return the curve; the zero router's members are those of the training rows, if their prices are known there."""
    trained = np.flatnonzero(np.isfinite(router.train_price) & (router.n_scores > 0))
    hull: IntArray | None = None
    if trained.size:
        hull = trained[upper_hull(router.train_price[trained], router.train_score[trained])]
    return pool_curve(expected, price, scores=scores, expert_names=router.expert_names, hull=hull)


def _oracle(scores: FloatArray, price: FloatArray, seen: Any) -> Way:
    top = np.where(seen, scores, -np.inf).max(axis=1)
    cost = np.where(seen & (scores == top[:, None]), np.nan_to_num(price, nan=np.inf), np.inf).min(axis=1)
    return Way("oracle", _mean(top), _mean(cost[np.isfinite(cost)]))


def _row_means(values: FloatArray, seen: Any) -> FloatArray:
    return np.where(seen, values, 0.0).sum(axis=1) / seen.sum(axis=1)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def number(value: float) -> float | None:
    """Return a number for JSON; None where it is not finite.

    >>> number(0.1234567), number(float("nan"))
    (0.123457, None)
    """
    return round(float(value), 6) if np.isfinite(value) else None


def _frontier(curve: PoolCurve | None) -> list[dict[str, float | None]] | None:
    if curve is None:
        return None
    spread = np.unique(np.rint(np.linspace(0, len(curve) - 1, 21)).astype(np.int64))
    columns = curve.columns()
    return [{name: number(float(values[k])) for name, values in columns.items()} for k in spread]
