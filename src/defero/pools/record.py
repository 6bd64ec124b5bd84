"""PoolRecord: what a pool did on items whose scores are known, beside every plain way of choosing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import InputError
from defero.core.results import MODEL as NOBODY
from defero.core.wording import count_of, money
from defero.decide.curve import Curve, curve_of, member_means
from defero.pools.copies import mean_interval
from defero.pools.decision import FreeChoice, PoolDecision
from defero.pools.parts import PoolFacts, best_at_trade_off, best_single, training_hull
from defero.pools.router import PoolRouter, router_of


@dataclass(frozen=True)
class PoolWay:
    """A way of choosing: mean score and mean price of an item; the price is nan where it is not known."""

    name: str
    quality: float
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"name": self.name, "quality": number(self.quality), "cost": number(self.cost)}

    def net_value(self, trade_off: float) -> float:
        """Return what an item brings on average: score times trade-off, minus price; nan where one is not known.

        >>> PoolWay("pool", quality=0.8, cost=2.0).net_value(10.0)
        6.0
        """
        return trade_off * self.quality - self.cost if np.isfinite(trade_off) else float("nan")


@dataclass(frozen=True, eq=False)
class PoolRecord:
    """A pool on n items.

    Attributes
    ----------
    decision : PoolDecision
        Who was chosen, among the members with a score.
    expected, scores : (n, J)
        The scores are NaN where there are none, and where a member cannot be asked.
    price : (n, J)
    compared : (n,) bool
        The items with a score of the best single member for which somebody can be asked: on these all ways are
        compared.
    pool, best_single, random, cheapest, oracle : PoolWay
        The best single member is the best in training; the oracle knows the scores and takes the cheapest of the best.
        Nobody can be chosen for an item without a score, or where they cannot be asked. The cheapest member is judged
        on those compared items where it has a score.
    gain : (difference, low, high)
        The pool minus the best single member on the compared items, with a 95 % interval; items of a group count as
        one draw. nan where every item has a score of one member only.
    net_gain : (difference, low, high)
        The same for the net value, score times trade-off minus price; nan where there is no trade-off or no price.
    curve : Curve or None
        Quality against cost on the compared items; None where no price is known.
    free : FreeChoice or None
        The choice among all members, where the chosen one has a score; None where every score is known.
    best_paid : PoolWay or None
        The single member who was best in training at the trade-off, score times trade-off less price; None where
        quality alone counts.
    """

    decision: PoolDecision
    expected: FloatArray
    scores: FloatArray
    price: FloatArray
    compared: BoolArray
    pool: PoolWay
    best_single: PoolWay
    random: PoolWay
    cheapest: PoolWay | None
    oracle: PoolWay
    gain: tuple[float, float, float]
    net_gain: tuple[float, float, float]
    curve: Curve | None
    free: FreeChoice | None = None
    best_paid: PoolWay | None = None

    @property
    def answered(self) -> BoolArray:
        """(n,): whether somebody with a score can be asked; with a trade-off only those with a known price can."""
        return np.asarray(self.decision.expert != NOBODY)

    @property
    def n_unanswered(self) -> int:
        """How many items nobody with a score can be asked about."""
        return int((~self.answered).sum())

    @property
    def kept(self) -> FloatArray:
        """(n,): the scores of those who were chosen; nan where nobody can be asked."""
        return np.where(self.answered, self.scores[np.arange(len(self.scores)), self.decision.expert], np.nan)

    @property
    def promised(self) -> float:
        """Mean expected score of those who were chosen."""
        return _mean(self.decision.score[self.answered])

    @property
    def mean_kept(self) -> float:
        """Mean score of those who were chosen."""
        return _mean(self.kept[self.answered])

    @property
    def one_score_each(self) -> bool:
        """Whether every item has a score of one member only, as in the log of a team."""
        scored = np.isfinite(self.scores)
        return bool((scored.sum(axis=1) == 1).all()) and int(scored.any(axis=0).sum()) > 1

    def log_sentences(self) -> list[str]:
        """Return what can be judged by a log with one score for each item, and what cannot."""
        assert self.free is not None
        score = f", with a score of {self.free.score()}" if self.free.items else ""
        return [
            f"Every item has a score of one member only, as in the log of a team. The pool would have asked the same "
            f"member for {self.free.share()}{score}.",
            "Whether the pool is better than a single member cannot be judged: that needs items with scores of several "
            "members.",
        ]

    def paid_sentence(self) -> str:
        """Return the pool beside the best single member at the trade-off, in money; blank where quality alone counts.

        Both are judged on the compared items.
        """
        single, worth = self.best_paid, self.decision.trade_off
        if single is None or self.one_score_each or np.isnan([self.pool.cost, single.cost, single.quality]).any():
            return ""
        value = [way.net_value(worth) for way in (self.pool, single)]
        return (
            f"At {money(worth)} a point of quality the pool costs {money(self.pool.cost)} an item and scores "
            f"{self.pool.quality:.3f}; the best single member at this trade-off, {single.name}, costs "
            f"{money(single.cost)} and scores {single.quality:.3f}. Net value, {money(worth)} times the score, minus "
            f"the price: {value[0]:.4g} against {value[1]:.4g} an item."
        )

    @property
    def has_net_value(self) -> bool:
        """Whether it is known what a point of quality is worth, and what the pool costs."""
        return bool(np.isfinite(self.pool.net_value(self.decision.trade_off)))

    @property
    def area(self) -> float:
        """Mean gain in quality over the zero router; nan where prices are unknown or all equal."""
        return float("nan") if self.curve is None else self.curve.area

    @property
    def gap_share(self) -> float:
        """The share of the gap from the best single member to the oracle that the pool closes; nan for no gap."""
        gap = self.oracle.quality - self.best_single.quality
        return (self.pool.quality - self.best_single.quality) / gap if gap > 1e-12 else float("nan")

    @property
    def has_gaps(self) -> bool:
        """Whether a member who can be asked has no score for some item."""
        return self.free is not None

    def compared_items(self) -> str:
        """Return on which items the ways are compared, in words."""
        every = count_of(len(self.scores), "item")
        if self.compared.all():
            return every
        paid = " and a known price" if self.n_unanswered else ""
        return f"{int(self.compared.sum()):,} of {every}, those with a score of {self.best_single.name}{paid},"

    def area_in_words(self) -> str:
        """Return what the area over the zero router is, or why there is none."""
        if self.curve is None:
            return "No prices are known: quality alone counts."
        if not np.isnan(self.area):
            return (
                f"Averaged over the costs that both reach, the pool's score is {self.area:+.3f} above the zero "
                "team's, which mixes the best members at random at the same cost."
            )
        cost = self.curve.member_cost[np.isfinite(self.curve.member_cost)]
        if cost.max() - cost.min() <= 1e-12 * abs(cost.max()):
            return "All members cost the same, so that there is no zero router to compare with."
        if len(self.curve.hull) < 2:
            name = self.curve.expert_names[int(self.curve.hull[0])]
            return (
                f"{name} was the cheapest and the best member in training, so that the zero router would ask nobody "
                "else and there is nothing to compare with."
            )
        return "The pool and the zero router have no cost in common, so that they cannot be compared at equal cost."

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
                    "scores": int(np.isfinite(self.scores[:, j]).sum()),
                    "quality": number(quality[j]),
                    "cost": number(cost[j]),
                }
            )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "items": len(self.scores),
            "compared_items": int(self.compared.sum()),
            "unanswered_items": self.n_unanswered,
            "one_score_each": self.one_score_each,
            "pool": {
                "quality": number(self.pool.quality),
                "cost": number(self.pool.cost),
                "area": number(self.area),
                "gap_share": number(self.gap_share),
                "gain": {key: number(one) for key, one in zip(("difference", "low", "high"), self.gain, strict=True)},
                "trade_off": number(self.decision.trade_off),
                "chosen_among_all": None if self.free is None else self.free.to_dict(),
                "net_value": number(self.pool.net_value(self.decision.trade_off)),
                "net_gain": {
                    key: number(one) for key, one in zip(("difference", "low", "high"), self.net_gain, strict=True)
                },
                "members": self.members(),
                "frontier": _frontier(self.curve),
            },
            "promised": number(self.promised),
            "kept": number(self.mean_kept),
            "ways": {
                key: None if way is None else way.to_dict()
                for key, way in (
                    ("best_single", self.best_single),
                    ("best_at_trade_off", self.best_paid),
                    ("random", self.random),
                    ("cheapest", self.cheapest),
                    ("oracle", self.oracle),
                )
            },
        }


def judge_pool(
    team: Any,
    X: Any,
    scores: FloatArray,
    *,
    prices: Any = None,
    available: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    **rule: Any,
) -> PoolRecord:
    """Route items whose scores are known, and judge.

    Parameters
    ----------
    team : Team without classes, or PoolRouter
    X : n items
    scores : (n, J)
        NaN where there are none: who has no score for an item is not chosen for it. Every item has a score of somebody
        who can be asked.
    prices, rule
        As in `PoolRouter.route`: `trade_off`, `budget` or `floor`.
    available : (J,) or (n, J) bool, optional
        Who can be asked; the others are in nothing that the pool is compared with.
    groups : (n,), optional
        Items that belong together: the interval of the gain counts them as one draw.
    """
    if hasattr(team, "score_facts"):
        team = router_of(team, PoolFacts())
    present = np.broadcast_to(True if available is None else np.asarray(available, dtype=np.bool_), scores.shape)
    scores = np.where(present, scores, np.nan)
    scored = np.isfinite(scores)
    if not scored.any(axis=1).all():
        raise InputError("must have a score of a member who can be asked for every item.", argument="scores")
    decision = team.route(X, prices=prices, available=scored, **rule)
    answered: BoolArray = np.asarray(decision.expert != NOBODY)
    if not answered.any():
        raise InputError("must be known of a member with a score: nobody can be asked.", argument="prices")
    expected, price = team.scores(X), team.prices(X, prices)
    here: BoolArray = np.asarray(scored.any(axis=0))
    best = best_single(team, here)
    compared: BoolArray = scored[:, best] & answered if (scored[:, best] & answered).any() else answered
    rows = np.flatnonzero(compared)
    own, cost, can = scores[rows], price[rows], scored[rows]
    achieved = own[np.arange(len(rows)), decision.expert[rows]]
    paid = cost[np.arange(len(rows)), decision.expert[rows]]
    group_of = np.broadcast_to(np.arange(len(scores)) if groups is None else np.asarray(groups), len(scores))
    known = np.isfinite(np.where(can, cost, np.nan)).any()
    has_gaps = not bool(scored[:, here].all())
    free = team.route(X, prices=prices, available=present, **rule).expert if has_gaps else decision.expert
    paid_best = best_at_trade_off(team, decision.trade_off, price, here)
    alone = {j: _member_way(team.expert_names[j], own[:, j], cost[:, j]) for j in (best, paid_best) if j is not None}
    one_each = bool((scored.sum(axis=1) == 1).all()) and int(here.sum()) > 1
    return PoolRecord(
        decision,
        expected,
        scores,
        price,
        compared,
        PoolWay("pool", _mean(achieved), _mean(paid)),
        alone[best],
        PoolWay("random", _mean(_row_means(own, can)), _mean(_row_means(cost, can))),
        _cheapest(team, own, cost),
        _oracle(own, cost, can),
        *_gains(achieved - own[:, best], paid - cost[:, best], decision.trade_off, group_of[rows], known=not one_each),
        _curve(team, expected[rows], own, cost, here) if known else None,
        FreeChoice.of(free, scores, group_of) if has_gaps else None,
        None if paid_best is None else alone[paid_best],
    )


Interval = tuple[float, float, float]
"""A mean, and the ends of its interval."""
_NOT_KNOWN: Interval = (np.nan, np.nan, np.nan)


def _gains(
    quality: FloatArray, cost: FloatArray, trade_off: float, groups: ArrayLike, *, known: bool
) -> tuple[Interval, Interval]:
    """Return the means of quality, and of trade-off times quality minus cost: differences (n,) to the best member."""
    if not known:
        return _NOT_KNOWN, _NOT_KNOWN
    has_net = np.isfinite(trade_off) and np.isfinite(cost).any()
    net = mean_interval(trade_off * quality - cost, groups) if has_net else _NOT_KNOWN
    return mean_interval(quality, groups), net


def _member_way(name: str, scores: FloatArray, price: FloatArray) -> PoolWay:
    """Return a member alone, on the items with its score."""
    cost, quality = member_means(price[:, None], scores[:, None])
    return PoolWay(name, float(quality[0]), float(cost[0]))


def _cheapest(team: PoolRouter, scores: FloatArray, price: FloatArray) -> PoolWay | None:
    cost, quality = member_means(price, scores)
    known = np.flatnonzero(np.isfinite(cost))
    if not known.size:
        return None
    j = int(known[np.argmin(cost[known])])
    return PoolWay(team.expert_names[j], float(quality[j]), float(cost[j]))


def _curve(team: PoolRouter, expected: FloatArray, scores: FloatArray, price: FloatArray, present: BoolArray) -> Curve:
    """Return the curve; the zero router's members are those of the training rows, if their prices are known there."""
    hull = training_hull(team, present)
    return curve_of(expected, price, scores=scores, expert_names=team.expert_names, hull=hull)


def _oracle(scores: FloatArray, price: FloatArray, scored: BoolArray) -> PoolWay:
    top = np.where(scored, scores, -np.inf).max(axis=1)
    cost = np.where(scored & (scores == top[:, None]), np.nan_to_num(price, nan=np.inf), np.inf).min(axis=1)
    return PoolWay("oracle", _mean(top), _mean(cost[np.isfinite(cost)]))


def _row_means(values: FloatArray, scored: Any) -> FloatArray:
    return np.where(scored, values, 0.0).sum(axis=1) / scored.sum(axis=1)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def number(value: float) -> float | None:
    """Return a number for JSON; None where it is not finite.

    >>> number(0.1234567), number(float("nan"))
    (0.123457, None)
    """
    return round(float(value), 6) if np.isfinite(value) else None


def _frontier(curve: Curve | None) -> list[dict[str, float | None]] | None:
    if curve is None:
        return None
    spread = np.unique(np.rint(np.linspace(0, len(curve) - 1, 21)).astype(np.int64))
    columns = {name.replace("error_cost", "trade_off"): values for name, values in curve.columns().items()}
    return [{name: number(float(values[k])) for name, values in columns.items()} for k in spread]
