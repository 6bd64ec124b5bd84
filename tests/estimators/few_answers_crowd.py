"""A small crowd with few answers each, and its data, for the tests of shrunk heads."""

import numpy as np

from defero.core.answers import Answers
from defero.estimators.training_data import TrainingData


def crowd(n_items=150, n_experts=8, *, n_classes=2, n_features=3, rate=0.4, seed=0):
    """Return features, labels, and answers (n, J), -1 where missing; skill goes with the first feature."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_items)
    features = rng.normal(size=(n_items, n_features))
    features[:, 0] += 1.5 * labels
    skill = 1 / (1 + np.exp(-rng.normal(1.0, 1.0, n_experts) - 0.7 * features[:, :1]))
    wrong = (labels + rng.integers(1, max(n_classes, 2), size=n_items)) % n_classes
    answers = np.where(rng.random((n_items, n_experts)) < skill, labels[:, None], wrong[:, None])
    answers[rng.random(answers.shape) > rate] = -1
    return features, labels, answers


def lesson_of(features, labels, answers, *, weight=None, groups=None, **more):
    """Return the data that `fit` would make of these."""
    return TrainingData(
        features=features,
        labels=labels,
        label_idx=labels,
        n_classes=int(labels.max()) + 1,
        answers=Answers.from_cells(answers),
        weight=np.ones(len(labels)) if weight is None else weight,
        weighted=weight is not None,
        groups=groups,
        **more,
    )
