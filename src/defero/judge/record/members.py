"""The members of a team: their accuracy, what the team promised of them, and how calibrated their probabilities are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.display import Plain, number
from defero.core.trial import Trial
from defero.judge.calibration import expected_calibration_error
from defero.judge.groups import decision_calibration
from defero.judge.intervals import Comparison, Share, clopper_pearson_interval, compare, simultaneous_level
from defero.judge.smooth import smooth_calibration_interval

Verdict = Literal["less", "more", "as promised", "too few"]
"""What became of a promise."""

FEW = 30
"""Fewer cases than this never show that a promise was kept."""


@dataclass(frozen=True)
class PromiseRecord:
    """A promise, what was kept of it, and the interval that judges it.

    The interval is Clopper and Pearson's. Where several promises are judged together it is simultaneous (Bonferroni):
    if all of them are calibrated, then in at most 5 % of all studies any promise lies outside its interval, and in at
    most 2.5 % any lies above it.

    Attributes
    ----------
    promised : float
        The mean probability of being right; nan where nothing was promised.
    kept : Share
        How many of these cases came out right.
    judged_together : int
        How many promises are judged together with this one, itself included.

    Examples
    --------
    >>> PromiseRecord(0.9, Share(88, 100)).verdict, PromiseRecord(0.9, Share(70, 100)).verdict
    ('as promised', 'less')
    >>> PromiseRecord(0.9, Share(22, 24)).verdict, PromiseRecord(0.9, Share(0, 0)).verdict
    ('too few', None)
    """

    promised: float
    kept: Share
    judged_together: int = 1

    @property
    def level(self) -> float:
        """Level of the interval."""
        return simultaneous_level(0.95, self.judged_together)

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end of what was kept; a promise outside was not kept, or more than kept."""
        return clopper_pearson_interval(self.kept.right, self.kept.total, level=self.level)

    @property
    def verdict(self) -> Verdict | None:
        """What became of the promise; None where nothing was promised or no case counts.

        "less" and "more": the promise lies above, or below, the interval. "too few": it lies inside, and there are
        fewer than `FEW` cases.
        """
        if self.kept.total == 0 or math.isnan(self.promised):
            return None
        low, high = self.interval
        if not low <= self.promised <= high:
            return "less" if self.promised > high else "more"
        return "too few" if self.kept.total < FEW else "as promised"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        low, high = self.interval
        return {
            "promised": number(self.promised),
            "kept": number(self.kept.value),
            "low": number(low),
            "high": number(high),
            "level": self.level,
            "n": self.kept.total,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class TeamPromises:
    """The promises of a team on held-out cases.

    Attributes
    ----------
    total : PromiseRecord
        Over all cases, whoever decides; judged alone.
    model : PromiseRecord
        On the cases that the model decides.
    experts : J PromiseRecords
        On the cases that each expert gets.
    all_experts : PromiseRecord
        On all deferred cases. With hundreds of experts each alone may have too few.
    """

    total: PromiseRecord
    model: PromiseRecord
    experts: tuple[PromiseRecord, ...]
    all_experts: PromiseRecord


def promised_right(trial: Trial) -> FloatArray:
    """Return the probability of being right that the team went by for each case's decider, (n,); nan for weights."""
    scores, expert_idx = trial.scores, trial.decision.expert
    if scores.link == "weight":
        return np.full(len(trial), math.nan)
    if not trial.expert_names:
        return trial.model_proba
    if trial.decision.p_right is not None:
        return trial.decision.p_right
    of_expert = scores.expert_proba[np.arange(len(trial)), np.maximum(expert_idx, 0)]
    return np.where(trial.decision.deferred, of_expert, trial.model_proba)


def team_promises(trial: Trial) -> TeamPromises:
    """Judge the promises of a trial: the total alone; the members, and all experts as one, together.

    The total is of the way that the team asks in; the members are judged on the cases that they would decide alone.
    """
    promised, right, deferred = (
        promised_right(trial),
        trial.decider_label_idx == trial.label_idx,
        trial.decision.deferred,
    )
    expert_proba = np.tile(promised[:, None], (1, len(trial.expert_names)))  # of the chosen one, the others unread
    if trial.scores.link == "weight":
        expert_proba = trial.scores.expert_proba
    by_expert = decision_calibration(trial.decision, expert_proba, trial.expert_correct)
    n_asked = int((by_expert.count > 0).sum())
    together = max(1, n_asked + int(not deferred.all()) + int(n_asked > 1))
    weights = trial.scores.link == "weight"

    def over(cases: Any, judged_together: int) -> PromiseRecord:
        mean = float(promised[cases].mean()) if promised[cases].size else math.nan
        return PromiseRecord(mean, Share(int(right[cases].sum()), int(right[cases].size)), judged_together)

    experts = tuple(
        PromiseRecord(math.nan if weights else float(mean), Share(int(hits), int(count)), together)
        for mean, hits, count in zip(by_expert.promised, by_expert.right, by_expert.count, strict=True)
    )
    total, way = over(np.ones(len(trial), dtype=np.bool_), 1), trial.way
    if way is not None:
        mean = math.nan if way.promised is None or not len(trial) else float(way.promised.mean())
        total = PromiseRecord(mean, Share(int(trial.team_correct.sum()), len(trial)))
    return TeamPromises(total, over(~deferred, together), experts, over(deferred, together))


MOST_RESAMPLES, FEWEST_RESAMPLES = 4_000, 50
"""Of the smooth errors of all experts together, and of one: a crowd of a thousand takes seconds, not minutes."""


@dataclass(frozen=True)
class MemberRecord(Plain):
    """An expert or the model: accuracy on all answers and when asked, and calibration of the estimates.

    Attributes
    ----------
    name : str
    alone : Share
        Right on every case that they answered.
    promise : PromiseRecord
        On the cases that the team gave them: the mean probability of being right that the team went by, and how often
        they were. The promise is nan where never asked, and where the team goes by weights, which promise nothing.
    team_minus_expert : Comparison
        The team (first) against this member (second), on the cases that they answered.
    training_answers : int or None
        How many of their answers were learned from; None where nobody knows.
    calibration_error : float
        ECE on every case that they answered (20 bins); nan for none, and for weights, as are the next three.
    smooth_error, smooth_error_low, smooth_error_high : float
        The same without bins (smooth calibration error), and its 95 % interval.
    """

    JSON: ClassVar[tuple[str, ...]] = (
        *("name", "alone", "asked", "promise", "calibration_error", "smooth_error", "smooth_error_low"),
        *("smooth_error_high", "team_minus_expert", "training_answers"),
    )

    name: str
    alone: Share
    promise: PromiseRecord
    team_minus_expert: Comparison
    training_answers: int | None = None
    calibration_error: float = math.nan
    smooth_error: float = math.nan
    smooth_error_low: float = math.nan
    smooth_error_high: float = math.nan

    @property
    def asked(self) -> Share:
        """Right on the cases that the team gave them."""
        return self.promise.kept

    @property
    def promised(self) -> float:
        """The mean probability of being right on those cases."""
        return self.promise.promised


def expert_records(
    trial: Trial, promises: TeamPromises, training_answers: Sequence[int] | None = None, *, rng: np.random.Generator
) -> tuple[MemberRecord, ...]:
    """Judge every expert of a trial; `promises` are those of `team_promises`."""
    proba, correct, observed = trial.scores.expert_proba, trial.expert_correct, trial.observed
    n_experts, weights = len(trial.expert_names), trial.scores.link == "weight"
    errors: list[list[float]] = [[] for _ in trial.expert_names]
    if not weights:
        draws = max(FEWEST_RESAMPLES, min(200, MOST_RESAMPLES // max(1, n_experts)))
        binned = expected_calibration_error(proba, correct, observed=observed, average=None)
        smooth = smooth_calibration_interval(
            proba, correct, observed=observed, average=None, n_resamples=draws, rng=rng
        )
        errors = np.stack([binned, smooth.value, smooth.low, smooth.high], axis=1).tolist()
    return tuple(
        MemberRecord(
            name,
            Share(int(correct[:, j].sum()), int(observed[:, j].sum())),
            promises.experts[j],
            compare(trial.team_correct[observed[:, j]], correct[observed[:, j], j]),
            None if training_answers is None else int(training_answers[j]),
            *errors[j],
        )
        for j, name in enumerate(trial.expert_names)
    )


def model_record(trial: Trial, promises: TeamPromises, *, rng: np.random.Generator) -> MemberRecord:
    """Judge the model of a trial; `promises` are those of `team_promises`."""
    claimed, right = trial.model_proba, trial.model_correct
    errors = []
    if trial.scores.link != "weight":
        smooth = smooth_calibration_interval(claimed, right, rng=rng)
        errors = [expected_calibration_error(claimed, right), smooth.value, smooth.low, smooth.high]
    gain, alone = compare(trial.team_correct, right), Share(int(right.sum()), len(trial))
    return MemberRecord("model", alone, promises.model, gain, None, *map(float, errors))
