"""TwoStageDeferral: any scikit-learn classifier for the label, and one for each expert's being right."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from defero.core.checks import FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.labels import Labels, find_classes
from defero.core.wording import join_names
from defero.estimators.base import DeferralEstimator
from defero.estimators.expert_heads import (
    STRENGTHS,
    HeadsOption,
    answers_are_few,
    check_heads,
    out_of_fold,
    weighted_log_loss,
    with_shrunk_heads,
)
from defero.estimators.lesson import AnswerWeights, Lesson
from defero.scorers import Scorer
from defero.scorers.two_stage import TwoStageScorer


class TwoStageDeferral(DeferralEstimator):
    """Fit a classifier on the labels, then for each expert a classifier of "right or not" on the items they answered.

    Needs no torch. Whether its probabilities are honest depends on the classifiers put in.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Logistic regression on standardised features by default, with shrunk heads at the ridge that predicts held-out
        labels best. A fitted one is used as it is when wrapped in `sklearn.frozen.FrozenEstimator`; it must have
        learned from the numbers that this estimator reads: of a DataFrame those are its columns, categories spread
        out and blanks filled. So no classifier may pick columns by name, as a ColumnTransformer can. Where one reads
        the DataFrame itself, see `Router.from_probabilities`.
    expert_model : scikit-learn classifier, or a list of J of them, optional
        A copy is fitted for each expert; see `heads` for the default. In a list each may be frozen.
    heads : "auto", "shrunk" or "separate"
        How experts are learned without an `expert_model`: by a logistic regression each ("separate"), or each drawn
        to the population as their answers are few ("shrunk", as in `DeferralClassifier`; it looks at the classifier's
        probabilities across five folds). "auto": shrunk where half of the experts gave fewer than 200 answers.
    min_answers : int
        An expert with fewer answers is not asked alone.
    answer_weights : "label" or "label+features", optional
        Weigh each answer by how unlikely it was given, where who answered what depends on the label: see
        `defero.answering.check_answering`. An `expert_model` must take sample weights.
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

    def __init__(
        self,
        classifier: Any = None,
        expert_model: Any = None,
        *,
        heads: HeadsOption = "auto",
        min_answers: int = 5,
        answer_weights: AnswerWeights | None = None,
        text: Any = None,
    ) -> None:
        self.classifier = classifier
        self.expert_model = expert_model
        self.heads = heads
        self.min_answers = min_answers
        self.answer_weights = answer_weights
        self.text = text

    def _known_classes(self, labels: Labels) -> Labels:
        return classes_of(self.classifier, labels)

    def _learn(self, lesson: Lesson) -> Scorer:
        self._check_options(lesson.features.shape[1])
        if self._shrinks(lesson):
            chosen, proba = self._chosen_classifier(lesson)
            return with_shrunk_heads(TwoStageScorer(fit_classifier(chosen, lesson), []), lesson, proba)
        classifier = fit_classifier(self.classifier, lesson)
        n_experts = lesson.n_experts
        if isinstance(self.expert_model, list | tuple):
            models = list(self.expert_model)
            if len(models) != n_experts:
                raise InputError(f"expert_model must be one model or {n_experts}, one per expert, got {len(models)}.")
        else:
            models = [self.expert_model] * n_experts
        counts = lesson.weight_of_answers()
        heard = [answers[counts[answers] > 0] for answers in lesson.by_expert()]
        return TwoStageScorer(
            classifier,
            [
                self._learn_expert(model, lesson, answers, counts[answers])
                for model, answers in zip(models, heard, strict=True)
            ],
        )

    def _check_options(self, n_features: int) -> None:
        check_heads(self.heads)
        refuse_names(self.classifier, "classifier")
        of_experts = self.expert_model if isinstance(self.expert_model, list | tuple) else [self.expert_model]
        for model in of_experts:
            refuse_names(model, "expert_model")
        known = getattr(self.classifier, "n_features_in_", n_features)
        if isinstance(self.classifier, FrozenEstimator) and known != n_features:
            raise InputError(
                f"classifier: the frozen one has learned from {known} columns, and reads {n_features} here, as a table "
                "is read as numbers first: categories spread out, blanks marked. Fit it on the same numbers, or hand "
                "its probabilities to Router.from_probabilities."
            )
        if self.heads == "shrunk" and self.expert_model is not None:
            raise InputError("heads='shrunk' takes the place of expert_model; leave one of them out.")
        if not isinstance(self.min_answers, int | np.integer) or self.min_answers < 1:
            raise InputError(f"min_answers must be a whole number of at least 1, got {self.min_answers!r}.")

    def _shrinks(self, lesson: Lesson) -> bool:
        """Say whether the experts get shrunk heads."""
        if lesson.n_experts == 0 or self.expert_model is not None:
            return False
        return self.heads == "shrunk" or (self.heads == "auto" and answers_are_few(lesson))

    def _chosen_classifier(self, lesson: Lesson) -> tuple[Any, FloatArray]:
        """Return the classifier, and P(y = k | x) of each item as if it were new, (n, K).

        Of the default the ridge is chosen that predicts held-out labels best, weak ones first until strong ones do
        harm. A frozen classifier is taken to be new to all items.
        """
        if self.classifier is not None:
            return self.classifier, self._unseen_proba(self.classifier, lesson)
        best: tuple[float, Any, FloatArray] | None = None
        for strength in STRENGTHS:
            model = default_classifier(strength)
            proba = self._unseen_proba(model, lesson)
            value = weighted_log_loss(proba, lesson)
            if best is not None and value > best[0]:
                break
            best = value, model, proba
        assert best is not None
        return best[1:]

    def _unseen_proba(self, classifier: Any, lesson: Lesson) -> FloatArray:
        classes = self._known_classes(lesson.labels)

        def columns(model: Any) -> Callable[[FloatArray], FloatArray]:
            place = [list(classes).index(one) for one in model.classes_]

            def proba(features: FloatArray) -> FloatArray:
                found = np.zeros((len(features), lesson.n_classes))
                found[:, place] = model.predict_proba(features)
                return found

            return proba

        def fit(part: Lesson) -> Callable[[FloatArray], FloatArray]:
            return columns(fit_classifier(classifier, replace(part, n_classes=len(np.unique(part.label_idx)))))

        return (
            columns(classifier)(lesson.features)
            if isinstance(classifier, FrozenEstimator)
            else out_of_fold(lesson, fit)
        )

    def _learn_expert(self, model: Any, lesson: Lesson, answers: IntArray, counts: FloatArray) -> Any:
        rows, right = lesson.item_idx[answers], lesson.right[answers]
        if isinstance(model, FrozenEstimator):
            if list(model.classes_) != [0, 1]:
                known = join_names(model.classes_)
                raise InputError(
                    f"expert_model: a fitted model must have the classes 0 (wrong), 1 (right), got {known}."
                )
            return model
        if len(np.unique(right)) < 2:
            return smoothed_share(right, counts)
        weight = counts if lesson.weighted or lesson.answer_weight is not None else None
        return fit_weighted(_copy(model, "expert_model"), lesson.features[rows], right.astype(np.int64), weight)


def default_classifier(strength: float = 1.0) -> Pipeline:
    """Return logistic regression on standardised features, not fitted."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=1.0 / strength, max_iter=1_000))


def classes_of(classifier: Any, labels: Labels) -> Labels:
    """Return the classes that a fitted, frozen classifier knows; else those among the labels."""
    return np.asarray(classifier.classes_) if isinstance(classifier, FrozenEstimator) else find_classes(labels)


def fit_classifier(classifier: Any, lesson: Lesson) -> Any:
    """Fit a copy of a classifier, the default one for None, on a lesson's labels."""
    refuse_names(classifier, "classifier")
    weight = lesson.weight if lesson.weighted else None
    if lesson.n_classes == 1:  # few classifiers take one class, and those that do disagree on their columns
        return DummyClassifier(strategy="prior").fit(lesson.features, lesson.labels)
    return fit_weighted(_copy(classifier, "classifier"), lesson.features, lesson.labels, weight)


def refuse_names(model: Any, name: str) -> None:
    """Raise where a model picks columns by name: it will see an array of numbers, whatever `fit` got."""
    whole = model.estimator if isinstance(model, FrozenEstimator) else model
    if not hasattr(whole, "get_params"):
        return
    for part in (whole, *whole.get_params().values()):
        picked = [columns for _, _, columns in part.transformers] if isinstance(part, ColumnTransformer) else []
        named = next((one for one in picked if _by_name(one)), None)
        if named is not None:
            what = (
                "by their kind"
                if isinstance(named, make_column_selector)
                else f"by name ({join_names(_several(named))})"
            )
            raise InputError(
                f"{name}: its ColumnTransformer picks columns {what}, but it is handed an array of numbers. Pass the "
                "classifier without it: of a DataFrame categories are spread out and blanks filled before. Or hand the "
                "probabilities of the whole pipeline to Router.from_probabilities."
            )


def _several(columns: Any) -> list[Any]:
    if isinstance(columns, slice):
        return [columns.start, columns.stop]
    return [columns] if isinstance(columns, str) else list(columns)


def _by_name(columns: Any) -> bool:
    """Tell names of columns, and a choice by their types, from their numbers."""
    if isinstance(columns, str | make_column_selector):
        return True
    if isinstance(columns, slice):
        return isinstance(columns.start, str) or isinstance(columns.stop, str)
    return np.iterable(columns) and any(isinstance(one, str) for one in columns)


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
        return default_classifier()
    if not is_classifier(model):
        raise InputError(f"{name} must be a scikit-learn classifier, got {type(model).__name__}.")
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{name} must have predict_proba, {type(model).__name__} has none; wrap it in CalibratedClassifierCV."
        )
    return clone(model)
