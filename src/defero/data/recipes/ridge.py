"""Multinomial logistic regression with a ridge penalty, for words: many columns, few of them in a row."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import log_softmax

from defero.core.checks import FloatArray, IntArray


class Slopes(NamedTuple):
    """weight (d, S) and bias (S,): one score for two classes, the log-odds of the second; else one per class."""

    weight: FloatArray
    bias: FloatArray

    def scores(self, features: csr_matrix) -> FloatArray:
        """Return the (n, S) scores of (n, d) features."""
        found: FloatArray = features @ self.weight + self.bias
        return found


def n_scores(n_classes: int) -> int:
    """Return S, how many scores tell K classes apart.

    >>> [n_scores(n_classes) for n_classes in (1, 2, 3)]
    [1, 1, 3]
    """
    return n_classes if n_classes > 2 else 1


def fit_ridge(features: csr_matrix, label_idx: IntArray, *, n_classes: int, weight: FloatArray, ridge: float) -> Slopes:
    """Minimise sum of weight * cross entropy + ridge / 2 * (|W|^2 + |b - b0|^2), from zero slopes.

    b0 are the classes' log shares with one item of each class added, so that a class without items has a finite bias
    and no items at all give even odds.

    Parameters
    ----------
    features : (n, d) sparse
    label_idx : (n,) class numbers
    n_classes : int
    weight : (n,)
    ridge : float
        1 / C in scikit-learn's terms.
    """
    n_columns, n_outputs = features.shape[1], n_scores(n_classes)
    shares = np.bincount(label_idx, weight, minlength=n_classes) + 1.0
    start = np.log(shares / shares.sum())
    if n_classes == 2:
        start = np.diff(start)
    if n_classes == 1 or not len(label_idx):
        return Slopes(np.zeros((n_columns, n_outputs)), start)
    backwards = features.T.tocsr()
    is_label = np.eye(n_classes)[label_idx]

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        slopes = flat.reshape(n_columns + 1, n_outputs)
        logits = features @ slopes[:-1] + (start + slopes[-1])
        if n_classes == 2:
            logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
        log_proba = log_softmax(logits, axis=1)
        error = weight[:, None] * (np.exp(log_proba) - is_label)[:, -n_outputs:]
        value = -weight @ log_proba[np.arange(len(label_idx)), label_idx] + 0.5 * ridge * flat @ flat
        gradient = np.concatenate([backwards @ error, error.sum(axis=0, keepdims=True)]) + ridge * slopes
        return float(value), gradient.ravel()

    found = minimize(
        objective,
        np.zeros((n_columns + 1) * n_outputs),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-10, "gtol": 1e-5 * max(1.0, float(weight.sum()) / 1e3)},
    ).x.reshape(n_columns + 1, n_outputs)
    return Slopes(found[:-1], start + found[-1])


def log_loss(scores: FloatArray, label_idx: IntArray, *, weight: FloatArray) -> float:
    """Return the weighted mean cross entropy of (n, S) scores.

    >>> round(log_loss(np.zeros((4, 1)), np.array([0, 1, 1, 0]), weight=np.ones(4)), 4)  # log 2
    0.6931
    """
    logits = np.concatenate([np.zeros_like(scores), scores], axis=1) if scores.shape[1] == 1 else scores
    return float(-np.average(log_softmax(logits, axis=1)[np.arange(len(label_idx)), label_idx], weights=weight))
