"""Logistic regression on a few columns, shrunk toward a prior guess where data are few."""

import numpy as np

from defero.core.checks.arrays import FloatArray
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
