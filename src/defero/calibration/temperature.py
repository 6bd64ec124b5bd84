"""Temperature scaling of the model's own class probabilities (Guo et al. 2017): one number, no class changes rank."""

import math

import numpy as np
from numpy.typing import ArrayLike

from defero.calibration.choice import FEWEST_LABELS, FOLDS, folds, pays
from defero.calibration.maps import compress
from defero.calibration.sequences import fit_logistic
from defero.core.checks.arrays import FloatArray, IntArray, index_numbers, item_weights, probabilities
from defero.core.errors import InputError
from defero.core.scores import Scores, logit, softmax

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


def choose_temperature(class_proba: ArrayLike, label_idx: ArrayLike, *, prior: float = 0.0) -> float:
    """Return `fit_temperature`'s T, or 1 where held-out labels do not speak for a change.

    The change must lower the log loss of labels that the fit did not see (five folds) by 0.001 and by half a
    standard error, as with the experts (`choose_maps`).

    Parameters
    ----------
    class_proba : (n, K)
    label_idx : (n,) int
    prior : float
        As in `fit_temperature`.

    >>> choose_temperature([[0.9, 0.1]] * 100, [0] * 90 + [1] * 10)
    1.0
    >>> round(choose_temperature([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40), 1)
    5.4
    """
    proba = probabilities("class_proba", class_proba)
    labels = index_numbers("label_idx", label_idx, below=proba.shape[1], n_items=len(proba))
    gain, fold = np.zeros(len(proba)), folds(len(proba))
    for k in range(FOLDS if len(proba) >= FEWEST_LABELS else 0):
        out, rest = fold == k, fold != k
        temperature = fit_temperature(proba[rest], labels[rest], prior=prior)
        each = np.arange(int(out.sum())), labels[out]
        gain[out] = _log(apply_temperature(proba[out], temperature))[each] - _log(proba[out])[each]
    if not len(gain) or not pays(gain.mean(), gain.std() / math.sqrt(len(gain))):
        return 1.0
    return fit_temperature(proba, labels, prior=prior)


def largest_class_pays(scores: Scores, label_idx: IntArray) -> bool:
    """Say whether the largest class probability tells better than `model_proba` how likely the model is right.

    They are the same but for one-vs-all, where the largest sigmoid may be calibrated, or far too small. The gain in log
    loss must pay as every other change.

    >>> scores = Scores([[0.9, 0.1]] * 40, [[]] * 40, [0.2] * 40, [[]] * 40, "logit")
    >>> largest_class_pays(scores, np.zeros(40, dtype=np.int64))
    True
    """
    if len(scores) < FEWEST_LABELS:
        return False
    right = scores.class_idx == label_idx
    own, largest = (compress(logit(proba)) for proba in (scores.model_proba, scores.class_proba.max(axis=1)))
    gain = np.logaddexp(0.0, np.where(right, -own, own)) - np.logaddexp(0.0, np.where(right, -largest, largest))
    return bool(pays(gain.mean(), gain.std() / math.sqrt(len(gain))))


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


FEWEST_ITEMS = 100
"""With fewer labels nothing is changed."""
MOST_LOG_ODDS = 7.0
"""Probabilities beyond 0.999 are taken as that."""
IDENTITY = np.array([0.0, 1.0])
_STRENGTH = np.array([10.0, 20.0])
"""How firmly a and b stay 0 and 1 where few items speak: in units of one certain coin toss each."""


def choose_top_label(
    class_proba: FloatArray, label_idx: IntArray, weight: FloatArray, *, fold: IntArray | None = None
) -> FloatArray | None:
    """Return a and b, (2,); None where held-out labels do not speak for a change.

    The change must lower the log loss of labels that the fit did not see by 0.001 and by half a standard error, as
    with the experts (`choose_maps`).

    Parameters
    ----------
    class_proba : (n, K)
        Of items that the model was not learned from.
    label_idx : (n,)
    weight : (n,)
    fold : (n,), optional
        Folds of the items.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> first = rng.uniform(0.5, 1.0, 2_000)
    >>> label_idx = (rng.random(2_000) > 0.9).astype(int)  # right in 90 %, however sure
    >>> proba = np.column_stack([first, 1 - first])
    >>> a, b = choose_top_label(proba, label_idx, np.ones(2_000))
    >>> bool(a > 1 and b < 0.5)
    True
    >>> choose_top_label(proba, (rng.random(2_000) > first).astype(int), np.ones(2_000)) is None
    True
    """
    n = len(label_idx)
    if n < FEWEST_ITEMS or class_proba.shape[1] < 2:
        return None
    right = (class_proba.argmax(axis=1) == label_idx).astype(np.float64)
    log_odds = np.clip(logit(class_proba.max(axis=1)), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    columns, part = np.column_stack([np.ones(n), log_odds]), np.arange(n) % FOLDS if fold is None else fold
    gain = np.zeros(n)
    for k in np.unique(part):
        inside, rest = part == k, part != k
        mapped = columns[inside] @ _fit(columns[rest], right[rest], weight[rest])
        gain[inside] = _log_likelihood(mapped, right[inside]) - _log_likelihood(log_odds[inside], right[inside])
    mean = float(np.average(gain, weights=weight))
    error = math.sqrt(float(np.average((gain - mean) ** 2, weights=weight)) / n)
    return _fit(columns, right, weight) if pays(mean, error) else None


def _fit(columns: FloatArray, right: FloatArray, weight: FloatArray) -> FloatArray:
    """Return a and b; b is at least 0, as a surer label must not count less."""
    weights = fit_logistic(columns, right, weight, guess=IDENTITY, strength=_STRENGTH)
    if weights[1] >= 0:
        return weights
    return np.array([fit_logistic(columns[:, :1], right, weight, guess=IDENTITY[:1], strength=_STRENGTH[:1])[0], 0.0])


def _log_likelihood(log_odds: FloatArray, right: FloatArray) -> FloatArray:
    return right * log_odds - np.logaddexp(0.0, log_odds)
