"""Small fits on held-out cases: a logistic regression near a guess, shifts of experts, and whether asking pays."""

from typing import NamedTuple

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.scores import sigmoid

_STEPS = 50
_CLOSE = 1e-8


def fit_logistic(
    columns: FloatArray, right: FloatArray, weight: FloatArray | None = None, *, guess: FloatArray, strength: FloatArray
) -> FloatArray:
    """Return the weights w that minimise the log loss of sigmoid(columns @ w) plus strength (w - guess)^2 / 2.

    Parameters
    ----------
    columns : (n, p)
        A column of ones where there is an intercept.
    right : (n,)
        0 or 1.
    weight : (n,), optional
    guess, strength : (p,)
        Where the weights are without data, and how many units of information stand for that guess.

    Examples
    --------
    >>> fit_logistic(np.ones((4, 1)), np.array([1.0, 1.0, 1.0, 0.0]), guess=np.zeros(1), strength=np.full(1, 1e-9))
    array([1.0986...])
    """
    w = np.array(guess, dtype=np.float64)
    item_weight = np.ones(len(columns)) if weight is None else weight
    value = _value(columns, right, item_weight, w, guess, strength)
    for _ in range(_STEPS):
        p = sigmoid(columns @ w)
        slope = columns.T @ (item_weight * (p - right)) + strength * (w - guess)
        curvature = (columns * (item_weight * p * (1 - p))[:, None]).T @ columns + np.diag(strength)
        step = np.linalg.solve(curvature, slope)
        size = 1.0
        while size > 1e-6:
            new = _value(columns, right, item_weight, w - size * step, guess, strength)
            if new <= value:
                break
            size /= 2
        w, value = w - size * step, min(new, value)
        if np.abs(size * step).max() < _CLOSE:
            break
    return w


def _value(
    columns: FloatArray, right: FloatArray, weight: FloatArray, w: FloatArray, guess: FloatArray, strength: FloatArray
) -> float:
    z = columns @ w
    return float(weight @ (np.logaddexp(0.0, z) - right * z) + 0.5 * strength @ (w - guess) ** 2)


HARM = 1.0
"""Asking stops where it lost more than so many standard errors against the model on held-out cases."""
FEWEST_TO_STOP = 100
"""With fewer cases asking never stops: too few to tell."""


class Gain(NamedTuple):
    """What asking gained on held-out cases: the mean, its standard error, and how many cases that rests on."""

    mean: float
    standard_error: float
    n_cases: float

    @property
    def asks(self) -> bool:
        """Whether asking goes on: it did not lose beyond chance, or there are too few cases to tell."""
        return self.n_cases < FEWEST_TO_STOP or self.mean >= -HARM * self.standard_error


def gain_of_asking(gain: FloatArray, weight: FloatArray | None = None) -> Gain:
    """Return what asking gained over the model by the gains of held-out cases, (n,), and their weights.

    Examples
    --------
    >>> gain_of_asking(np.tile([1.0, -1.0], 60)).asks, gain_of_asking(np.tile([0.0, -1.0], 60)).asks
    (True, False)
    >>> gain_of_asking(np.full(50, -1.0)).asks  # too few to tell
    True
    """
    if not len(gain):
        return Gain(np.nan, np.nan, 0.0)
    own = np.ones(len(gain)) if weight is None else weight
    n_cases = float(own.sum() ** 2 / (own**2).sum())
    mean = float(np.average(gain, weights=own))
    error = float(np.sqrt(np.average((gain - mean) ** 2, weights=own) / max(n_cases - 1, 1)))
    return Gain(mean, error, n_cases)


def expert_shifts(
    log_odds: FloatArray, right: FloatArray, weight: FloatArray, expert: IntArray, n_experts: int
) -> FloatArray:
    """Return u_j, (J,), by one step of empirical Bayes: sums of residuals, shrunk toward 0 by their own spread.

    With S_j the sum of the residuals of expert j and V_j their variance, E[S_j^2] = V_j + V_j^2 tau^2.
    """
    p = sigmoid(log_odds)
    total = np.bincount(expert, weight * (right - p), minlength=n_experts)
    variance = np.bincount(expert, weight * p * (1 - p), minlength=n_experts)
    tau2 = max(float((total**2 - variance).sum() / max((variance**2).sum(), 1e-12)), 0.0)
    return np.clip(total * tau2 / (1 + variance * tau2), -1.0, 1.0)
