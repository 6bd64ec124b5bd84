"""Crowds whose law of skill is known: logit P(right | x, y = k) = w_j . [1, class k, x]."""

import numpy as np

from defero.core.scores import sigmoid
from defero.learn.fit_skill import SkillAnswers
from defero.learn.skill import Directions, Skill


def flat(n, n_classes):
    """Return P(y = k | x) of a model that knows nothing."""
    return np.full((n, n_classes), 1.0 / n_classes)


def answers_of(features, class_proba, label_idx, item, expert, right, n_experts, *, weight=None):
    inputs = Directions.fit(features).of(features)
    counts = np.ones(len(item)) if weight is None else weight
    return SkillAnswers(inputs, class_proba, label_idx, item, expert, right, counts, n_experts)


def skill_of(features, answers, prior=None):
    """Fit everybody's weights to all answers."""
    heads = answers.heads(np.arange(len(answers.item_idx)), prior)
    return Skill(Directions.fit(features), heads, answers.class_proba.shape[1])


def draw(seed, *, n=300, n_experts=6, n_classes=3, n_features=2, each=200, spread=0.7):
    """Return features, labels, items, experts, rightness, and the true P(right | x, y = k) of all, (n, J, K)."""
    rng = np.random.default_rng(seed)
    features, label_idx = rng.normal(size=(n, n_features)), rng.integers(n_classes, size=n)
    by_class = 1.0 + spread * rng.normal(size=(n_experts, n_classes))
    by_feature = spread * rng.normal(size=(n_experts, n_features))
    truth = sigmoid(by_class[None] + (features @ by_feature.T)[:, :, None])
    item = np.concatenate([rng.permutation(n)[np.arange(each) % n] for _ in range(n_experts)])
    expert = np.repeat(np.arange(n_experts), each)
    right = rng.random(len(item)) < truth[item, expert, label_idx[item]]
    return features, label_idx, item, expert, right, truth
