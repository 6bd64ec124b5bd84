"""Ways of asking side by side: right, questions, cost, promised and kept, and where a plain one beats the team."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.several_tests import holm_adjusted
from defero.core.trials.trial import ASK, PLAIN, WAYS, Trial, Way
from defero.core.wording import percent
from defero.judge.intervals import number, wilson_interval
from defero.judge.paired import Comparison, compare

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
class WayRecord:
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
    """

    name: str
    accuracy: float
    low: float
    high: float
    questions: float
    cost: float
    promised: float
    minus_team: Comparison | None = None

    @property
    def kept(self) -> float:
        """How often the label was right: what became of `promised`."""
        return self.accuracy

    @property
    def words(self) -> str:
        """The way in words."""
        return WORDS[self.name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        names = ("accuracy", "low", "high", "questions", "cost", "promised", "kept")
        values: dict[str, Any] = {name: number(getattr(self, name)) for name in names}
        return {**values, "minus_team": None if self.minus_team is None else self.minus_team.to_dict()}


def way_records(trial: Trial) -> tuple[WayRecord, ...]:
    """Judge every way of a trial, in the order of `WAYS`."""
    by_name = {way.name: way for way in trial.ways}
    return tuple(_record(by_name[name], trial) for name in WAYS if name in by_name and len(trial))


def ways_dict(records: Sequence[WayRecord]) -> dict[str, Any]:
    """Return every way's plain values by its name; None for ways that the team does not have."""
    known = {record.name: record.to_dict() for record in records}
    return {name: known.get(name) for name in WAYS}


def better_than_team(records: Sequence[WayRecord], ask: str) -> list[WayRecord]:
    """Return the plain ways that are right more often than the team, beyond chance, and the team's own better ones.

    By McNemar's exact test, with Holm's correction for being several.
    """
    rivals = [one for one in records if one.minus_team is not None and one.name != ask]
    adjusted = holm_adjusted(np.array([one.minus_team.p_value for one in rivals if one.minus_team is not None]))
    return [
        one
        for one, p_value in zip(rivals, adjusted, strict=True)
        if one.minus_team is not None and one.minus_team.low > 0 and p_value <= LEVEL
    ]


def better_ways(records: Sequence[WayRecord], ask: str) -> str | None:
    """Say which other ways of asking are right more often than the team; None where none is.

    Of the plain ways and of the team's own ways, the one with the lowest cost each. The model alone has a sentence of
    its own elsewhere.
    """
    team = next((one for one in records if one.name == ask), None)
    better = [one for one in better_than_team(records, ask) if one.name != "model"]
    chosen = [min(some, key=lambda one: one.cost) for some in (_among(better, PLAIN), _among(better, ASK)) if some]
    if team is None or not chosen:
        return None
    clauses = [
        f"{one.words} is right on {percent(one.accuracy)} with {one.questions:.2f} questions per case"
        f"{_points(one.minus_team)}"
        for one in chosen
    ]
    return (
        f"Another way of asking is right more often than the team ({percent(team.accuracy)} with "
        f"{team.questions:.2f} questions per case): {'; '.join(clauses)}."
    )


def _among(records: Sequence[WayRecord], names: Sequence[str]) -> list[WayRecord]:
    return [one for one in records if one.name in names]


def _points(gain: Comparison | None) -> str:
    if gain is None:
        return ""
    return f" ({100 * gain.difference:+.1f} points, 95 % interval {100 * gain.low:+.1f} to {100 * gain.high:+.1f})"


def _record(way: Way, trial: Trial) -> WayRecord:
    right = float(way.right.sum())
    low, high = wilson_interval(right, len(trial))
    compared = way.label_idx is not None and way.name != trial.ask
    return WayRecord(
        name=way.name,
        accuracy=right / len(trial),
        low=low,
        high=high,
        questions=float(way.questions.mean()),
        cost=float(way.cost.mean()),
        promised=math.nan if way.promised is None else float(way.promised.mean()),
        minus_team=compare(way.right > 0.5, trial.team_correct) if compared else None,
    )
