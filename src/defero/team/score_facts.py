"""ScoreFacts: what a team whose experts have only scores knows of these scores; and whom it is compared with."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.codec import Within
from defero.core.errors import InputError
from defero.decide.frontier import upper_hull
from defero.decide.rules import ALIKE

if TYPE_CHECKING:
    from defero.team.team import Team

LEAST_NOISE = 0.01


@dataclass(frozen=True, eq=False)
class ScoreFacts:
    """What is known of the scores of J experts.

    Attributes
    ----------
    train_score, train_price : (J,)
        Mean score and mean price of each expert in training; nan where not known.
    covariance : (J, J)
        Of the experts' scores around their expectations: who errs together.
    chosen_map : (a, b)
        The expected score s of the one who is chosen is a + b s: the best of several estimates is too high.
    held_out : float, optional
        Mean score of those who were chosen on items that were not learned from.
    """

    train_score: Annotated[FloatArray, Within(finite=False)]
    train_price: Annotated[FloatArray, Within(finite=False)]
    covariance: FloatArray
    chosen_map: tuple[float, float] = (0.0, 1.0)
    held_out: float | None = None

    def __post_init__(self) -> None:
        n_experts = len(self.train_score)
        for name, shape in {"train_price": (n_experts,), "covariance": (n_experts, n_experts)}.items():
            if getattr(self, name).shape != shape:
                raise InputError(f"must have shape {shape}, got {getattr(self, name).shape}.", argument=name)

    def promised(self, chosen: FloatArray, proba: FloatArray, available: BoolArray | None) -> FloatArray:
        """Return what is promised of those who are chosen, (n,): corrected if they are the best who is available.

        Those who share cases with the best count as the best.

        Parameters
        ----------
        chosen : (n,)
            What is expected of them.
        proba : (n, J)
            What is expected of everybody.
        available : (J,) or (n, J) bool, optional
        """
        a, b = self.chosen_map
        columns = proba.T if available is None else np.where(available, proba, 0.0).T
        highest = np.ascontiguousarray(columns).max(axis=0, initial=0.0)  # short rows take five times as long
        return np.clip(np.where(chosen >= highest - ALIKE, a + b * chosen, chosen), 0.0, 1.0)

    @property
    def level_sd(self) -> float:
        """Standard deviation of the experts' mean scores."""
        known = self.train_score[np.isfinite(self.train_score)]
        return float(known.std()) if len(known) else 0.0

    @property
    def noise(self) -> float:
        """Variance of a score around its expectation."""
        return max(LEAST_NOISE, float(np.diag(self.covariance).mean())) if len(self.covariance) else LEAST_NOISE

    def take(self, experts: IntArray) -> Self:
        """Return the facts of some experts, in this order."""
        return replace(
            self,
            train_score=self.train_score[experts],
            train_price=self.train_price[experts],
            covariance=self.covariance[np.ix_(experts, experts)],
        )

    def with_expert(self, weights: FloatArray, *, score: float, price: float | None) -> Self:
        """Return the facts with one more expert, a mix of the others by weights (J,); a score may be nan."""
        spread = self.covariance @ weights
        own = np.array([[max(float(weights @ spread), self.noise)]])
        return replace(
            self,
            train_score=np.append(self.train_score, score),
            train_price=np.append(self.train_price, np.nan if price is None else price),
            covariance=np.block([[self.covariance, spread[:, None]], [spread[None, :], own]]),
        )


def compared_experts(team: "Team", present: BoolArray | None = None) -> IntArray:
    """Return the experts of a team of scores that may be a baseline.

    These have scores in training and can be asked. Experts who joined later have few scores, so that the best of them
    is best by luck: they count only where nobody else is left.

    Parameters
    ----------
    team : Team
    present : (J,) bool, optional
        Who can be asked at all.
    """
    here = np.ones(len(team.expert_names), dtype=np.bool_) if present is None else present
    scored = here & (team.answer_counts > 0) & np.isfinite(facts_of(team).train_score)
    learned = scored & ~np.isin(team.expert_names, team.facts.joined)
    for experts in (learned, scored, here):
        if experts.any():
            return np.flatnonzero(experts)
    return np.empty(0, dtype=np.int64)


def best_single(team: "Team", present: BoolArray | None = None) -> int:
    """Return the expert with the highest mean score in training."""
    experts = compared_experts(team, present)
    return int(experts[np.nan_to_num(facts_of(team).train_score[experts], nan=-1.0).argmax()])


def best_at_cost(team: "Team", error_cost: float, price: FloatArray, present: BoolArray | None = None) -> int | None:
    """Return the expert with the least cost in training where an error costs so much; None where no price counts.

    Where no price was known in training, the mean of prices (n, J) stands for it.
    """
    if not np.isfinite(error_cost):
        return None
    facts, experts = facts_of(team), compared_experts(team, present)
    known = np.isfinite(price)
    now = np.where(known, price, 0.0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    cost = np.where(np.isfinite(facts.train_price), facts.train_price, now)[experts]
    value = error_cost * facts.train_score[experts] - cost
    return int(experts[np.nanargmax(value)]) if np.isfinite(value).any() else None


def training_hull(team: "Team", present: BoolArray | None = None) -> IntArray | None:
    """Return the zero router's experts by prices and scores of the training rows; None where these are not known."""
    facts = team.score_facts
    if facts is None:
        return None
    experts = compared_experts(team, present)
    experts = experts[np.isfinite(facts.train_price[experts]) & np.isfinite(facts.train_score[experts])]
    return experts[upper_hull(facts.train_price[experts], facts.train_score[experts])] if experts.size else None


def facts_of(team: "Team") -> ScoreFacts:
    """Return what a team knows of its experts' scores; raises for a team with classes."""
    if team.score_facts is None:
        raise InputError("must be a team whose experts have only scores, got one with classes.", argument="team")
    return team.score_facts
