"""ScoreRecord: a team whose experts have only scores, on held-out items, beside every plain way of choosing."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.display import plain
from defero.core.results import MODEL as NOBODY
from defero.core.results import Decision
from defero.core.wording import count_of, money
from defero.judge.intervals import score_interval

if TYPE_CHECKING:
    from defero.decide.curve import Curve

Interval = tuple[float, float, float]
"""A mean, and the ends of its interval."""


@dataclass(frozen=True)
class ScoreWay:
    """A way of choosing: mean score and mean price of an item; the price is nan where it is not known."""

    name: str
    quality: float
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"name": self.name, "quality": number(self.quality), "cost": number(self.cost)}

    def net_value(self, error_cost: float) -> float:
        """Return what an item brings on average: score times error cost, minus price; nan where one is not known.

        >>> ScoreWay("team", quality=0.8, cost=2.0).net_value(10.0)
        6.0
        """
        return error_cost * self.quality - self.cost if np.isfinite(error_cost) else float("nan")


@dataclass(frozen=True)
class FreeChoice:
    """The team's choice among all experts, on the items for which the chosen one has a score.

    Where scores are missing by chance this is what the team will do on new items. A choice among those with a score
    alone is worse, as the best expert may be missing.

    Attributes
    ----------
    items, all_items : int
        Items whose chosen expert has a score, and all items.
    quality, low, high : float
        The mean score there, with a 95 % interval; nan for no items.
    """

    items: int
    all_items: int
    quality: float
    low: float
    high: float

    @classmethod
    def of(cls, expert: IntArray, scores: FloatArray, groups: ArrayLike) -> "FreeChoice":
        """Judge choices (n,) by scores (n, J), NaN where there are none."""
        came = np.where(expert == NOBODY, np.nan, scores[np.arange(len(scores)), expert])
        return cls(int(np.isfinite(came).sum()), len(came), *score_interval(came, groups))

    def share(self) -> str:
        """Return on how many items it is judged, such as "120 of 300 items"."""
        return f"{self.items:,} of {count_of(self.all_items, 'item')}"

    def score(self, digits: int = 4) -> str:
        """Return the mean score with its interval in words; blank for no items."""
        if not self.items:
            return ""
        ends = "" if np.isnan(self.low) else f" ({self.low:.{digits}f} to {self.high:.{digits}f})"
        return f"{self.quality:.{digits}f}{ends}"

    def sentence(self, digits: int = 4) -> str:
        """Return the result in one sentence."""
        if not self.items:
            return "Chosen among all members, no chosen member has a score, so that this choice cannot be judged."
        return (
            f"Chosen among all members, on the {self.share()} whose chosen member has a score: "
            f"score {self.score(digits)}. This is what to expect where scores are missing by chance."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        numbers = {"quality": self.quality, "low": self.low, "high": self.high}
        return {"items": self.items, **{key: number(one) for key, one in numbers.items()}}


@dataclass(frozen=True, eq=False)
class ScoreRecord:
    """A team of scores on n items.

    Attributes
    ----------
    decision : Decision
        Who was chosen, among the experts with a score.
    error_cost : float
        What an error costs, or a point of quality is worth; inf where quality alone counts.
    expected, scores : (n, J)
        The scores are NaN where there are none, and where an expert cannot be asked.
    price : (n, J)
    compared : (n,) bool
        The items with a score of the best single expert for which somebody can be asked: on these all ways are
        compared.
    pool, best_single, random, cheapest, oracle : ScoreWay
        The best single expert is the best in training; the oracle knows the scores and takes the cheapest of the best.
        Nobody can be chosen for an item without a score, or where they cannot be asked. The cheapest expert is judged
        on those compared items where it has a score.
    alone : (cost, quality), (J,) each
        Mean price and mean score of each expert alone; nan where not known.
    gain : (difference, low, high)
        The team minus the best single expert on the compared items, with a 95 % interval; items of a group count as
        one draw. nan where every item has a score of one expert only.
    net_gain : (difference, low, high)
        The same for the net value, score times error cost minus price; nan where one of these is not known.
    curve : Curve or None
        Quality against cost on the compared items; None where no price is known.
    free : FreeChoice or None
        The choice among all experts, where the chosen one has a score; None where every score is known.
    best_paid : ScoreWay or None
        The single expert who cost least in training, errors and prices together; None where quality alone counts.
    """

    decision: Decision
    error_cost: float
    expected: FloatArray
    scores: FloatArray
    price: FloatArray
    compared: BoolArray
    pool: ScoreWay
    best_single: ScoreWay
    random: ScoreWay
    cheapest: ScoreWay | None
    oracle: ScoreWay
    alone: tuple[FloatArray, FloatArray]
    gain: Interval
    net_gain: Interval
    curve: "Curve | None"
    free: FreeChoice | None = None
    best_paid: ScoreWay | None = None

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
    def p_right(self) -> FloatArray:
        """(n,): the expected score of those who were chosen."""
        assert self.decision.p_right is not None
        return self.decision.p_right

    @property
    def promised(self) -> float:
        """Mean expected score of those who were chosen."""
        return _mean(self.p_right[self.answered])

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
        single, worth = self.best_paid, self.error_cost
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
        return bool(np.isfinite(self.pool.net_value(self.error_cost)))

    @property
    def area(self) -> float:
        """Mean gain in quality over the zero router; nan where prices are unknown or all equal."""
        return float("nan") if self.curve is None else self.curve.area

    @property
    def gap_share(self) -> float:
        """The share of the gap from the best single member to the oracle that the pool closes; nan for no gap."""
        gap = self.oracle.quality - self.best_single.quality
        return (self.pool.quality - self.best_single.quality) / gap if gap > 1e-12 else float("nan")

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
        cost, quality = self.alone
        rows = []
        for j, name in enumerate(self.decision.expert_names):
            own = self.decision.expert == j
            rows.append(
                {
                    "name": name,
                    "items": int(own.sum()),
                    "promised": number(_mean(self.p_right[own])),
                    "kept": number(_mean(self.kept[own])),
                    "scores": int(np.isfinite(self.scores[:, j]).sum()),
                    "quality": number(quality[j]),
                    "cost": number(cost[j]),
                }
            )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        ways = {"best_single": self.best_single, "best_at_trade_off": self.best_paid, "random": self.random}
        gain, net_gain = (dict(zip(_ENDS, map(number, one), strict=True)) for one in (self.gain, self.net_gain))
        pool = {
            **{name: number(getattr(self.pool, name)) for name in ("quality", "cost")},
            **{name: number(getattr(self, name)) for name in ("area", "gap_share")},
            "trade_off": number(self.error_cost),
            "net_value": number(self.pool.net_value(self.error_cost)),
        }
        own = {"gain": gain, "net_gain": net_gain, "chosen_among_all": self.free, "members": self.members()}
        return {
            "items": len(self.scores),
            "compared_items": int(self.compared.sum()),
            "unanswered_items": self.n_unanswered,
            "one_score_each": self.one_score_each,
            "pool": pool | plain(own) | {"frontier": _frontier(self.curve)},
            "promised": number(self.promised),
            "kept": number(self.mean_kept),
            "ways": plain({**ways, "cheapest": self.cheapest, "oracle": self.oracle}),
        }


_ENDS = ("difference", "low", "high")


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def number(value: float) -> float | None:
    """Return a number for JSON; None where it is not finite.

    >>> number(0.1234567), number(float("nan"))
    (0.123457, None)
    """
    return round(float(value), 6) if np.isfinite(value) else None


def _frontier(curve: "Curve | None") -> list[dict[str, float | None]] | None:
    if curve is None:
        return None
    spread = np.unique(np.rint(np.linspace(0, len(curve) - 1, 21)).astype(np.int64))
    columns = {name.replace("error_cost", "trade_off"): values for name, values in curve.columns().items()}
    return [{name: number(float(values[k])) for name, values in columns.items()} for k in spread]
