"""The first stage that the two-stage methods share: a classifier, and what it says of rows that it did not see."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from defero.core.checks.arrays import FloatArray, IntArray

FOLDS, MOST_CLASSES_TO_BOOST = 3, 4
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class FirstStage:
    """A fitted classifier.

    Attributes
    ----------
    model : fitted scikit-learn classifier
    unseen_proba : (n, K)
        P(y = k | x) of the training rows, from models fitted without them.
    """

    model: Any
    unseen_proba: FloatArray

    def proba(self, X: FloatArray) -> FloatArray:
        """Return P(y = k | x), (n, K)."""
        return _all_classes(self.model, X, self.unseen_proba.shape[1])


def fit_first_stage(X: FloatArray, y: IntArray, *, n_classes: int, seed: int) -> FirstStage:
    """Fit logistic regression or boosting, whichever has the smaller log loss across folds."""
    candidates: list[Any] = [LogisticRegression(C=strength, max_iter=500) for strength in (0.03, 1.0)]
    if n_classes <= MOST_CLASSES_TO_BOOST:
        candidates.append(
            HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, l2_regularization=1.0, random_state=0)
        )
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(X))
    best: tuple[float, Any, FloatArray] | None = None
    for model in candidates:
        proba = np.empty((len(X), n_classes))
        for learn, rest in folds:
            proba[rest] = _all_classes(model.fit(X[learn], y[learn]), X[rest], n_classes)
        loss = float(-np.log(np.maximum(proba[np.arange(len(y)), y], LEAST)).mean())
        if best is None or loss < best[0]:
            best = loss, model, proba
    assert best is not None
    return FirstStage(best[1].fit(X, y), best[2])


def log_proba(proba: FloatArray) -> FloatArray:
    """Return bounded logarithms of probabilities, as inputs of a second stage."""
    return np.log(np.clip(proba, 1e-3, 1.0))


def _all_classes(model: Any, X: FloatArray, n_classes: int) -> FloatArray:
    proba = np.zeros((len(X), n_classes))
    proba[:, model.classes_] = model.predict_proba(X)
    return proba
