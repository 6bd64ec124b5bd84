"""Learn the classes of a table: boosted trees and a logistic regression, blended by what they say of held-out items."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.scores import softmax
from defero.learn.boost import Bins, TreeSize
from defero.learn.classes import Classes, TreeColumns, Trees, both_classes
from defero.learn.forest import MOST_LEAVES, Forest
from defero.learn.kept import KeptClassifier, LinearMap
from defero.learn.logistic import apply_temperature, fit_temperature
from defero.learn.prior import scaling

STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0)
"""Candidate ridge penalties of the logistic regression, in units of 1 / n."""
PRIOR_ITEMS = 10.0
"""Weight of the prior belief that a model is calibrated, and that both are as good, as a number of items."""
_LEAST_WEIGHT = 0.02
"""A model with a smaller weight is left out."""
_TINY = 1e-12
_ABSENT = -20.0
"""Log-odds of a class without an item."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """What the classes are learned from.

    Attributes
    ----------
    features : (n, d)
    label_idx : (n,)
    weight : (n,)
    n_classes : int
    summed : (d,) bool, optional
        Features that are scores of a text, which were regularized already.
    """

    features: FloatArray
    label_idx: IntArray
    weight: FloatArray
    n_classes: int
    summed: BoolArray | None = None

    def take(self, rows: IntArray) -> "Labelled":
        """Return some items."""
        return replace(self, features=self.features[rows], label_idx=self.label_idx[rows], weight=self.weight[rows])

    def log_loss(self, proba: FloatArray) -> float:
        """Return the weighted sum of the log loss of P(y = k | x), (n, K)."""
        of_label = proba[np.arange(len(proba)), self.label_idx]
        return float(self.weight @ -np.log(np.maximum(of_label, np.finfo(np.float64).tiny)))


def fit_classes(data: Labelled, columns: TreeColumns, bins: Bins | None, fold: IntArray) -> tuple[Classes, FloatArray]:
    """Return the model of the classes, and P(y = k | x) of each item by models that did not see it, (n, K).

    Parameters
    ----------
    data : Labelled
    columns, bins : TreeColumns, Bins
        What trees look at; without bins no trees are grown.
    fold : (n,) int
    """
    if data.n_classes == 1 or len(np.unique(data.label_idx[data.weight > 0])) == 1:
        linear = fit_linear(data, 1.0)
        constant = Classes(data.n_classes, linear, None, np.array([1.0, 0.0]))
        return constant, constant.proba(data.features)

    def unseen(strength: float, rest: IntArray, inside: IntArray) -> FloatArray:
        return fit_linear(data.take(rest), strength).proba(data.features[inside])

    strength, of_linear = best_strength(
        lambda given: out_of_fold(partial(unseen, given), fold, data.weight, data.n_classes), data
    )
    of_parts: list[FloatArray] = [of_linear]
    if bins is not None:
        size, of_trees = _best_trees(data, bins, fold)
        of_parts.append(of_trees)
    weights, proba = _blend(of_parts, data)
    if len(weights) < 2:
        weights = np.append(weights, 0.0)
    chosen = fit_linear(data, strength) if weights[0] else None
    trees = None
    if weights[1] and bins is not None:
        trees = Trees(columns, grow_trees(data, bins, np.arange(len(fold)), size))
    return Classes(data.n_classes, chosen, trees, weights), proba


def fit_linear(data: Labelled, strength: float) -> KeptClassifier:
    """Fit a multinomial logistic regression on standardised features with a ridge penalty."""
    data = data.take(np.flatnonzero(data.weight > 0))
    center, scale = scaling(data.features, data.weight)
    if data.summed is not None:
        scale = np.where(data.summed, scale / np.sqrt(strength), scale)
    slopes, bias = np.zeros((data.features.shape[1], data.n_classes)), np.full(data.n_classes, _ABSENT)
    present = np.unique(data.label_idx)
    bias[present] = 0.0
    if len(present) > 1:
        model = LogisticRegression(C=1.0 / strength, max_iter=1_000)
        model.fit((data.features - center) / scale, data.label_idx, sample_weight=data.weight)
        places = present[1:] if len(present) == 2 else present
        slopes[:, places], bias[places] = model.coef_.T, model.intercept_
    return KeptClassifier(center, scale, LinearMap(slopes, bias), "softmax")


def best_strength(unseen: Callable[[float], FloatArray], data: Labelled) -> tuple[float, FloatArray]:
    """Return the ridge penalty with the least log loss, from weak to strong until it rises, and its P(y = k | x).

    `unseen` takes a penalty, and returns P(y = k | x) of each item, (n, K), by models that did not see it.
    """
    best: tuple[float, float, FloatArray] | None = None
    for strength in STRENGTHS:
        proba = unseen(strength)
        value = data.log_loss(proba)
        if best is not None and value > best[0]:
            break
        best = value, strength, proba
    assert best is not None
    return best[1:]


def _best_trees(data: Labelled, bins: Bins, fold: IntArray) -> tuple[TreeSize, FloatArray]:
    """Return the size of trees with the least log loss on the first fold, and held-out P(y = k | x)."""

    def proba(size: TreeSize, rest: IntArray, inside: IntArray) -> FloatArray:
        return softmax(both_classes(grow_trees(data, bins, rest, size).predict(bins.matrix[inside])))

    size, *others = sizes_for_labels(len(fold))
    if others:
        rest, first = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
        size = min([size, *others], key=lambda one: data.take(first).log_loss(proba(one, rest, first)))
    return size, out_of_fold(partial(proba, size), fold, data.weight, data.n_classes)


def grow_trees(data: Labelled, bins: Bins, rows: IntArray, size: TreeSize) -> Forest:
    """Grow trees for the classes on some items: one output for two classes, else one for each."""
    rows = rows[data.weight[rows] > 0]
    weight = data.weight[rows]
    n_outputs = 1 if data.n_classes == 2 else data.n_classes
    target = data.label_idx[rows].astype(np.float64)
    return bins.boost(rows, target, None if (weight == 1).all() else weight, size, n_outputs=n_outputs)


def out_of_fold(
    fit: Callable[[IntArray, IntArray], FloatArray], fold: IntArray, weight: FloatArray, n_classes: int
) -> FloatArray:
    """Return P(y = k | x) of each item by a model of the other folds, (n, K).

    `fit` takes the numbers of items to learn from, and of m others, and returns P(y = k | x) of these, (m, K).
    """
    proba = np.empty((len(fold), n_classes))
    for k in range(int(fold.max()) + 1):
        rest, inside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if not weight[rest].any():  # all weight is in this fold
            proba[inside] = 1.0 / n_classes
        elif len(inside):
            proba[inside] = fit(rest, inside)
    return proba


def _blend(parts: list[FloatArray], data: Labelled) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the log-probabilities with the least held-out log loss, and the blended P(y = k | x)."""
    tempered = [fit_temperature(proba, data.label_idx, data.weight, prior=PRIOR_ITEMS) for proba in parts]
    parts = [apply_temperature(proba, t) for proba, t in zip(parts, tempered, strict=True)]
    logs = np.log(np.maximum(np.stack(parts), _TINY))
    of_label = logs[:, np.arange(len(data.label_idx)), data.label_idx]
    start = np.full(len(parts), 1.0 / len(parts))

    def blended(weights: FloatArray) -> FloatArray:
        return softmax(np.asarray(np.tensordot(weights, logs, axes=1)))

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        proba = blended(weights)
        value = data.log_loss(proba) + 0.5 * PRIOR_ITEMS * float(((weights - start) ** 2).sum())
        slope = ((logs * proba).sum(axis=2) - of_label) @ data.weight + PRIOR_ITEMS * (weights - start)
        return value, slope

    weights = start
    if len(parts) > 1:
        fitted = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(parts)).x
        weights = np.where(fitted > _LEAST_WEIGHT, fitted, 0.0)
        weights = weights if weights.any() else start
    return weights / np.array(tempered), blended(weights)


def sizes_for_labels(n_items: int) -> tuple[TreeSize, ...]:
    """Return the sizes of the trees for the classes to choose from: for few items small ones, and larger ones."""
    if n_items < 3_000:
        return TreeSize(60, 6, 20), TreeSize(80, MOST_LEAVES, 10, l2=1.0)
    return (TreeSize(200, 12, 40, learning_rate=0.05),)
