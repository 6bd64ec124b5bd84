"""Temperature scaling of the model's own class probabilities (Guo et al. 2017): one number, no class changes rank."""

import math

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, index_numbers, item_weights, probabilities
from defero.core.errors import InputError
from defero.core.scores import softmax

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
