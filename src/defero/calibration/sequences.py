"""Calibration of verdicts: how often the label is right that several answers led to, by how many were heard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.calibration.logistic import fit_logistic
from defero.calibration.stopping import gain_of_asking
from defero.core.checks.arrays import FloatArray
from defero.core.errors import InputError
from defero.core.scores import logit, sigmoid

MOST_LOG_ODDS = 7.0
"""Probabilities beyond 0.999 are taken as that."""
_GUESS = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
_STRENGTH = np.array([5.0, 10.0, 10.0, 20.0, 10.0, 20.0])
"""How firmly the map stays the identity where few cases speak: in units of one certain coin toss each."""


@dataclass(frozen=True, eq=False)
class VerdictMap:
    """From the posterior of a label to how often such labels are right.

    logit P = a + b logit s, with other a and b where somebody was heard, and where two or more were: people who err
    on the same cases make a posterior of several answers too sure, and a case that was asked about is not like others.

    Attributes
    ----------
    weights : (6,)
        a and b; what is added to them with an answer; what is added with two or more.
    asks : bool
        Whether asking in this way paid on held-out cases; if not, nobody is asked.
    n_cases : int
        Held-out cases that it was fitted on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stated, n_heard = rng.uniform(0.5, 1.0, 5_000), rng.integers(0, 4, 5_000)
    >>> right = rng.random(5_000) < np.where(n_heard > 1, 0.7, stated)  # several together are no surer than 0.7
    >>> verdict = fit_verdicts(stated, right, n_heard)
    >>> verdict.apply(np.array([0.95, 0.95]), np.array([0, 3])).round(1).tolist()
    [0.9, 0.7]
    """

    weights: FloatArray
    asks: bool = True
    n_cases: int = 0

    def __post_init__(self) -> None:
        if np.shape(self.weights) != (6,) or not np.isfinite(self.weights).all():
            raise InputError(f"must be 6 finite numbers, got shape {np.shape(self.weights)}.", argument="weights")

    def apply(self, stated: FloatArray, n_heard: FloatArray) -> FloatArray:
        """Return P(the label is right), (n,), from its posterior and the number of answers heard, (n,) each."""
        return sigmoid(_columns(stated, n_heard) @ self.weights)

    def settings(self) -> dict[str, Any]:
        """Return everything that was fitted, in types that JSON knows."""
        return {"weights": self.weights.tolist(), "asks": self.asks, "n_cases": self.n_cases}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "VerdictMap":
        """Return the map that `settings()` described."""
        weights = np.array(settings["weights"], dtype=np.float64)
        return cls(weights, bool(settings["asks"]), int(settings["n_cases"]))


def fit_verdicts(
    stated: FloatArray, right: FloatArray, n_heard: FloatArray, gain: FloatArray | None = None
) -> VerdictMap:
    """Fit the map on held-out cases that no earlier stage has used.

    Parameters
    ----------
    stated : (n,)
        The posterior of each case's label.
    right : (n,) 0 or 1
    n_heard : (n,)
        How many answers were heard.
    gain : (n,), optional
        What asking saved against the model alone, fees included: it settles `asks`.
    """
    weights = fit_logistic(
        _columns(stated, n_heard), np.asarray(right, dtype=np.float64), guess=_GUESS, strength=_STRENGTH
    )
    asks = gain is None or gain_of_asking(gain).asks
    return VerdictMap(weights, asks, len(stated))


def _columns(stated: FloatArray, n_heard: FloatArray) -> FloatArray:
    log_odds = np.clip(logit(stated), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    some, several = (n_heard >= 1).astype(np.float64), (n_heard >= 2).astype(np.float64)
    return np.column_stack([np.ones(len(stated)), log_odds, some, some * log_odds, several, several * log_odds])
