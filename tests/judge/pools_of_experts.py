"""Pools of experts with a known tie: strangers, near-copies, items that are hard for everybody."""

import numpy as np


def sigmoid(odds):
    return 1 / (1 + np.exp(-odds))


def pool(
    seed,
    *,
    n=500,
    n_experts=10,
    n_classes=3,
    accuracy=(0.65, 0.9),
    hidden=0.0,
    loads=(1.0, 1.0),
    seen=0.0,
    miscalibrated=0.0,
    by_class=0.0,
    copy=0.0,
    copies=2,
    answered=1.0,
):
    """Return answers, labels and stated chances of being right.

    `hidden` is the spread in log-odds of a difficulty that the stated chances do not know, felt by each expert with a
    load of their own; `seen` that of one that they know. Experts 1, ..., copies - 1 repeat the one before with
    probability `copy`, else they answer for themselves.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    skill = rng.uniform(*accuracy, size=n_experts)
    odds = np.log(skill / (1 - skill)) + seen * rng.normal(size=(n, 1))
    felt = by_class * rng.normal(size=(n_classes, n_experts))[labels]
    felt = felt + hidden * rng.normal(size=(n, 1)) * rng.uniform(*loads, size=n_experts)
    right = rng.random((n, n_experts)) < sigmoid(odds + felt)
    other = (labels[:, None] + rng.integers(1, n_classes, size=(n, n_experts))) % n_classes
    answers = np.where(right, labels[:, None], other)
    for j in range(1, copies if copy else 0):
        answers[:, j] = np.where(rng.random(n) < copy, answers[:, j - 1], answers[:, j])
    tilt = np.exp(miscalibrated * rng.normal(size=n_experts))
    stated = sigmoid(tilt * odds + miscalibrated * rng.normal(size=n_experts))
    answers[rng.random(answers.shape) >= answered] = -1
    return answers, labels, stated
