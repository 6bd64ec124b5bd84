"""What a team costs on held-out cases, in the user's unit of money, beside the plain alternatives.

The frontier is the total cost by the share of cases that one expert is asked about.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from defero.core.checks.arrays import FloatArray, frozen
from defero.core.results import MODEL
from defero.core.trials.trial import WAYS, Trial, Way
from defero.core.wording import money
from defero.judge.deferral import by_gain
from defero.judge.intervals import number
from defero.judge.record.ways import WORDS


@dataclass(frozen=True, eq=False)
class CostFrontier:
    """The total cost as ever more cases are asked about, those with the largest expected saving first.

    Attributes
    ----------
    rate : (m + 1,)
        0, 1/n, ..., m/n: the share of cases that one expert is asked about; m is n where everybody can be asked.
    total : (m + 1,)
        Fees and errors per case.

    Examples
    --------
    >>> frontier = CostFrontier(np.array([0.0, 0.5, 1.0]), np.array([2.0, 1.0, 1.5]))
    >>> frontier.at(0.5), frontier.at(1.0)
    (1.0, 1.5)
    """

    rate: FloatArray
    total: FloatArray

    def at(self, share: float) -> float:
        """Return the total at a share of cases; of a share that cannot be reached the last one."""
        count = round(share * (len(self.rate) - 1) / self.rate[-1]) if self.rate[-1] else 0
        return float(self.total[min(count, len(self.total) - 1)])

    def to_dict(self, *, steps: int = 10) -> list[dict[str, Any]]:
        """Return plain values for JSON at 0, 10, ..., 100 %; null where too few cases have somebody to ask."""
        reached = self.rate[-1] + 1e-9
        shares = [step / steps for step in range(steps + 1)]
        return [{"asked": one, "total": number(self.at(one)) if one <= reached else None} for one in shares]


def cost_frontier(trial: Trial) -> CostFrontier:
    """Return the frontier of a trial: one cumulative sum over its cases, sorted by expected gain.

    A case goes to the best expert who is proven and whose answer is recorded; the answer is final.
    """
    n_items, n_classes = len(trial), len(trial.classes)
    matrix = 1.0 - np.eye(n_classes) if trial.cost_matrix is None else trial.cost_matrix
    decision = trial.decision
    open_to = np.flatnonzero(decision.best_expert != MODEL)
    order = open_to[by_gain((decision.best_value - decision.model_value)[open_to])]
    whom, truth = decision.best_expert[order], trial.label_idx
    of_model = matrix[truth, trial.model_idx]
    of_expert = matrix[truth[order], trial.answer_idx[order, whom]]
    if trial.question_fees is not None:
        of_expert = of_expert + trial.question_fees[order, whom]
    total = of_model.sum() + np.concatenate([[0.0], np.cumsum(of_expert - of_model[order])])
    return CostFrontier(frozen(np.arange(len(order) + 1) / max(n_items, 1)), frozen(total / max(n_items, 1)))


@dataclass(frozen=True)
class MeanCost:
    """A mean over cases with its 95 % interval (Student's t).

    >>> mean_cost(np.array([0.0, 1.0, 0.0, 1.0])).mean
    0.5
    """

    mean: float
    low: float
    high: float

    def to_dict(self, n_items: int) -> dict[str, Any]:
        """Return plain values for JSON: per case, and for all cases."""
        return {
            "per_case": number(self.mean),
            "low": number(self.low),
            "high": number(self.high),
            "total": number(self.mean * n_items),
        }


def mean_cost(values: FloatArray, *, level: float = 0.95) -> MeanCost:
    """Return the mean of (n,) values with Student's interval; equal values have one of no width."""
    if len(values) < 2:
        return MeanCost(float(values.mean()) if len(values) else math.nan, math.nan, math.nan)
    mean = float(values.mean())
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(len(values)))
    return MeanCost(mean, mean - half, mean + half)


@dataclass(frozen=True)
class WayCost:
    """What one way of settling the cases costs.

    Attributes
    ----------
    name : str
        One of `WAYS`.
    spent, errors : float
        Fees of questions and cost of errors, per case.
    total : MeanCost
        Both.
    against_model, against_everybody : MeanCost, optional
        Net benefit: what this way saves per case against the model alone and against a vote of everybody. The
        intervals are paired, of the differences case by case. None against itself, or where there is no such way.
    against_team : MeanCost, optional
        The same against the team; its interval holds for all ways together (Bonferroni).
    """

    name: str
    spent: float
    errors: float
    total: MeanCost
    against_model: MeanCost | None
    against_everybody: MeanCost | None
    against_team: MeanCost | None = None

    @property
    def words(self) -> str:
        """The way in words."""
        return WORDS[self.name]

    def to_dict(self, n_items: int) -> dict[str, Any]:
        """Return plain values for JSON."""
        benefits = {"against_model": self.against_model, "against_everybody": self.against_everybody}
        return {
            "spent_on_questions": number(self.spent),
            "cost_of_errors": number(self.errors),
            "total": self.total.to_dict(n_items),
            **{name: None if one is None else one.to_dict(n_items) for name, one in benefits.items()},
        }


@dataclass(frozen=True)
class CostRecord:
    """What every way costs on the same cases.

    Attributes
    ----------
    n_items : int
    ways : tuple of WayCost
    ask : str
        The way of the team.
    everybody : str or None
        The vote of everybody that `against_everybody` is about.
    frontier : CostFrontier
        The total cost by the share of cases that one expert is asked about.
    unequal : bool
        Whether errors cost differently, so that accuracy does not say which way is best.
    """

    n_items: int
    ways: tuple[WayCost, ...]
    ask: str
    everybody: str | None
    frontier: CostFrontier
    unequal: bool = False

    @property
    def like(self) -> float:
        """The lowest total per case, by whose size amounts are rounded."""
        return min(one.total.mean for one in self.ways)

    @property
    def team(self) -> WayCost:
        """What the team costs."""
        return self.of(self.ask)

    def of(self, name: str) -> WayCost:
        """Return what a way costs."""
        return next(one for one in self.ways if one.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: those of the team, and of every way."""
        return {
            **self.team.to_dict(self.n_items),
            "everybody": self.everybody,
            "interval": "Student's t, paired for differences, 95 %",
            "ways": {one.name: one.to_dict(self.n_items) for one in self.ways},
            "frontier": self.frontier.to_dict(),
        }


def cost_record(trial: Trial) -> CostRecord | None:
    """Return what every way of a trial costs; None where neither fees nor costs of errors were given."""
    costs_given = trial.fees_given or trial.cost_matrix is not None
    if not costs_given or not len(trial) or not trial.ways:
        return None
    by_name = {way.name: way for way in trial.ways}
    everybody = next((name for name in ("everybody_bayes", "everybody_majority") if name in by_name), None)
    others = by_name["model"], None if everybody is None else by_name[everybody]
    team, level = by_name[trial.ask], 1 - 0.05 / max(1, len(by_name) - 1)
    ways = tuple(_way_cost(by_name[name], others, team, level=level) for name in WAYS if name in by_name)
    unequal = trial.model_label_idx is not None
    return CostRecord(len(trial), ways, trial.ask, everybody, cost_frontier(trial), unequal)


def cheaper_way(costs: CostRecord) -> str | None:
    """Say which way costs less than the team, beyond chance; None where there is none."""
    cheaper = [one for one in costs.ways if one.against_team is not None and one.against_team.low > 0]
    if not cheaper:
        return None
    one = min(cheaper, key=lambda way: way.total.mean)
    assert one.against_team is not None
    team, total, saved = (
        money(value, like=costs.like) for value in (costs.team.total.mean, one.total.mean, one.against_team.mean)
    )
    return (
        f"Another way of asking costs less than the team ({team} per case), beyond chance: {one.words} costs {total} "
        f"per case and saves {saved}."
    )


def _way_cost(way: Way, others: Sequence[Way | None], team: Way, *, level: float) -> WayCost:
    assert way.errors is not None
    benefits = [None if one is None or one is way else mean_cost(one.cost - way.cost) for one in others]
    return WayCost(
        way.name,
        spent=float(way.fees.mean()),
        errors=float(np.mean(way.errors)),
        total=mean_cost(way.cost),
        against_model=benefits[0],
        against_everybody=benefits[1],
        against_team=None if way is team else mean_cost(team.cost - way.cost, level=level),
    )
