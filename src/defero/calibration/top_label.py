"""How often the model's own label is right: a map of its largest class probability, where a temperature is not enough.

A temperature makes all labels surer or less sure alike. A smooth model of a sharp border is not sure enough near it and
too sure far away: its labels are right more often than it says, at every temperature. With q the largest probability,

    logit P(the label is right) = a + b logit q

is fitted on held-out labels.
"""

import math

import numpy as np

from defero.calibration.choice import FOLDS, pays
from defero.calibration.logistic import fit_logistic
from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.scores import logit

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
