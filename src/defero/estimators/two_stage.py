"""TwoStageDeferral: one scikit-learn classifier for the label, and one per expert for "right or wrong"."""

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
from sklearn.utils.validation import has_fit_parameter

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.labels import Labels, find_classes
from defero.core.wording import join_names
from defero.estimators.base import DeferralEstimator
from defero.estimators.keep import keep
from defero.estimators.skilled import SkilledTeam, fold_of_items, with_skill
from defero.estimators.training_data import AnswerWeights, TrainingData
from defero.learn.fit_classes import Labelled, best_strength, out_of_fold
from defero.learn.two_stage import TwoStageScorer
from defero.scorers import Scorer

BY_TYPE = "by type"


class TwoStageDeferral(DeferralEstimator):
    """Fit a classifier on the labels, then for each expert a classifier of "right or wrong" on their answers.

    Needs no torch. Its calibration is that of the classifiers.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Logistic regression on standardised features by default, whose ridge penalty is chosen by cross-validation if no
        `expert_model` is given. A fitted classifier can be passed in `sklearn.frozen.FrozenEstimator`. It must have
        been fitted on the same matrix as here: of a DataFrame the columns are one-hot encoded and missing cells filled.
        A classifier that selects columns by name (`ColumnTransformer`) or was fitted on a DataFrame takes the columns
        themselves, with their gaps: numbers as floats, levels of a category as texts, the 20 most frequent by name and
        the rest as "other". A frozen one must have been fitted on such a table.
    expert_model : scikit-learn classifier, or a list of J of them, optional
        A copy is fitted for each expert. Those in a list may be frozen. By default all experts are learned together, by
        case and class, and those with few answers are shrunk toward the average one, as in `DeferralClassifier`.
    answer_weights : "label" or "label+features", optional
        Weight answers by the inverse probability of being given, if that depends on the label: see
        `defero.judge.check_answering`. An `expert_model` must support sample weights.
    text, text_encoder
        Columns of free text in a DataFrame, and how they are read, as in `DeferralClassifier`.

    Attributes
    ----------
    classifier_ : fitted classifier
    expert_model_ : list of J
        With an `expert_model`: the fitted models, and P(right) of experts who were always right or always wrong. The
        team predicts by arrays of these models if they are linear or trees, and `save` keeps those; others are passed
        to `load` again.

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
        answer_weights: AnswerWeights | None = None,
        text: Any = None,
        text_encoder: Any = None,
    ) -> None:
        self.classifier = classifier
        self.expert_model = expert_model
        self.answer_weights = answer_weights
        self.text = text
        self.text_encoder = text_encoder

    def _knows_places(self) -> bool:
        return self.classifier is not None or self.expert_model is not None

    def _known_classes(self, labels: Labels) -> Labels:
        return classes_of(self.classifier, labels)

    def _learn(self, data: TrainingData) -> Scorer | SkilledTeam:
        self._check_options(data)
        if self.expert_model is None:
            data = data.with_mean_weight() if self.classifier is None else data
            fold = fold_of_items(data, rng=np.random.default_rng(0))
            chosen, proba = self._chosen_classifier(data, fold)
            self.classifier_ = fit_classifier(chosen, data)
            return with_skill(team_scorer(self.classifier_, [], data), proba, data, fold)
        self.classifier_ = fit_classifier(self.classifier, data)
        n_experts = data.n_experts
        if isinstance(self.expert_model, list | tuple):
            models = list(self.expert_model)
            if len(models) != n_experts:
                raise InputError(
                    f"must be one model or {n_experts}, one per expert, got {len(models)}.", argument="expert_model"
                )
        else:
            models = [self.expert_model] * n_experts
        counts = data.weight_of_answers()
        weighted = [answers[counts[answers] > 0] for answers in data.by_expert()]
        self.expert_model_ = [
            self._learn_expert(model, data, answers, counts[answers])
            for model, answers in zip(models, weighted, strict=True)
        ]
        return team_scorer(self.classifier_, self.expert_model_, data)

    def _check_options(self, data: TrainingData) -> None:
        check_column_names(self.classifier, data, "classifier")
        expert_models = self.expert_model if isinstance(self.expert_model, list | tuple) else [self.expert_model]
        for model in expert_models:
            check_column_names(model, data, "expert_model")
        n_features = data.features.shape[1]
        n_fitted = getattr(self.classifier, "n_features_in_", n_features)
        by_name = data.raw is not None and data.raw.reads(self.classifier)
        if isinstance(self.classifier, FrozenEstimator) and n_fitted != n_features and not by_name:
            raise InputError(
                f": the frozen one was fitted on {n_fitted} columns, and gets {n_features} here, since categories of a "
                "table are one-hot encoded and missing cells marked. Fit it on the same matrix, or pass its "
                "probabilities to Team.from_probabilities.",
                argument="classifier",
            )

    def _chosen_classifier(self, data: TrainingData, fold: IntArray) -> tuple[Any, FloatArray]:
        """Return the classifier, and out-of-fold P(y = k | x) of each item, (n, K).

        The ridge penalty of the default classifier is chosen by log loss, from weak to strong until it rises. A frozen
        classifier is assumed not to have been fitted on these items.
        """
        if self.classifier is not None:
            return self.classifier, self._unseen_proba(self.classifier, data, fold)
        labelled = Labelled(data.features, data.label_idx, data.weight, data.n_classes)
        strength, proba = best_strength(
            lambda given: self._unseen_proba(default_classifier(given), data, fold), labelled
        )
        return default_classifier(strength), proba

    def _unseen_proba(self, classifier: Any, data: TrainingData, fold: IntArray) -> FloatArray:
        classes = self._known_classes(data.labels)

        def all_classes(model: Any) -> Callable[[FloatArray], FloatArray]:
            column_idx = [list(classes).index(label) for label in model.classes_]

            def proba(features: FloatArray) -> FloatArray:
                class_proba = np.zeros((len(features), data.n_classes))
                table = features if data.raw is None else data.raw.table_for(model, features)
                class_proba[:, column_idx] = model.predict_proba(table)
                return class_proba

            return proba

        def fit(rest: IntArray, inside: IntArray) -> FloatArray:
            part = data.without_experts(rest)
            part = replace(part, n_classes=len(np.unique(part.label_idx)))
            return all_classes(fit_classifier(classifier, part))(data.features[inside])

        frozen = isinstance(classifier, FrozenEstimator)
        return all_classes(classifier)(data.features) if frozen else out_of_fold(fit, fold, data.weight, data.n_classes)

    def _learn_expert(self, model: Any, data: TrainingData, answers: IntArray, counts: FloatArray) -> Any:
        rows, right = data.item_idx[answers], data.right[answers]
        if isinstance(model, FrozenEstimator):
            if list(model.classes_) != [0, 1]:
                classes = join_names(model.classes_)
                raise InputError(
                    f": a fitted model must have the classes 0 (wrong), 1 (right), got {classes}.",
                    argument="expert_model",
                )
            return model
        if len(np.unique(right)) < 2:
            return smoothed_share(right, counts)
        weight = counts if data.weighted or data.answer_weight is not None else None
        table = training_table(model, data, data.features[rows])
        return fit_weighted(_copy(model, "expert_model"), table, right.astype(np.int64), weight)


def default_classifier(strength: float = 1.0) -> Pipeline:
    """Return logistic regression on standardised features, not fitted."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=1.0 / strength, max_iter=1_000))


def classes_of(classifier: Any, labels: Labels) -> Labels:
    """Return the classes of a frozen classifier, otherwise those of the labels."""
    return np.asarray(classifier.classes_) if isinstance(classifier, FrozenEstimator) else find_classes(labels)


def fit_classifier(classifier: Any, data: TrainingData) -> Any:
    """Fit a copy of a classifier (by default logistic regression) on the labels."""
    check_column_names(classifier, data, "classifier")
    weight = data.weight if data.weighted else None
    if data.n_classes == 1:  # few classifiers support a single class
        return DummyClassifier(strategy="prior").fit(data.features, data.labels)
    table = training_table(classifier, data, data.features)
    return fit_weighted(_copy(classifier, "classifier"), table, data.labels, weight)


def team_scorer(classifier: Any, experts: list[Any], data: TrainingData) -> TwoStageScorer:
    """Return the scorer of fitted models, as arrays where they are linear or trees."""
    return TwoStageScorer(keep(classifier, data), tuple(keep(model, data) for model in experts))


def training_table(model: Any, data: TrainingData, features: FloatArray) -> Any:
    """Return what a model is fitted on: the raw columns if it selects them by name, else the matrix."""
    return features if data.raw is None or not selected_names(model) else data.raw.frame(features)


def check_column_names(model: Any, data: TrainingData, argument: str) -> None:
    """Raise if a model selects columns by name that are not there."""
    names = selected_names(model)
    if names and data.raw is None:
        raise InputError(
            f": its ColumnTransformer selects columns by name or type ({join_names(names)}), but X is an array; pass "
            "a DataFrame.",
            argument=argument,
        )
    unknown = [] if data.raw is None else [name for name in names if name not in (*data.raw.names, BY_TYPE)]
    if unknown:
        raise InputError(
            f": its ColumnTransformer selects {join_names(unknown)}, but the columns in use are "
            f"{join_names(data.raw.names if data.raw is not None else ())}. Columns of one value, dates and texts are "
            "not used.",
            argument=argument,
        )


def selected_names(model: Any) -> list[str]:
    """Return the columns that the ColumnTransformers of a model select by name, `BY_TYPE` where by their type."""
    whole = model.estimator if isinstance(model, FrozenEstimator) else model
    if not hasattr(whole, "get_params"):
        return []
    parts = [part for part in (whole, *whole.get_params().values()) if isinstance(part, ColumnTransformer)]
    return [name for part in parts for _, _, columns in part.transformers for name in _named(columns)]


def _named(columns: Any) -> list[str]:
    """Return a selection of columns by name, `BY_TYPE` where by type; nothing where by index."""
    if isinstance(columns, make_column_selector):
        return [BY_TYPE]
    if isinstance(columns, slice):
        names = [end for end in (columns.start, columns.stop) if end is not None]
    else:
        names = [columns] if isinstance(columns, str) else list(columns) if np.iterable(columns) else []
    return names if any(isinstance(name, str) for name in names) else []


def smoothed_share(right: Any, weight: FloatArray) -> float:
    """Return the share of right answers with one right and one wrong answer added (Laplace); 1/2 for none.

    >>> smoothed_share(np.array([True, True]), np.ones(2))
    0.75
    """
    return float((weight[right].sum() + 1.0) / (weight.sum() + 2.0))


def fit_weighted(model: Any, features: FloatArray, labels: Any, weight: FloatArray | None) -> Any:
    """Fit a model, passing sample weights to the parts that support them."""
    if weight is None:
        return model.fit(features, labels)
    if isinstance(model, FrozenEstimator):
        return model
    # Without metadata routing: a user's routing settings concern their own calls.
    with config_context(enable_metadata_routing=False):
        if isinstance(model, Pipeline):
            weights = {
                f"{name}__sample_weight": weight
                for name, step in model.steps
                if has_fit_parameter(step, "sample_weight")
            }
            if weights:
                return model.fit(features, labels, **weights)
        elif has_fit_parameter(model, "sample_weight"):
            return model.fit(features, labels, sample_weight=weight)
    raise InputError(
        f": {type(model).__name__} does not support weights; leave them out or use another model.",
        argument="sample_weight",
    )


def _copy(model: Any, name: str) -> Any:
    if model is None:
        return default_classifier()
    if not is_classifier(model):
        raise InputError(f"must be a scikit-learn classifier, got {type(model).__name__}.", argument=name)
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"must have predict_proba, {type(model).__name__} has none; wrap it in CalibratedClassifierCV.",
            argument=name,
        )
    return clone(model)
