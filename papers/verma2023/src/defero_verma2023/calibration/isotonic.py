"""Isotonic calibration: the best increasing steps through an expert's answers, for experts with many of them."""

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import logit

from defero_verma2023.arrays import BoolArray, FloatArray
from defero_verma2023.calibration.log_odds import Link, Map, log_odds

_TILT = 1e-6
"""Largest change of log-odds by which the raw score breaks the ties on a step."""


def fit_isotonic(raw: FloatArray, right: BoolArray, link: Link) -> Map:
    """Fit the best increasing steps of each expert on answers, (n, J) each.

    A block of w answers of which s were right gets (s + 1/2) / (w + 1), never 0 or 1, and blocks that this turned
    round are pooled again. Between the scores of two blocks run straight lines.

    >>> from scipy.special import expit
    >>> raw, right = np.array([[0.0]] * 4 + [[1.0]] * 4), np.array([[False]] * 4 + [[True]] * 4)
    >>> expit(fit_isotonic(raw, right, "logit")(np.array([[-1.0], [0.5], [2.0]]))).round(2).tolist()
    [[0.1], [0.5], [0.9]]
    """
    steps = [_fit_steps(*column) for column in zip(log_odds(raw, link).T, right.T, strict=True)]

    def fitted(new: FloatArray) -> FloatArray:
        u = log_odds(new, link)
        proba = np.stack([np.interp(column, *each) for column, each in zip(u.T, steps, strict=True)], axis=1)
        return np.asarray(logit(proba) + _TILT * u / (1 + np.abs(u)))

    return fitted


def _fit_steps(u: FloatArray, right: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct scores of answers (m,), in order, and the probability at each."""
    at, place = np.unique(u, return_inverse=True)
    count, hits = np.bincount(place), np.bincount(place, right)
    share = isotonic_regression(hits / count, weights=count).x
    _, block = np.unique(share.round(12), return_inverse=True)  # equal shares may differ in the last bit
    count, hits = np.bincount(block, count), np.bincount(block, hits)
    value = isotonic_regression((hits + 0.5) / (count + 1), weights=count + 1).x
    return at, value[block]
