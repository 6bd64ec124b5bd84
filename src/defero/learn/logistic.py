"""Small fits on held-out cases: a temperature, a logistic regression near a guess, shifts of experts, and gains."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, index_numbers, item_weights, probabilities
from defero.core.errors import InputError
from defero.core.scores import sigmoid, softmax

COLDEST, HOTTEST = 0.05, 20.0
_ZERO = -20.0
"""What log 0 counts as: a probability of 2e-9."""
_MAX_STEPS = 100


def fit_temperature(
    class_proba: ArrayLike, label_idx: ArrayLike, weight: ArrayLike | None = None, *, prior: float = 0.0
) -> float:
    """Return the T in [0.05, 20] for which softmax(log p / T) has the smallest log loss.

    The loss is convex in s = 1 / T, with slope sum_i w_i (E_s[log p_i] - log p_iy) and second derivative
    sum_i w_i Var_s[log p_i]: Newton's steps, kept between points where the slope has either sign, find its zero.
    T = 1 where the loss is flat (no items, or nothing but rows of equal probabilities).

    A probability of exactly 0, such as a tree gives, counts as 2e-9 or the smallest one above 0 in its row, if that
    is less: one label of probability 0 would decide alone.

    Parameters
    ----------
    class_proba : (n, K)
        P(y = k), rows adding up to 1.
    label_idx : (n,) int
        The class number of each label.
    weight : (n,), optional
        How much each item counts.
    prior : float
        How many items' worth of belief that the probabilities are calibrated (T = 1): that many labels drawn from the
        model's own probabilities are added, in expectation. A model that is right on each of a few items is then
        not taken to be certain.

    Examples
    --------
    Claims of 0.9 that hold in two of three cases; log(0.9 / 0.1) / log 2 = 3.17:

    >>> round(fit_temperature([[0.9, 0.1]] * 3, [0, 0, 1]), 2)
    3.17
    >>> fit_temperature(np.empty((0, 2)), [])
    1.0
    >>> fit_temperature([[0.9, 0.1]] * 3, [0, 0, 0]), round(fit_temperature([[0.9, 0.1]] * 3, [0, 0, 0], prior=10), 2)
    (0.05, 0.88)
    """
    proba = probabilities("class_proba", class_proba)
    n_items, n_classes = proba.shape
    labels = index_numbers("label_idx", label_idx, below=n_classes, n_items=n_items)
    weights = item_weights("weight", weight, n_items=n_items)
    logs = _log(proba)
    of_label = logs[np.arange(n_items), labels]
    if prior and weights.sum() > 0:
        share = prior / float(weights.sum())
        expected = (softmax(logs) * logs).sum(axis=1)
        of_label, weights = (of_label + share * expected) / (1 + share), weights * (1 + share)
    scale = float(weights @ np.abs(logs).max(axis=1, initial=0.0))
    if abs(_slopes(logs, of_label, weights, 1.0)[0]) <= 1e-12 * scale:
        return 1.0
    low, high = 1 / HOTTEST, 1 / COLDEST
    if _slopes(logs, of_label, weights, low)[0] >= 0:
        return HOTTEST
    if _slopes(logs, of_label, weights, high)[0] <= 0:
        return COLDEST
    at = 1.0
    for _ in range(_MAX_STEPS):
        slope, bend = _slopes(logs, of_label, weights, at)
        low, high = (low, at) if slope > 0 else (at, high)
        newton = at - slope / bend if bend > 0 else math.nan
        before, at = at, newton if low < newton < high else math.sqrt(low * high)
        if abs(at - before) <= 1e-12 * at:
            break
    return 1 / at


def apply_temperature(class_proba: ArrayLike, temperature: float) -> FloatArray:
    """Return softmax(log p / T), (n, K).

    >>> apply_temperature([[0.9, 0.1]], 2.0).round(3).tolist()
    [[0.75, 0.25]]
    """
    if not (math.isfinite(temperature) and temperature > 0):
        raise InputError(f"must be positive and finite, got {temperature}.", argument="temperature")
    return softmax(_log(probabilities("class_proba", class_proba)) / temperature)


def _log(proba: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        logs = np.log(proba)
    positive = proba > 0
    lowest = logs.min(axis=1, keepdims=True, where=positive, initial=_ZERO)
    return np.where(positive, logs, lowest)


def _slopes(logs: FloatArray, of_label: FloatArray, weights: FloatArray, inverse: float) -> tuple[float, float]:
    """Return the first and second derivative of the log loss by 1 / T; `of_label` (n,) is log p of each label."""
    proba = softmax(inverse * logs)
    mean = (proba * logs).sum(axis=1)
    variance = (proba * (logs - mean[:, None]) ** 2).sum(axis=1)
    return float(weights @ (mean - of_label)), float(weights @ variance)


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
