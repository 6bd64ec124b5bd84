"""A team whose experts have only scores, on held-out items: its figures, beside every plain way of choosing."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.results import MODEL as NOBODY
from defero.core.results import Decision
from defero.core.wording import Plain, count_of, money, signed_money
from defero.judge.record.figures import Figure

if TYPE_CHECKING:
    from defero.decide.curve import Curve

Interval = tuple[float, float, float]
"""A mean, and the ends of its interval."""

WAYS = {
    "pool": "the pool",
    "best_single": "best single member in training: {}",
    "best_at_trade_off": "best single member at the trade-off: {}",
    "random": "a member at random",
    "cheapest": "cheapest: {}",
    "oracle": "oracle, who knows all scores",
}
"""The ways of choosing, and their words for the member who is chosen."""


@dataclass(frozen=True)
class ScoreWay(Plain):
    """A way of choosing: mean score and mean price of an item; the price is nan where it is not known."""

    name: str
    quality: float
    cost: float

    def net_value(self, error_cost: float) -> float:
        """Return what an item brings on average: score times error cost, minus price; nan where one is not known.

        >>> ScoreWay("team", quality=0.8, cost=2.0).net_value(10.0)
        6.0
        """
        return error_cost * self.quality - self.cost if np.isfinite(error_cost) else float("nan")


@dataclass(frozen=True)
class FreeChoice(Plain):
    """The team's choice among all experts, on the items for which the chosen one has a score.

    Where scores are missing by chance this is what the team will do on new items. A choice among those with a score
    alone is worse, as the best expert may be missing.

    Attributes
    ----------
    items : int
    quality, low, high : float
        The mean score there, with a 95 % interval; nan for no items.
    """

    items: int
    quality: float
    low: float
    high: float

    @property
    def score(self) -> str:
        """The mean score with its interval, in words."""
        return score_figure(self.quality, self.low, self.high).inline()


@dataclass(frozen=True, eq=False)
class ScoreRecord:
    """A team of scores on n items.

    Attributes
    ----------
    decision : Decision
        Who was chosen, among the experts with a score.
    error_cost : float
        What an error costs, or a point of quality is worth; inf where quality alone counts.
    scores, price : (n, J)
        The scores are NaN where there are none, and where an expert cannot be asked.
    compared : (n,) bool
        The items with a score of the best single expert for which somebody can be asked: on these all ways are
        compared.
    ways : {key of WAYS: ScoreWay}
        The best single expert is the best in training; the oracle knows the scores and takes the cheapest of the best.
        Nobody can be chosen for an item without a score, or where they cannot be asked. The cheapest expert is judged
        on those compared items where it has a score; there is none without prices. The best at the trade-off cost
        least in training, errors and prices together; there is none where quality alone counts.
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
    """

    cautions: ClassVar[tuple[str, ...]] = ()

    decision: Decision
    error_cost: float
    scores: FloatArray
    price: FloatArray
    compared: BoolArray
    ways: Mapping[str, ScoreWay]
    alone: tuple[FloatArray, FloatArray]
    gain: Interval
    net_gain: Interval
    curve: "Curve | None"
    free: FreeChoice | None = None

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.scores)

    @property
    def pool(self) -> ScoreWay:
        """The team's own way."""
        return self.ways["pool"]

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

    def means(self, rows: BoolArray) -> tuple[float, float]:
        """Return the mean expected score of those who were chosen for some items (n,), and the mean score."""
        promised, kept = mean(self.p_right[rows]), mean(self.kept[rows])
        return promised, kept

    @property
    def one_score_each(self) -> bool:
        """Whether every item has a score of one member only, as in the log of a team."""
        scored = np.isfinite(self.scores)
        return bool((scored.sum(axis=1) == 1).all()) and int(scored.any(axis=0).sum()) > 1

    @property
    def net_value(self) -> float:
        """What an item brings on average; nan where it is not known what quality is worth, or what the pool costs."""
        return self.pool.net_value(self.error_cost)

    @property
    def area(self) -> float:
        """Mean gain in quality over the zero router; nan where prices are unknown or all equal."""
        return float("nan") if self.curve is None else self.curve.area

    @property
    def gap_share(self) -> float:
        """The share of the gap from the best single member to the oracle that the pool closes; nan for no gap."""
        single = self.ways["best_single"].quality
        gap = self.ways["oracle"].quality - single
        return (self.pool.quality - single) / gap if gap > 1e-12 else float("nan")

    def compared_items(self) -> str:
        """Return on which items the ways are compared, in words."""
        every = count_of(self.items, "item")
        if self.compared.all():
            return every
        paid = " and a known price" if self.n_unanswered else ""
        return f"{int(self.compared.sum()):,} of {every}, those with a score of {self.ways['best_single'].name}{paid},"

    def headline(self) -> str:
        """Return the main result in a sentence or two: in money where quality has a worth, and in quality.

        Of a log with one score for each item: what can be judged by it, and what cannot.
        """
        if self.one_score_each:
            assert self.free is not None
            score = f", with a score of {self.free.score}" if self.free.items else ""
            return (
                "Every item has a score of one member only, as in the log of a team. The pool would have asked the "
                f"same member for {self.free.items:,} of {count_of(self.items, 'item')}{score}. Whether the pool is "
                "better than a single member cannot be judged: that needs items with scores of several members."
            )
        single, (_, low, high) = self.ways["best_single"], self.gain
        verdict = "beyond chance" if low > 0 or high < 0 else "which may be chance"
        return (
            f"{self._paid_sentence()}On {self.compared_items()} the pool has a mean score of {self.pool.quality:.4f}, "
            f"the best single member by score, {single.name}, {single.quality:.4f}: "
            f"{Figure(*self.gain, write=_signed, ends=_signed).inline()}, {verdict}."
        )

    def _paid_sentence(self) -> str:
        """Return the pool beside the best single member at the trade-off, in money; blank where quality alone counts.

        Both are judged on the compared items.
        """
        single, worth = self.ways.get("best_at_trade_off"), self.error_cost
        if single is None or np.isnan([self.pool.cost, single.cost, single.quality]).any():
            return ""
        return (
            f"At {money(worth)} a point of quality the pool costs {money(self.pool.cost)} an item and scores "
            f"{self.pool.quality:.4f}; the best single member at this trade-off, {single.name}, costs "
            f"{money(single.cost)} and scores {single.quality:.4f}. Net value, {money(worth)} times the score, minus "
            f"the price: {self.net_value:.4g} against {single.net_value(worth):.4g} an item. "
        )

    def net_gain_in_words(self) -> str:
        """Return how far the pool's net value is above that of the best single member; blank where it is not known."""
        if np.isnan(self.net_gain[0]):
            return ""
        write = partial(signed_money, like=self.net_gain[0])
        gain = Figure(*self.net_gain, write=write, ends=write).inline()
        return f"Net value of the pool minus that of the best single member by score: {gain} an item."

    def area_in_words(self) -> str:
        """Return what the area over the zero router is, or why there is none."""
        if self.curve is None:
            return "No prices are known: quality alone counts."
        if not np.isnan(self.area):
            return (
                f"Averaged over the costs that both reach, the pool's score is {self.area:+.4f} above the zero "
                "router's, which mixes the best members at random at the same cost."
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

    def free_in_words(self) -> str:
        """Return how good a choice among all members is; blank where every score is known."""
        if self.free is None:
            return ""
        first = "A member without a score for an item could not be chosen for it. Chosen among all members, "
        if not self.free.items:
            return f"{first}no chosen member has a score, so that this choice cannot be judged."
        return (
            f"{first}on the {self.free.items:,} of {count_of(self.items, 'item')} whose chosen member has a score: "
            f"score {self.free.score}. This is what to expect where scores are missing by chance."
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return for each member the load, what was promised and kept there, and quality and cost of it alone."""
        cost, quality = self.alone
        rows = []
        for j, name in enumerate(self.decision.expert_names):
            own = self.decision.expert == j
            promised, kept = self.means(own)
            load, scores = int(own.sum()), int(np.isfinite(self.scores[:, j]).sum())
            values = {"promised": promised, "kept": kept, "scores": scores, "quality": quality[j], "cost": cost[j]}
            rows.append({"name": name, "items": load, **values})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        promised, kept = self.means(self.answered)
        own = {
            **{name: getattr(self.pool, name) for name in ("quality", "cost")},
            **{name: getattr(self, name) for name in ("area", "gap_share", "net_value")},
            "trade_off": self.error_cost,
            "gain": dict(zip(_ENDS, self.gain, strict=True)),
            "net_gain": dict(zip(_ENDS, self.net_gain, strict=True)),
            "chosen_among_all": self.free,
            "members": self.rows(),
            "frontier": _frontier(self.curve),
        }
        values: dict[str, Any] = {
            "items": self.items,
            "compared_items": int(self.compared.sum()),
            "unanswered_items": self.n_unanswered,
            "one_score_each": self.one_score_each,
            "pool": own,
            "promised": promised,
            "kept": kept,
            "ways": {name: self.ways.get(name) for name in WAYS if name != "pool"},
        }
        return {name: _rounded(value) for name, value in values.items()}


_ENDS = ("difference", "low", "high")


def mean(values: FloatArray) -> float:
    """Return the mean; nan of nothing."""
    return float(values.mean()) if len(values) else float("nan")


def score_figure(value: float, low: float = np.nan, high: float = np.nan) -> Figure:
    """Return a mean score as it is written."""
    return Figure(value, low, high, "{:.4f}".format, "{:.4f}".format)


def _signed(value: float) -> str:
    return f"{value + 0.0:+.4f}"


def _rounded(value: Any) -> Any:
    """Return a value for JSON: numbers to six decimals, and None where one is not finite."""
    if isinstance(value, float):
        return round(float(value), 6) if np.isfinite(value) else None
    if isinstance(value, Plain):
        return _rounded(value.to_dict())
    if isinstance(value, Mapping):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


def _frontier(curve: "Curve | None") -> list[dict[str, float]] | None:
    if curve is None:
        return None
    spread = np.unique(np.rint(np.linspace(0, len(curve) - 1, 21)).astype(np.int64))
    columns = {name.replace("error_cost", "trade_off"): values for name, values in curve.columns().items()}
    return [{name: float(values[k]) for name, values in columns.items()} for k in spread]
