"""Platt scaling of each expert's score, every expert's fit drawn towards that of all experts together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.calibration.log_odds import log_odds
from defero.core.checks import BoolArray, FloatArray
from defero.core.errors import InputError
from defero.core.scores import Link, sigmoid

EXPERT_SPREAD = 0.3
"""tau: how far an expert's log slope and intercept are expected to lie from the pooled ones."""
POOLED_SPREAD = 0.5
"""The same of the pooled fit around the identity: a few dozen answers move it half of the way that hundreds would."""
_MAX_STEPS = 200
_LONGEST_STEP = 2.0
_SMALL_STEP = 1e-10


@dataclass(frozen=True)
class PlattMaps:
    """P(expert j is right) = sigmoid(slope_j u + intercept_j), with u = `log_odds(raw, link)` and slope_j > 0.

    Slope 1 and intercept 0 are the identity: sigmoid(raw) for link "logit", min(1, exp(raw)) for link "log"
    (within 0.02 below it, see `log_odds`).

    Attributes
    ----------
    link : "logit" or "log"
        What the raw scores are that these maps take.
    slope, intercept : J numbers each
    pooled : (slope, intercept)
        Of all experts together: what an expert gets who has given no answers.
    """

    link: Link
    slope: tuple[float, ...]
    intercept: tuple[float, ...]
    pooled: tuple[float, float]

    def __post_init__(self) -> None:
        numbers = np.array([*self.slope, *self.intercept, *self.pooled])
        if len(self.slope) != len(self.intercept) or len(self.pooled) != 2 or not np.isfinite(numbers).all():
            raise InputError("slope, intercept and pooled must be J, J and 2 finite numbers.")
        if min([*self.slope, self.pooled[0]]) <= 0:
            raise InputError(f"slope must be positive for each expert, got {list(self.slope)}.")
        if self.link not in ("logit", "log"):
            raise InputError(f"link must be 'logit' or 'log', got {self.link!r}.")

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.slope)

    def logits(self, expert_raw: FloatArray) -> FloatArray:
        """Return the calibrated log-odds, (n, J).

        >>> PlattMaps("logit", (0.5,), (1.0,), (1.0, 0.0)).logits(np.array([[4.0]])).tolist()
        [[3.0]]
        """
        return log_odds(expert_raw, self.link) * np.array(self.slope) + np.array(self.intercept)

    def settings(self) -> dict[str, Any]:
        """Return what model.json keeps."""
        return {
            "method": "platt",
            "link": self.link,
            "slope": list(self.slope),
            "intercept": list(self.intercept),
            "pooled": list(self.pooled),
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "PlattMaps":
        """Return the maps that `settings()` described."""
        slope, intercept, pooled = (
            tuple(float(one) for one in settings[key]) for key in ("slope", "intercept", "pooled")
        )
        return cls(settings["link"], slope, intercept, (pooled[0], pooled[1]))


def fit_platt(expert_raw: FloatArray, correct: BoolArray, observed: BoolArray, *, link: Link) -> PlattMaps:
    """Fit slope a_j > 0 and intercept b_j of each expert on the answers that were observed.

    Expert j minimises, over their observed items, with tau = 0.3 and the pooled (a, b),

        sum_i log loss(correct_ij, sigmoid(a_j u_ij + b_j)) + ((log a_j - log a)^2 + (b_j - b)^2) / (2 tau^2);

    the pooled (a, b) minimises the same sum over all experts with the identity (1, 0) at its centre and tau = 0.5.
    An expert with few answers keeps near the pooled fit, one with none has it, one with hundreds has their own.

    Parameters
    ----------
    expert_raw : (n, J)
        Raw scores, as in `Scores`.
    correct, observed : (n, J) bool
        Was expert j right on item i; did they answer at all?
    link : "logit" or "log"

    Examples
    --------
    >>> raw = np.array([[2.0], [2.0], [2.0], [-2.0]] * 500)
    >>> right = np.array([[True], [True], [False], [False]] * 500)
    >>> maps = fit_platt(raw, right, np.ones_like(right), link="logit")
    >>> sigmoid(maps.logits(np.array([[2.0]]))).round(2).tolist()
    [[0.67]]
    """
    u = log_odds(expert_raw, link)
    pooled = _fit_columns(
        u[observed][:, None],
        correct[observed][:, None],
        np.ones((int(observed.sum()), 1), dtype=np.bool_),
        centre=np.zeros(2),
        spread=POOLED_SPREAD,
    )[0]
    each = _fit_columns(u, correct, observed, centre=pooled, spread=EXPERT_SPREAD)
    return PlattMaps(
        link,
        slope=tuple(np.exp(each[:, 0]).tolist()),
        intercept=tuple(each[:, 1].tolist()),
        pooled=(float(np.exp(pooled[0])), float(pooled[1])),
    )


def _fit_columns(
    u: FloatArray, correct: BoolArray, observed: BoolArray, *, centre: FloatArray, spread: float
) -> FloatArray:
    """Return (log a, b) of each column, (J, 2): scoring steps from the centre, each halved until the loss falls."""
    fitted = np.tile(centre, (u.shape[1], 1))
    loss = _loss(fitted, u, correct, observed, centre, spread)
    for _ in range(_MAX_STEPS):
        step, slope = _scoring_step(fitted, u, correct, observed, centre, spread)
        if np.abs(step).max(initial=0.0) < _SMALL_STEP:
            break
        size = np.ones(len(fitted))
        for _ in range(60):
            new_loss = _loss(fitted + size[:, None] * step, u, correct, observed, centre, spread)
            # 1e-12: near the minimum a sum of thousands of logarithms no longer shows that it falls.
            worse = new_loss > loss + 1e-4 * size * slope + 1e-12 * (1 + loss)
            if not worse.any():
                break
            size[worse] /= 2
        fitted, loss = fitted + size[:, None] * step, new_loss
    return fitted


def _loss(
    fitted: FloatArray, u: FloatArray, correct: BoolArray, observed: BoolArray, centre: FloatArray, spread: float
) -> FloatArray:
    """Return the penalised log loss of each column, (J,)."""
    logits = np.exp(fitted[:, 0]) * u + fitted[:, 1]
    each = np.logaddexp(0.0, np.where(correct, -logits, logits))
    return each.sum(axis=0, where=observed) + ((fitted - centre) ** 2).sum(axis=1) / (2 * spread**2)


def _scoring_step(
    fitted: FloatArray, u: FloatArray, correct: BoolArray, observed: BoolArray, centre: FloatArray, spread: float
) -> tuple[FloatArray, FloatArray]:
    """Return each column's Newton step (J, 2) and the slope of the loss along it (J,).

    The second derivatives are the expected ones (Fisher's): positive definite wherever the search stands, while the
    loss is not convex in log a.
    """
    by_log_slope = np.exp(fitted[:, 0]) * u
    proba = sigmoid(by_log_slope + fitted[:, 1])
    gap = np.where(observed, proba - correct, 0.0)
    bend = np.where(observed, proba * (1 - proba), 0.0)
    gradient = np.stack([(gap * by_log_slope).sum(axis=0), gap.sum(axis=0)], axis=1) + (fitted - centre) / spread**2
    h_aa = (bend * by_log_slope**2).sum(axis=0) + 1 / spread**2
    h_ab = (bend * by_log_slope).sum(axis=0)
    h_bb = bend.sum(axis=0) + 1 / spread**2
    g_a, g_b = gradient.T
    step = np.stack([h_ab * g_b - h_bb * g_a, h_ab * g_a - h_aa * g_b], axis=1) / (h_aa * h_bb - h_ab**2)[:, None]
    # Where all answers are certain the second derivatives vanish, and the step would leap.
    step /= np.maximum(np.abs(step).max(axis=1, keepdims=True) / _LONGEST_STEP, 1.0)
    return step, (gradient * step).sum(axis=1)
