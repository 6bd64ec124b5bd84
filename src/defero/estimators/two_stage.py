"""TwoStageDeferral: any scikit-learn classifier for the label, and one for each expert's being right."""

import inspect
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from defero.core.checks import FloatArray
from defero.core.errors import InputError, listing
from defero.core.labels import Labels, find_classes
from defero.estimators.base import DeferralEstimator
from defero.estimators.lesson import Lesson
from defero.scorers.two_stage import TwoStageScorer


class TwoStageDeferral(DeferralEstimator):
    """Fit a classifier on the labels, then for each expert a classifier of "right or not" on the items they answered.

    Needs no torch. Whether its probabilities are honest depends on the classifiers put in.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Logistic regression on standardised features by default. A fitted one is used as it is when wrapped in
        `sklearn.frozen.FrozenEstimator`.
    expert_model : scikit-learn classifier, or a list of J of them, optional
        A copy is fitted for each expert; logistic regression by default. In a list each may be frozen.
    text : str or list of str, optional
        Columns of free text in a DataFrame, read as by `DeferralClassifier`.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from defero.datasets import wedge
    >>> cases = wedge(2_000, random_state=0)
    >>> team = TwoStageDeferral(HistGradientBoostingClassifier(max_iter=20, random_state=0))
    >>> team = team.fit(cases.features, cases.labels, experts=cases.answers)
    >>> team.predict_expert_proba(cases.features[:2]).shape
    (2, 4)
    """

    def __init__(self, classifier: Any = None, expert_model: Any = None, *, text: Any = None) -> None:
        self.classifier = classifier
        self.expert_model = expert_model
        self.text = text

    def _known_classes(self, labels: Labels) -> Labels:
        return classes_of(self.classifier, labels)

    def _learn(self, lesson: Lesson) -> TwoStageScorer:
        classifier = fit_classifier(self.classifier, lesson)
        n_experts = lesson.correct.shape[1]
        if isinstance(self.expert_model, list | tuple):
            models = list(self.expert_model)
            if len(models) != n_experts:
                raise InputError(f"expert_model must be one model or {n_experts}, one per expert, got {len(models)}.")
        else:
            models = [self.expert_model] * n_experts
        return TwoStageScorer(classifier, [self._learn_expert(models[j], lesson, j) for j in range(n_experts)])

    def _learn_expert(self, model: Any, lesson: Lesson, j: int) -> Any:
        rows = lesson.observed[:, j] & (lesson.weight > 0)
        right = lesson.correct[rows, j]
        if isinstance(model, FrozenEstimator):
            if list(model.classes_) != [0, 1]:
                known = listing(model.classes_)
                raise InputError(
                    f"expert_model: a fitted model must have the classes 0 (wrong), 1 (right), got {known}."
                )
            return model
        if len(np.unique(right)) < 2:
            return smoothed_share(right, lesson.weight[rows])
        weight = lesson.weight[rows] if lesson.weighted else None
        return fit_weighted(_copy(model, "expert_model"), lesson.features[rows], right.astype(np.int64), weight)


def classes_of(classifier: Any, labels: Labels) -> Labels:
    """Return the classes that a fitted, frozen classifier knows; else those among the labels."""
    return np.asarray(classifier.classes_) if isinstance(classifier, FrozenEstimator) else find_classes(labels)


def fit_classifier(classifier: Any, lesson: Lesson) -> Any:
    """Fit a copy of a classifier, the default one for None, on a lesson's labels."""
    weight = lesson.weight if lesson.weighted else None
    if lesson.n_classes == 1:  # few classifiers take one class, and those that do disagree on their columns
        return DummyClassifier(strategy="prior").fit(lesson.features, lesson.labels)
    return fit_weighted(_copy(classifier, "classifier"), lesson.features, lesson.labels, weight)


def smoothed_share(right: Any, weight: FloatArray) -> float:
    """Return the share of right answers with one right and one wrong answer added (Laplace); 1/2 for none.

    >>> smoothed_share(np.array([True, True]), np.ones(2))
    0.75
    """
    return float((weight[right].sum() + 1.0) / (weight.sum() + 2.0))


def fit_weighted(model: Any, features: FloatArray, labels: Any, weight: FloatArray | None) -> Any:
    """Fit a model, handing sample weights to whatever part of it takes them."""
    if weight is None:
        return model.fit(features, labels)
    if isinstance(model, FrozenEstimator):
        return model
    # Direct and unconditional: what a user's routing settings say of weights is about their own calls.
    with config_context(enable_metadata_routing=False):
        if isinstance(model, Pipeline):
            taking = {f"{name}__sample_weight": weight for name, step in model.steps if _takes_weight(step)}
            if taking:
                return model.fit(features, labels, **taking)
        elif _takes_weight(model):
            return model.fit(features, labels, sample_weight=weight)
    raise InputError(
        f"sample_weight: {type(model).__name__} does not take weights; leave them out or use another model."
    )


def _takes_weight(model: Any) -> bool:
    return "sample_weight" in inspect.signature(model.fit).parameters


def _copy(model: Any, name: str) -> Any:
    if model is None:
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    if not is_classifier(model):
        raise InputError(f"{name} must be a scikit-learn classifier, got {type(model).__name__}.")
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{name} must have predict_proba, {type(model).__name__} has none; wrap it in CalibratedClassifierCV."
        )
    return clone(model)
