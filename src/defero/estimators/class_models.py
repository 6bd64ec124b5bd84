"""Models of the classes for tables: boosted trees, a linear model, a small network; each with out-of-fold scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from defero.calibration.calibrator import PRIOR_ITEMS
from defero.calibration.temperature import apply_temperature, choose_top_label, fit_temperature
from defero.core.checks.arrays import FloatArray, IntArray
from defero.estimators.boosting import Grove, TreeSize, boost, sizes_for_labels
from defero.estimators.expert_heads import best_strength, out_of_fold, standards, weighted_log_loss
from defero.estimators.training_data import TrainingData
from defero.scorers import Scorer
from defero.scorers.blend import BlendScorer, blended, with_top
from defero.scorers.network import NetworkScorer
from defero.scorers.trees import TreesScorer

_TINY = 1e-12
_LEAST_WEIGHT = 0.02
"""A model with a smaller weight is left out of a blend."""


@dataclass(frozen=True, eq=False)
class ClassModel:
    """A model of the classes and its out-of-fold probabilities.

    Attributes
    ----------
    net : "trees", "linear", "mlp" or a blend, such as "trees+linear"
    scorer : Scorer with J = 0
    class_proba : (n, K)
        Out of fold.
    log_loss : float
        Weighted mean of the log loss of `class_proba`.
    """

    net: str
    scorer: Scorer
    class_proba: FloatArray
    log_loss: float


def class_trees(data: TrainingData, grove: Grove, fold: IntArray) -> ClassModel:
    """Boost trees for the classes; on small tables their size is chosen by the log loss of the first fold."""

    def fit(rows: IntArray, size: TreeSize, *, verify: bool = True) -> TreesScorer:
        rows = rows[data.weight[rows] > 0]
        forest = boost(
            grove.matrix[rows],
            data.label_idx[rows],
            data.weight[rows] if data.weighted else None,
            size,
            n_targets=data.n_classes,
            n_categories=len(grove.columns.categories),
            bags=grove.bags,
            verify=verify,
        )
        return TreesScorer(grove.columns, forest, data.n_classes)

    def held_out(k: int, size: TreeSize) -> FloatArray:
        return fit(np.flatnonzero(fold != k), size, verify=False).score(data.features[fold == k]).class_proba

    first = data.without_experts(np.flatnonzero(fold == 0))
    tried = [(size, held_out(0, size)) for size in sizes_for_labels(len(fold))]
    size, first_proba = min(tried, key=lambda one: weighted_log_loss(one[1], first))
    proba = np.empty((len(fold), data.n_classes))
    for k in range(int(fold.max()) + 1):
        proba[fold == k] = held_out(k, size) if k else first_proba
    proba, temperature = _tempered(proba, data)
    whole = fit(np.arange(len(fold)), size)
    scorer = TreesScorer(whole.columns, whole.forest, data.n_classes, temperature)
    return ClassModel("trees", scorer, proba, _mean_log_loss(proba, data))


def class_linear(data: TrainingData, fold: IntArray) -> ClassModel:
    """Fit a multinomial logistic regression; its penalty is chosen by the out-of-fold log loss, from weak to strong."""
    classes = data.without_experts()

    def unseen(strength: float) -> FloatArray:
        def fit(part: TrainingData) -> Callable[[FloatArray], FloatArray]:
            scorer = _linear_scorer(part, strength)
            return lambda features: scorer.score(features).class_proba

        return out_of_fold(classes, fit, fold=fold)

    strength, proba = best_strength(unseen, data)
    proba, temperature = _tempered(proba, data)
    scorer = _linear_scorer(classes, strength).tempered(temperature)
    return ClassModel("linear", scorer, proba, _mean_log_loss(proba, data))


def class_mlp(data: TrainingData, options: Any, *, seed: int) -> ClassModel:
    """Train a network of dense layers on the labels; needs torch."""
    from defero.estimators.surrogate_fit import choose_network  # loads torch
    from defero.losses import DeferralLoss

    loss = DeferralLoss("decoupled")
    classes = data.without_experts()
    choice = choose_network(classes, loss, options, net="mlp", seed=seed)
    scorer = choice.train(classes, loss, options, seed=seed)
    return ClassModel("mlp", scorer, choice.class_proba, _mean_log_loss(choice.class_proba, data))


def class_blend(models: Sequence[ClassModel], data: TrainingData) -> ClassModel | None:
    """Blend models: weights of their log-probabilities that minimise the out-of-fold log loss.

    None where no two models have a weight that matters.
    """
    logs = np.log(np.maximum(np.stack([model.class_proba for model in models]), _TINY))
    of_label = logs[:, np.arange(len(data.label_idx)), data.label_idx]
    start = np.full(len(models), 1.0 / len(models))

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        proba = blended(tuple(model.class_proba for model in models), weights)
        value = weighted_log_loss(proba, data) + 0.5 * PRIOR_ITEMS * float(((weights - start) ** 2).sum())
        slope = ((logs * proba).sum(axis=2) - of_label) @ data.weight + PRIOR_ITEMS * (weights - start)
        return value, slope

    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(models)).x
    used = [(model, weight) for model, weight in zip(models, fitted, strict=True) if weight > _LEAST_WEIGHT]
    if len(used) < 2:
        return None
    weights = np.array([weight for _, weight in used])
    proba = blended([model.class_proba for model, _ in used], weights)
    scorer = BlendScorer(tuple(model.scorer for model, _ in used), weights)
    return ClassModel("+".join(model.net for model, _ in used), scorer, proba, _mean_log_loss(proba, data))


def sure_of_label(model: ClassModel, data: TrainingData, fold: IntArray) -> ClassModel:
    """Return the model with its largest class probability mapped, where that lowers the held-out log loss.

    A temperature cannot mend a smooth model of a sharp border, whose labels are right more often than it says.
    """
    top = choose_top_label(model.class_proba, data.label_idx, data.weight, fold=fold)
    if top is None:
        return model
    scorer = model.scorer if isinstance(model.scorer, BlendScorer) else BlendScorer((model.scorer,), np.ones(1))
    proba = with_top(model.class_proba, top)
    return ClassModel(model.net, replace(scorer, top=top), proba, _mean_log_loss(proba, data))


def _linear_scorer(data: TrainingData, strength: float) -> NetworkScorer:
    """Return a logistic regression on standardised features as a scorer."""
    rows = data.weight > 0
    features, weight = data.features[rows], data.weight[rows]
    center, scale = standards(features, weight)
    if data.summed is not None:  # scores of a text were regularized already
        scale = np.where(data.summed, scale / np.sqrt(strength), scale)
    slopes, bias = np.zeros((features.shape[1], data.n_classes)), np.full(data.n_classes, -20.0)
    present = np.unique(data.label_idx[rows])
    if len(present) == 1:
        bias[present] = 0.0
    else:
        model = LogisticRegression(C=1.0 / strength, max_iter=1_000)
        model.fit((features - center) / scale, data.label_idx[rows], sample_weight=weight)
        two = len(model.classes_) == 2
        places = present[1:] if two else present
        bias[present] = 0.0
        slopes[:, places], bias[places] = model.coef_.T, model.intercept_
    nobody = np.zeros((features.shape[1], 0)), np.zeros(0)
    heads = {"class": (slopes, bias), "expert": nobody}
    return NetworkScorer("decoupled", center, scale, {"class": (), "expert": ()}, heads, reads_classes=False)


def _tempered(proba: FloatArray, data: TrainingData) -> tuple[FloatArray, float]:
    temperature = fit_temperature(proba, data.label_idx, data.weight, prior=PRIOR_ITEMS)
    return apply_temperature(proba, temperature), temperature


def _mean_log_loss(proba: FloatArray, data: TrainingData) -> float:
    return weighted_log_loss(proba, data) / float(data.weight.sum())
