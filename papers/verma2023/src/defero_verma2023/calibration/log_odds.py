"""From an expert's raw score to the log-odds that it claims."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from defero_verma2023.arrays import FloatArray

Link = Literal["logit", "log", "weight"]
Map = Callable[[FloatArray], FloatArray]
"""From raw scores (n, J) to the log-odds that the experts are right."""
CORNER = 0.02
"""How far a probability may stay below min(1, exp(raw)), which has a corner where the raw score is 0."""
SHARP_CORNER = 1e-6
"""The same where a score is only passed on: no two scores become equal, and none moves by more than this."""
_LINEAR_TO = 20.0
_LARGEST_EXPONENT = 680.0  # exp(709.8) is the last finite one, and it is divided by twice a corner


def log_odds(raw: FloatArray, link: Link, *, corner: float = CORNER) -> FloatArray:
    """Return u(raw), increasing in raw, with sigmoid(u) what the raw score claims as a probability.

    Link "logit": u = z, compressed beyond +-20. Link "log", where z is a log-probability that may pass 0:
    the odds of exp(z) are exp(z) / (1 - exp(z)), whose denominator is not positive for z >= 0. It is replaced by
    the smooth positive h(t) = t / 2 + sqrt(t^2 / 4 + eps^2) of t = 1 - exp(z), so that

        u(z) = z - log h(1 - exp(z)) = z - log eps + arcsinh((exp(z) - 1) / (2 eps)),  eps = corner.

    As h(t) lies between max(t, 0) and max(t, 0) + eps, sigmoid(u) lies within eps below min(1, exp(z)).

    >>> from scipy.special import expit
    >>> np.round(expit(log_odds(np.log([[0.25, 0.75, 1.0, 2.0]]), "log")), 2).tolist()
    [[0.25, 0.75, 0.98, 1.0]]
    """
    if link == "logit":
        return compressed(raw)
    excess = np.expm1(np.minimum(raw, _LARGEST_EXPONENT))
    return compressed(raw - math.log(corner) + np.arcsinh(excess / (2 * corner)))


def compressed(logits: FloatArray) -> FloatArray:
    """Return logits as they are up to +-20, and growing like a logarithm beyond: +-1e4 becomes +-29.2.

    Log loss grows with the logit: one wrong answer at 1e4 would outweigh thousands of others.

    >>> np.round(compressed(np.array([-1e4, 5.0, 20.0, 1e4])), 1).tolist()
    [-29.2, 5.0, 20.0, 29.2]
    """
    size = np.abs(logits)
    return np.copysign(np.minimum(size, _LINEAR_TO) + np.log1p(np.maximum(size - _LINEAR_TO, 0.0)), logits)


def untouched(raw: FloatArray, link: Link) -> FloatArray:
    """Return the log-odds that raw scores (n, J) claim; estimates above 1 of link "log" stay apart."""
    return raw if link == "logit" else log_odds(raw, link, corner=SHARP_CORNER)


def log_loss(logits: FloatArray, right: np.ndarray) -> FloatArray:
    """Return the log loss of each log-odds, in the shape of both."""
    return np.logaddexp(0.0, np.where(right, -logits, logits))
