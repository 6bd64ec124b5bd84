"""How sure a router is of its experts: the spread of P(expert is right) over what their heads may be."""

from typing import TYPE_CHECKING, Any

import numpy as np

from defero.calibration import Calibrator
from defero.core.checks import FloatArray
from defero.core.scores import Scores, sigmoid
from defero.scorers.team import TeamScorer

if TYPE_CHECKING:
    from defero.router.chain import Router


def expert_sd(router: "Router", features: Any) -> FloatArray:
    """Return the standard deviation of P(expert j is right | x), (n, J); see `Router.expert_sd`."""
    scores = router.scorer.score(features)
    if not isinstance(router.scorer, TeamScorer) or scores.link == "weight":
        return np.full(scores.expert_proba.shape, np.nan)
    logit_sd = router.scorer.logit_sd(features)
    known = np.isfinite(logit_sd)
    far = np.where(known, logit_sd, 0.0)
    # The raw score is m / sqrt(1 + pi s^2 / 8), the log-odds of the mean probability; the posterior's own middle is m.
    middle = _log_odds(scores) * np.sqrt(1.0 + np.pi * far**2 / 8.0)
    low, high = (_proba(scores, middle + step * far, router.calibrator) for step in (-1.0, 1.0))
    mean = _proba(scores, None, router.calibrator)
    return np.where(known, np.minimum((high - low) / 2.0, np.sqrt(mean * (1.0 - mean))), np.nan)


def _log_odds(scores: Scores) -> FloatArray:
    if scores.link == "logit":
        return scores.expert_raw
    below = np.minimum(scores.expert_raw, -np.finfo(np.float64).tiny)  # a head's log-probability is negative
    return below - np.log(-np.expm1(below))


def _proba(scores: Scores, log_odds: FloatArray | None, calibrator: Calibrator | None) -> FloatArray:
    """Return the calibrated probabilities at these log-odds, or at the scores' own."""
    raw = scores.expert_raw
    if log_odds is not None:
        raw = log_odds if scores.link == "logit" else -np.logaddexp(0.0, -log_odds)
    if calibrator is not None:
        return sigmoid(calibrator.experts.logits(raw))
    return sigmoid(raw) if scores.link == "logit" else np.minimum(np.exp(np.minimum(raw, 0.0)), 1.0)
