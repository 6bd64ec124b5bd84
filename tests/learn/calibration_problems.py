"""Experts whose chance of being right is known, and models that claim too much of them."""

import numpy as np

from defero.core.scores import Scores


def sigmoid(logits):
    return 1 / (1 + np.exp(-logits))


def draw_experts(n, *, n_experts=10, seed=0, skill_seed=0):
    """True log-odds (n, J) of being right, and whether each expert was: skills by `skill_seed`, items by `seed`."""
    skill = np.random.default_rng(skill_seed).normal(1.0, 0.5, n_experts)
    rng = np.random.default_rng([seed, 1])
    logits = rng.normal(skill, 1.5, (n, n_experts))
    return logits, rng.random((n, n_experts)) < sigmoid(logits)


def draw_classes(n, *, n_classes=4, seed=0):
    """True class log-probabilities up to a constant (n, K), and labels drawn from them."""
    rng = np.random.default_rng([seed, 2])
    logits = rng.normal(0, 2, (n, n_classes))
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def softmax(logits):
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def raw_scores(logits, link):
    """The raw score that claims sigmoid(logits)."""
    return logits if link == "logit" else -np.logaddexp(0, -logits)


def draw_case(n, *, n_experts=10, n_classes=4, boast=1.0, link="logit", seed=0, skill_seed=0):
    """Scores whose logits are `boast` times the true ones, labels, and whether each expert was right."""
    class_logits, labels = draw_classes(n, n_classes=n_classes, seed=seed)
    expert_logits, correct = draw_experts(n, n_experts=n_experts, seed=seed, skill_seed=skill_seed)
    classes = softmax(boast * class_logits)
    claimed = boast * expert_logits
    scores = Scores(classes, sigmoid(claimed), classes.max(axis=1), raw_scores(claimed, link), link)
    return scores, labels, correct
