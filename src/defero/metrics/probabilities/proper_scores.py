"""Scores that the true probability minimises: Brier's and the logarithm, and what Brier's is made of."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import InputError
from defero.metrics.probabilities.cells import Average, forecast_cells


def brier_score(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    average: Average | None = "experts",
) -> Any:
    """Return the mean squared residual, 1/n sum_i (confidence_i - correct_i)^2 (Brier, 1950).

    Parameters
    ----------
    confidence : (n,) or (n, J)
        P(right), in [0, 1].
    correct : the same shape, bool
        Was it right?
    observed : the same shape, bool, optional
        Is there an answer? Cells without one are left out.
    average : "experts", "pooled" or None
        The mean over the experts that have an answer, all cells as one forecaster, or every expert.

    Returns
    -------
    float, or (J,) for average=None
        In [0, 1], less is better; nan where nothing is observed.

    Examples
    --------
    >>> brier_score([0.5, 1.0], [True, True])
    0.125
    """
    return forecast_cells(confidence, correct, observed).average(_brier, average)


def log_loss(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    average: Average | None = "experts",
    clip: float = 0.0,
) -> Any:
    """Return the mean surprise, -1/n sum_i log(confidence_i if right, else 1 - confidence_i), natural logarithm.

    Being certain and wrong costs infinity, and one such answer makes the mean infinite. Nothing is clipped unless
    asked for: how dear certainty is then depends on `clip` alone, so say which was used.

    Parameters
    ----------
    confidence, correct, observed, average
        As for `brier_score`.
    clip : float
        In [0, 0.5): confidences are moved into [clip, 1 - clip] first.

    Returns
    -------
    float, or (J,) for average=None
        At least 0, less is better; inf where something certain was wrong, nan where nothing is observed.

    Examples
    --------
    >>> round(log_loss([0.5, 0.25], [True, False]), 4)
    0.4904
    >>> log_loss([1.0, 0.5], [False, True])
    inf
    """
    if not 0 <= clip < 0.5:
        raise InputError(f"must lie in [0, 0.5), got {clip}; for no clipping pass 0.", argument="clip")

    def mean_surprise(claimed: FloatArray, was_right: BoolArray) -> float:
        inside = np.clip(claimed, clip, 1 - clip) if clip else claimed
        with np.errstate(divide="ignore"):
            # log1p keeps what 1 - confidence would round away; the 0 turns -0.0 into 0.0.
            return float(0.0 - np.mean(np.where(was_right, np.log(inside), np.log1p(-inside))))

    return forecast_cells(confidence, correct, observed).average(mean_surprise, average)


@dataclass(frozen=True, eq=False)
class BrierParts:
    """What a Brier score is made of: floats, or (J,) each.

    Attributes
    ----------
    reliability
        What recalibrating would save; 0 is best. Also called miscalibration.
    resolution
        What the recalibrated confidences save beside one constant for all; more is better. Also discrimination.
    uncertainty
        The score of that constant, the share of right answers: p (1 - p). It is the data's, not the forecaster's.
    """

    reliability: Any
    resolution: Any
    uncertainty: Any

    @property
    def brier(self) -> Any:
        """The Brier score, reliability - resolution + uncertainty."""
        return self.reliability - self.resolution + self.uncertainty


def brier_parts(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    average: Average | None = "experts",
) -> BrierParts:
    """Split the Brier score into reliability - resolution + uncertainty, without bins.

    Let r be the best non-decreasing function of the confidence in hindsight (pool adjacent violators) and p the
    share of right answers. Then reliability = brier(confidence) - brier(r), resolution = brier(p) - brier(r) and
    uncertainty = brier(p); the first two are never negative, since r may be the confidence itself or a constant
    (Dimitriadis, Gneiting and Jordan, 2021, Stable reliability diagrams for probabilistic classifiers: CORP). As r
    was fitted to the same answers, both are too large in small samples, by the same amount.

    Parameters
    ----------
    confidence, correct, observed, average
        As for `brier_score`; for average="experts" each part is a mean.

    Returns
    -------
    BrierParts
        Floats, or (J,) each for average=None; nan where nothing is observed.

    Examples
    --------
    >>> parts = brier_parts([0.2, 0.2, 0.8, 0.8], [False, False, False, True])
    >>> round(parts.reliability, 4), round(parts.resolution, 4), round(parts.uncertainty, 4)
    (0.065, 0.0625, 0.1875)
    """
    cells = forecast_cells(confidence, correct, observed)
    return BrierParts(*cells.averages(_parts, average, count=3))


def _brier(confidence: FloatArray, correct: BoolArray) -> float:
    return float(np.mean((confidence - correct) ** 2))


def _parts(confidence: FloatArray, correct: BoolArray) -> tuple[float, float, float]:
    from scipy.optimize import isotonic_regression  # here: it costs 0.2 s, and few who import metrics call this

    n_items = len(confidence)
    order = np.argsort(confidence)
    claimed, was_right = confidence[order], correct[order]
    first = np.flatnonzero(np.concatenate([[True], claimed[1:] > claimed[:-1]]))
    count = np.diff(np.concatenate([first, [n_items]])).astype(np.float64)
    right = np.add.reduceat(was_right.astype(np.float64), first)
    recalibrated = np.clip(isotonic_regression(right / count, weights=count).x, 0.0, 1.0)
    base = float(correct.mean())
    # Inside a block of the steps the recalibrated value is the share of right answers: its score is r (1 - r).
    after = float(count @ (recalibrated * (1 - recalibrated))) / n_items
    resolution = float(count @ (recalibrated - base) ** 2) / n_items
    return max(0.0, _brier(confidence, correct) - after), resolution, base * (1 - base)
