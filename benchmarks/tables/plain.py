"""Plain systems: a classifier, and one more for each expert's being right; whoever has the largest P(right) decides."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.tables.outcome import Answering, Outcome, System, choose
from benchmarks.tables.split import Rows, Split
from defero.core.checks.arrays import FloatArray

MOST_CATEGORIES = 100
LEAST_ANSWERS = 40
"""Below this many answers a boosted model with leaves of 20 is a constant; the expert's share of right answers stands
in for every learner."""

Learner = Callable[[], Any]


def boosted() -> Any:
    """Return scikit-learn's boosting as it comes."""
    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)


def boosted_classes_small() -> Any:
    """Return boosting of smaller trees for the classes."""
    return HistGradientBoostingClassifier(
        max_leaf_nodes=8, l2_regularization=1.0, categorical_features="from_dtype", random_state=0
    )


def boosted_small() -> Any:
    """Return boosting of small trees for an expert."""
    return HistGradientBoostingClassifier(
        max_iter=60,
        max_leaf_nodes=6,
        min_samples_leaf=40,
        l2_regularization=5.0,
        categorical_features="from_dtype",
        random_state=0,
    )


def logistic(features: pd.DataFrame) -> Any:
    """Return logistic regression on standardised numbers and indicators of categories."""
    texts = [name for name in features if features[name].dtype == "category"]
    numbers = [name for name in features if name not in texts]
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("texts", OneHotEncoder(handle_unknown="ignore"), texts),
        ]
    )
    return make_pipeline(columns, LogisticRegression(max_iter=500))


def with_categories(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both with texts as categories: the most frequent of the training rows; all others are missing."""
    changed: dict[str, tuple[Any, Any]] = {}
    for name in train:
        if not pd.api.types.is_numeric_dtype(train[name]):
            known = train[name].value_counts().index[:MOST_CATEGORIES]
            changed[str(name)] = (
                pd.Categorical(train[name], categories=known),
                pd.Categorical(test[name], categories=known),
            )
    first = train.assign(**{name: pair[0] for name, pair in changed.items()})
    return first, test.assign(**{name: pair[1] for name, pair in changed.items()})


def _class_proba(model: Any, features: pd.DataFrame, n_classes: int) -> FloatArray:
    proba = np.zeros((len(features), n_classes))
    proba[:, model.classes_] = model.predict_proba(features)
    return proba


def shares(train: Rows) -> FloatArray:
    """Return how often each expert was right, (J,), with one right and one wrong answer added."""
    return ((train.correct & train.observed).sum(axis=0) + 1) / (train.observed.sum(axis=0) + 2)


def fit_two_stage(classes: Learner | None, expert: Learner | None, split: Split) -> tuple[Answering, str]:
    """Learn the classes, and each expert's being right from their own answers; None is logistic regression."""
    train, share = split.train, shares(split.train)
    features, _ = with_categories(train.features, train.features)
    model = (logistic(features) if classes is None else classes()).fit(features, train.label_idx)
    skills: list[Any] = []
    for j in range(train.n_experts):
        rows = np.flatnonzero(train.observed[:, j])
        right = train.correct[rows, j]
        if len(rows) < LEAST_ANSWERS or right.all() or not right.any():
            skills.append(None)
            continue
        learner = logistic(features) if expert is None else expert()
        skills.append(learner.fit(features.iloc[rows], right))

    def team(test: Rows) -> Outcome:
        _, shown = with_categories(train.features, test.features)
        proba = np.column_stack(
            [
                np.full(len(test), share[j]) if skill is None else skill.predict_proba(shown)[:, 1]
                for j, skill in enumerate(skills)
            ]
        )
        return choose(_class_proba(model, shown, split.n_classes), proba, test)

    return team, f"{sum(skill is not None for skill in skills)} of {len(skills)} experts have a model of their own"


def shares_by_class(train: Rows, n_classes: int) -> FloatArray:
    """Return how often each expert was right on each class, (J, K), with four answers at their share over all."""
    of_class = train.label_idx[:, None] == np.arange(n_classes)
    right = (train.correct & train.observed).T.astype(float) @ of_class
    return (right + 4 * shares(train)[:, None]) / (train.observed.T.astype(float) @ of_class + 4)


def fit_plug_in(split: Split) -> tuple[Answering, str]:
    """Learn the classes by logistic regression; P(right) is the mean share of the classes, by how likely they are."""
    train, share = split.train, shares_by_class(split.train, split.n_classes)
    features, _ = with_categories(train.features, train.features)
    model = logistic(features).fit(features, train.label_idx)

    def team(test: Rows) -> Outcome:
        _, shown = with_categories(train.features, test.features)
        class_proba = _class_proba(model, shown, split.n_classes)
        return choose(class_proba, class_proba @ share.T, test)

    return team, "shares by class"


def fit_model_alone(split: Split) -> tuple[Answering, str]:
    """Learn the classes alone."""
    train = split.train
    features, _ = with_categories(train.features, train.features)
    model = boosted().fit(features, train.label_idx)

    def team(test: Rows) -> Outcome:
        _, shown = with_categories(train.features, test.features)
        proba = _class_proba(model, shown, split.n_classes)
        return choose(proba, np.full(test.answer_idx.shape, -1.0), test)

    return team, "boosting"


def fit_best_expert(split: Split) -> tuple[Answering, str]:
    """Ask whoever was right most often on the training rows, among those who can be asked; else the commonest class."""
    share = shares(split.train)
    commonest = int(np.bincount(split.train.label_idx).argmax())

    def team(test: Rows) -> Outcome:
        value = np.where(test.observed, share, -1.0)
        best, rows = value.argmax(axis=1), np.arange(len(test))
        asks = value[rows, best] >= 0
        model_idx = np.full(len(test), commonest)
        prior = float(np.mean(split.train.label_idx == commonest))
        return Outcome(np.where(asks, best, -1), np.where(asks, value[rows, best], prior), model_idx)

    return team, f"expert {int(share.argmax())}"


SYSTEMS = (
    System("plain boosted", partial(fit_two_stage, boosted, boosted), plain=True),
    System("plain boosted, small trees", partial(fit_two_stage, boosted_classes_small, boosted_small), plain=True),
    System("logistic two-stage", partial(fit_two_stage, None, None), plain=True),
    System("logistic, shares by class", fit_plug_in, plain=True),
    System("model alone", fit_model_alone),
    System("best expert", fit_best_expert),
)
