"""Ways of asking side by side: right, questions, promised and kept, and cost in errors and in money."""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from defero.core.checks.arrays import FloatArray
from defero.core.trial import WAYS, Trial, Way
from defero.core.wording import Plain, plain
from defero.judge.accuracy import DeferralCurve, trial_curve
from defero.judge.intervals import Comparison, compare, holm, wilson_interval

WORDS = {
    "one": "asking one expert",
    "sequential": "asking one after the other",
    "panel": "asking a panel",
    "everybody_majority": "a majority vote of everybody",
    "everybody_bayes": "a Bayes vote of everybody",
    "best_expert": "asking the best expert who answered",
    "random_expert": "asking a random expert",
    "model": "the model alone",
}
LEVEL = 0.05
"""A plain way beats the team where Holm's p value over the plain ways is at most this."""


@dataclass(frozen=True)
class MeanCost(Plain):
    """A mean over n cases with its 95 % interval (Student's t).

    >>> mean_cost(np.array([0.0, 1.0, 0.0, 1.0])).per_case
    0.5
    """

    HIDDEN: ClassVar[tuple[str, ...]] = ("n",)
    MORE: ClassVar[tuple[str, ...]] = ("total",)

    per_case: float
    low: float
    high: float
    n: int

    @property
    def total(self) -> float:
        """The sum over all cases."""
        return self.per_case * self.n


def mean_cost(values: FloatArray, *, level: float = 0.95) -> MeanCost:
    """Return the mean of (n,) values with Student's interval; equal values have one of no width."""
    if len(values) < 2:
        return MeanCost(float(values.mean()) if len(values) else math.nan, math.nan, math.nan, len(values))
    mean = float(values.mean())
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(len(values)))
    return MeanCost(mean, mean - half, mean + half, len(values))


@dataclass(frozen=True)
class WayRecord(Plain):
    """One way of settling the cases.

    Attributes
    ----------
    name : str
        One of `WAYS`.
    accuracy, low, high : float
        The share of right labels and its 95 % interval.
    questions : float
        Answers heard per case, on average.
    cost : float
        Fees and errors per case, in units of one error.
    promised : float
        Mean P(the label is right) that was stated; nan where nothing is promised.
    minus_team : Comparison, optional
        This way (first) against the team (second); None for the team itself and for a random expert.
    spent, errors : float
        Fees of questions and cost of errors, per case; nan where neither fees nor costs of errors were given.
    total : MeanCost, optional
        Both; None as before.
    against_model, against_everybody : MeanCost, optional
        Net benefit: what this way saves per case against the model alone and against a vote of everybody. The
        intervals are paired, of the differences case by case. None against itself, or where there is no such way.
    against_team : MeanCost, optional
        The same against the team; its interval holds for all ways together (Bonferroni).
    """

    HIDDEN: ClassVar[tuple[str, ...]] = (
        *("name", "spent", "errors", "total", "against_model", "against_everybody", "against_team"),
    )
    MORE: ClassVar[tuple[str, ...]] = ("kept",)

    name: str
    accuracy: float
    low: float
    high: float
    questions: float
    cost: float
    promised: float
    minus_team: Comparison | None = None
    spent: float = math.nan
    errors: float = math.nan
    total: MeanCost | None = None
    against_model: MeanCost | None = None
    against_everybody: MeanCost | None = None
    against_team: MeanCost | None = None

    @property
    def kept(self) -> float:
        """How often the label was right: what became of `promised`."""
        return self.accuracy

    @property
    def words(self) -> str:
        """The way in words."""
        return WORDS[self.name]

    @property
    def money(self) -> dict[str, Any]:
        """Plain values of what the way costs."""
        values = {"spent_on_questions": self.spent, "cost_of_errors": self.errors, "total": self.total}
        return plain({**values, "against_model": self.against_model, "against_everybody": self.against_everybody})


def way_records(trial: Trial) -> tuple[WayRecord, ...]:
    """Judge every way of a trial, in the order of `WAYS`; in money where fees or costs of errors were given."""
    by_name = {way.name: way for way in trial.ways if len(trial)}
    return tuple(_record(by_name[name], trial, by_name) for name in WAYS if name in by_name)


def everybody_of(names: Container[str]) -> str | None:
    """Return the vote of everybody that the other ways are held against."""
    return next((name for name in ("everybody_bayes", "everybody_majority") if name in names), None)


def better_than_team(records: Sequence[WayRecord], ask: str) -> list[WayRecord]:
    """Return the plain ways that are right more often than the team, beyond chance, and the team's own better ones.

    By McNemar's exact test, with Holm's correction for being several.
    """
    rivals = [one for one in records if one.minus_team is not None and one.name != ask]
    adjusted = holm([one.minus_team.p_value for one in rivals if one.minus_team is not None])
    return [
        one
        for one, p_value in zip(rivals, adjusted, strict=True)
        if one.minus_team is not None and one.minus_team.low > 0 and p_value <= LEVEL
    ]


def _record(way: Way, trial: Trial, by_name: Mapping[str, Way]) -> WayRecord:
    right = float(way.right.sum())
    low, high = wilson_interval(right, len(trial))
    compared = way.label_idx is not None and way.name != trial.ask
    return WayRecord(
        way.name,
        right / len(trial),
        low,
        high,
        questions=float(way.questions.mean()),
        cost=float(way.cost.mean()),
        promised=math.nan if way.promised is None else float(way.promised.mean()),
        minus_team=compare(way.right > 0.5, trial.team_correct) if compared else None,
        **(_money(way, trial, by_name) if costs_given(trial) else {}),
    )


def costs_given(trial: Trial) -> bool:
    """Return whether costs are in the user's unit of money."""
    return trial.fees_given or trial.cost_matrix is not None


def _money(way: Way, trial: Trial, by_name: Mapping[str, Way]) -> dict[str, Any]:
    assert way.errors is not None
    level = 1 - 0.05 / max(1, len(by_name) - 1)

    def saved(other: str | None, level: float = 0.95) -> MeanCost | None:
        if other is None or other == way.name:
            return None
        return mean_cost(by_name[other].cost - way.cost, level=level)

    return {
        "spent": float(way.fees.mean()),
        "errors": float(np.mean(way.errors)),
        "total": mean_cost(way.cost),
        "against_model": saved("model"),
        "against_everybody": saved(everybody_of(by_name)),
        "against_team": saved(trial.ask, level),
    }


@dataclass(frozen=True)
class CostRecord:
    """What every way costs on the same cases.

    Attributes
    ----------
    ways : tuple of WayRecord
    ask : str
        The way of the team.
    curve : DeferralCurve
        The total cost by the share of cases that one expert is asked about.
    unequal : bool
        Whether errors cost differently, so that accuracy does not say which way is best.
    """

    ways: tuple[WayRecord, ...]
    ask: str
    curve: DeferralCurve
    unequal: bool = False

    @property
    def like(self) -> float:
        """The lowest total per case, by whose size amounts are rounded."""
        return min(one.cost for one in self.ways)

    @property
    def team(self) -> WayRecord:
        """What the team costs."""
        return self.of(self.ask)

    def of(self, name: str) -> WayRecord:
        """Return what a way costs."""
        return next(one for one in self.ways if one.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: those of the team, and of every way."""
        return {
            **self.team.money,
            "everybody": everybody_of([one.name for one in self.ways]),
            "interval": "Student's t, paired for differences, 95 %",
            "ways": {one.name: one.money for one in self.ways},
            "frontier": self.curve.costs(),
        }


def cost_record(trial: Trial, ways: tuple[WayRecord, ...]) -> CostRecord | None:
    """Return what every way of a trial costs; None where neither fees nor costs of errors were given."""
    if not costs_given(trial) or not ways:
        return None
    return CostRecord(ways, trial.ask, trial_curve(trial), trial.model_label_idx is not None)
