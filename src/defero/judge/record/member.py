"""One member of a team, an expert or the model: its accuracy, and the calibration of its probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.trials.trial import Trial
from defero.judge.calibration import expected_calibration_error
from defero.judge.intervals import Share, number
from defero.judge.paired import Comparison, compare
from defero.judge.record.promise import PromiseRecord, TeamPromises
from defero.judge.smooth import smooth_calibration_interval

MOST_RESAMPLES, FEWEST_RESAMPLES = 4_000, 50
"""Of the smooth errors of all experts together, and of one: a crowd of a thousand takes seconds, not minutes."""


@dataclass(frozen=True)
class ExpertRecord:
    """One expert: accuracy on all answers and when asked, and calibration of the estimates.

    Attributes
    ----------
    name : str
    alone : Share
        Right on every case that they answered.
    promise : PromiseRecord
        On the cases that the team gave them: the mean probability of being right that the team went by, and how often
        they were. The promise is nan where never asked, and where the team goes by weights, which promise nothing.
    calibration_error : float
        ECE on every case that they answered (20 bins); nan for none, and for weights.
    smooth_error, smooth_low, smooth_high : float
        The same without bins (smooth calibration error), and its 95 % interval.
    gain : Comparison
        The team (first) against this expert (second), on the cases that they answered.
    training_answers : int or None
        How many of their answers were learned from; None where nobody knows.
    """

    name: str
    alone: Share
    promise: PromiseRecord
    calibration_error: float
    smooth_error: float
    smooth_low: float
    smooth_high: float
    gain: Comparison
    training_answers: int | None = None

    @property
    def asked(self) -> Share:
        """Right on the cases that the team gave them."""
        return self.promise.kept

    @property
    def promised(self) -> float:
        """The mean probability of being right on those cases."""
        return self.promise.promised

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "name": self.name,
            "alone": self.alone.to_dict(),
            "asked": self.asked.to_dict(),
            "promise": self.promise.to_dict(),
            "calibration_error": number(self.calibration_error),
            "smooth_error": number(self.smooth_error),
            "smooth_error_low": number(self.smooth_low),
            "smooth_error_high": number(self.smooth_high),
            "team_minus_expert": self.gain.to_dict(),
            "training_answers": self.training_answers,
        }


@dataclass(frozen=True)
class ModelCalibration:
    """The model's own probability of being right, beside how often it is.

    Attributes
    ----------
    calibration_error : float
        ECE on every case (20 bins); nan where the team goes by weights, as are the next three.
    smooth_error, smooth_low, smooth_high : float
        The same without bins, and its 95 % interval.
    promise : PromiseRecord
        On the cases that the model decides; nan where it decides none.
    """

    calibration_error: float
    smooth_error: float
    smooth_low: float
    smooth_high: float
    promise: PromiseRecord

    @property
    def decided(self) -> Share:
        """Right on the cases that the model decides."""
        return self.promise.kept

    @property
    def promised(self) -> float:
        """The mean probability of being right on those cases."""
        return self.promise.promised

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "calibration_error": number(self.calibration_error),
            "smooth_error": number(self.smooth_error),
            "smooth_error_low": number(self.smooth_low),
            "smooth_error_high": number(self.smooth_high),
            "decided": self.decided.to_dict(),
            "promise": self.promise.to_dict(),
        }


def expert_records(
    trial: Trial,
    promises: TeamPromises,
    training_answers: Sequence[int] | None = None,
    *,
    rng: np.random.Generator,
) -> tuple[ExpertRecord, ...]:
    """Judge every expert of a trial; `promises` are those of `team_promises`."""
    proba, correct, observed = trial.scores.expert_proba, trial.expert_correct, trial.observed
    team_right, n_experts = trial.team_correct, len(trial.expert_names)
    error = np.full(n_experts, math.nan)
    smooth = np.full((3, n_experts), math.nan)
    if trial.scores.link != "weight":
        error = expected_calibration_error(proba, correct, observed=observed, average=None)
        draws = max(FEWEST_RESAMPLES, min(200, MOST_RESAMPLES // max(1, n_experts)))
        smooth_errors = smooth_calibration_interval(
            proba, correct, observed=observed, average=None, n_resamples=draws, rng=rng
        )
        smooth = np.stack([smooth_errors.value, smooth_errors.low, smooth_errors.high])
    records = []
    for j, name in enumerate(trial.expert_names):
        answered, right = observed[:, j], correct[:, j]
        records.append(
            ExpertRecord(
                name,
                alone=Share(int(right.sum()), int(answered.sum())),
                promise=promises.experts[j],
                calibration_error=float(error[j]),
                smooth_error=float(smooth[0, j]),
                smooth_low=float(smooth[1, j]),
                smooth_high=float(smooth[2, j]),
                gain=compare(team_right[answered], right[answered]),
                training_answers=None if training_answers is None else int(training_answers[j]),
            )
        )
    return tuple(records)


def model_calibration(trial: Trial, promises: TeamPromises, *, rng: np.random.Generator) -> ModelCalibration:
    """Judge the model's own probabilities in a trial; `promises` are those of `team_promises`."""
    claimed, right = trial.model_proba, trial.model_correct
    if trial.scores.link == "weight":
        return ModelCalibration(math.nan, math.nan, math.nan, math.nan, promises.model)
    smooth = smooth_calibration_interval(claimed, right, rng=rng)
    return ModelCalibration(
        calibration_error=float(expected_calibration_error(claimed, right)),
        smooth_error=float(smooth.value),
        smooth_low=float(smooth.low),
        smooth_high=float(smooth.high),
        promise=promises.model,
    )
