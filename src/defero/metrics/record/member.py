"""One member of a team, an expert or the model: its accuracy, and the calibration of its probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from defero.core.trial import Trial
from defero.metrics.probabilities.binned import expected_calibration_error
from defero.metrics.probabilities.decision_calibration import decision_calibration
from defero.metrics.probabilities.smooth import smooth_calibration_interval
from defero.metrics.statistics.intervals import Share, clopper_pearson_interval, number, simultaneous_level
from defero.metrics.statistics.paired import Comparison, compare

Kept = Literal["less", "more", "as promised", "too few"]
"""What became of a promise."""

FEW, VERY_FEW = 30, 10
"""Below so many cases a share says little, or nothing."""
SMALL_GAP = 0.02
"""A promise missed by less than this counts as kept, however many cases prove the gap."""
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
    asked : Share
        Right on the cases that the team gave them.
    promised : float
        The mean probability of being right that the team went by on those; nan where never asked, and where the
        team goes by weights, which promise nothing.
    kept_promise : "less", "more", "as promised", "too few" or None
        What became of that promise: see `kept_promise`.
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
    asked: Share
    promised: float
    kept_promise: Kept | None
    calibration_error: float
    smooth_error: float
    smooth_low: float
    smooth_high: float
    gain: Comparison
    training_answers: int | None = None

    @property
    def as_promised(self) -> bool | None:
        """Was the promise kept? None if there was none, or too few cases to tell."""
        return as_promised(self.kept_promise)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "name": self.name,
            "alone": self.alone.to_dict(),
            "asked": self.asked.to_dict(),
            "promised_when_asked": number(self.promised),
            "kept_promise": self.kept_promise,
            "honest": self.as_promised,
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
        ECE on every case (20 bins); nan where the team goes by weights, as are the next four.
    smooth_error, smooth_low, smooth_high : float
        The same without bins, and its 95 % interval.
    decided : Share
        Right on the cases that the model decides.
    promised : float
        The mean probability that the team went by on those; nan where it decides none.
    kept_promise : "less", "more", "as promised", "too few" or None
    """

    calibration_error: float
    smooth_error: float
    smooth_low: float
    smooth_high: float
    decided: Share
    promised: float
    kept_promise: Kept | None

    @property
    def as_promised(self) -> bool | None:
        """Was the promise kept? None if there was none, or too few cases to tell."""
        return as_promised(self.kept_promise)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "calibration_error": number(self.calibration_error),
            "smooth_error": number(self.smooth_error),
            "smooth_error_low": number(self.smooth_low),
            "smooth_error_high": number(self.smooth_high),
            "decided": self.decided.to_dict(),
            "promised_when_deciding": number(self.promised),
            "kept_promise": self.kept_promise,
            "honest": self.as_promised,
        }


def kept_promise(promised: float, observed: Share, *, n_members: int = 1) -> Kept | None:
    """Compare a promise with the share of right answers; None where nothing was promised.

    "less" and "more" say that the promise lies outside the exact interval of what was kept (Clopper and Pearson) and
    misses it by `SMALL_GAP` at least. The interval is simultaneous over `n_members` promises (Bonferroni): at most
    one in twenty teams that keep all promises gets another result for any. Fewer than `VERY_FEW` cases are always
    "too few", and fewer than `FEW` never prove a promise kept.

    >>> kept_promise(0.9, Share(88, 100)), kept_promise(0.9, Share(70, 100)), kept_promise(0.9, Share(100, 100))
    ('as promised', 'less', 'more')
    >>> kept_promise(0.9, Share(0, 1)), kept_promise(0.9, Share(22, 24)), kept_promise(0.9, Share(0, 0))
    ('too few', 'too few', None)
    """
    if observed.total == 0 or math.isnan(promised):
        return None
    if observed.total < VERY_FEW:
        return "too few"
    low, high = clopper_pearson_interval(observed.right, observed.total, level=simultaneous_level(0.95, n_members))
    if not low <= promised <= high and abs(promised - observed.value) >= SMALL_GAP:
        return "less" if promised > high else "more"
    return "too few" if observed.total < FEW else "as promised"


def as_promised(word: Kept | None) -> bool | None:
    """Return whether a promise was kept; None where that is unknown.

    >>> as_promised("as promised"), as_promised("less"), as_promised("too few")
    (True, False, None)
    """
    return None if word in (None, "too few") else word == "as promised"


def expert_records(
    trial: Trial, training_answers: Sequence[int] | None = None, *, rng: np.random.Generator
) -> tuple[ExpertRecord, ...]:
    """Judge every expert of a trial."""
    proba, correct, observed = trial.scores.expert_proba, trial.expert_correct, trial.observed
    team_right, n_experts = trial.team_correct, len(trial.expert_names)
    when_asked = decision_calibration(trial.decision, proba, correct)
    promised = error = np.full(n_experts, math.nan)
    smooth = np.full((3, n_experts), math.nan)
    if trial.scores.link != "weight":
        promised = when_asked.promised
        error = expected_calibration_error(proba, correct, observed=observed, average=None)
        draws = max(FEWEST_RESAMPLES, min(200, MOST_RESAMPLES // max(1, n_experts)))
        smooth_errors = smooth_calibration_interval(
            proba, correct, observed=observed, average=None, n_resamples=draws, rng=rng
        )
        smooth = np.stack([smooth_errors.value, smooth_errors.low, smooth_errors.high])
    n_members, records = n_promises(trial), []
    for j, name in enumerate(trial.expert_names):
        answered, right = observed[:, j], correct[:, j]
        asked = Share(int(when_asked.right[j]), int(when_asked.count[j]))
        records.append(
            ExpertRecord(
                name,
                alone=Share(int(right.sum()), int(answered.sum())),
                asked=asked,
                promised=float(promised[j]),
                kept_promise=kept_promise(float(promised[j]), asked, n_members=n_members),
                calibration_error=float(error[j]),
                smooth_error=float(smooth[0, j]),
                smooth_low=float(smooth[1, j]),
                smooth_high=float(smooth[2, j]),
                gain=compare(team_right[answered], right[answered]),
                training_answers=None if training_answers is None else int(training_answers[j]),
            )
        )
    return tuple(records)


def model_calibration(trial: Trial, *, rng: np.random.Generator) -> ModelCalibration:
    """Judge the model's own probabilities in a trial."""
    claimed, right, decides = trial.scores.model_proba, trial.model_correct, ~trial.decision.deferred
    decided = Share(int(right[decides].sum()), int(decides.sum()))
    if trial.scores.link == "weight":
        return ModelCalibration(math.nan, math.nan, math.nan, math.nan, decided, math.nan, None)
    smooth = smooth_calibration_interval(claimed, right, rng=rng)
    promised = float(claimed[decides].mean()) if decides.any() else math.nan
    return ModelCalibration(
        calibration_error=float(expected_calibration_error(claimed, right)),
        smooth_error=float(smooth.value),
        smooth_low=float(smooth.low),
        smooth_high=float(smooth.high),
        decided=decided,
        promised=promised,
        kept_promise=kept_promise(promised, decided, n_members=n_promises(trial)),
    )


def n_promises(trial: Trial) -> int:
    """Return how many members, the model among them, decide something; at least 1."""
    return max(1, len(np.unique(trial.decision.expert)))
