"""Experts who are strong on one class and weak on the others: 240 answers each, 50, and 20."""

from functools import partial

import numpy as np
import pandas as pd
from scipy.special import expit, logit, softmax

from benchmarks.tables.setting import Setting
from benchmarks.tables.split import Rows, Split, Truth

N_TEST, N_FEATURES, STRONG, SPREAD = 8_000, 6, 0.95, 0.3


def draw(n_items: int, n_experts: int, n_classes: int, n_answers: int, weak: float, seed: int) -> Split:
    """Return new cases and experts for each seed, with the true probabilities of the test rows.

    Expert j is right on class j mod K with P = 0.95 and elsewhere with P = `weak`, shifted by N(0, 0.3^2) in log-odds.
    """
    rng = np.random.default_rng([seed, 77])
    n_all = n_items + N_TEST
    features = rng.normal(size=(n_all, N_FEATURES))
    logits = 2 * features @ rng.normal(size=(N_FEATURES, n_classes)) / np.sqrt(N_FEATURES)
    class_proba = softmax(logits, axis=1)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    own = np.arange(n_experts)[:, None] % n_classes == np.arange(n_classes)
    skill = expit(logit(np.where(own, STRONG, weak)) + SPREAD * rng.normal(size=own.shape))
    right = rng.random((n_all, n_experts)) < skill[:, labels].T
    wrong = (labels[:, None] + 1 + rng.integers(n_classes - 1, size=right.shape)) % n_classes
    rows = Rows(pd.DataFrame(features).add_prefix("x"), labels, np.where(right, labels[:, None], wrong))
    first, second = np.arange(n_items), np.arange(n_items, n_all)
    answered = rng.random((n_items, n_experts)).argsort(axis=0) < n_answers
    truth = Truth(class_proba[second], class_proba[second] @ skill.T)
    return Split(rows.take(first).asked_only(answered), rows.take(second), n_classes=n_classes, seed=seed, truth=truth)


def _setting(n_items: int, n_experts: int, n_classes: int, n_answers: int, weak: float) -> Setting:
    return Setting(
        f"by-class-{n_experts}",
        partial(draw, n_items, n_experts, n_classes, n_answers, weak),
        f"{n_items} simulated rows, {n_classes} classes, {n_experts} experts with {n_answers} answers each, right with "
        f"P = {STRONG} on one class and {weak} on the others; {N_TEST:,} test rows, where everybody can be asked.",
        fresh=True,
        quick=n_experts == 8,
    )


SETTINGS = (
    _setting(600, 5, 2, 240, 0.6),
    _setting(300, 8, 2, 50, 0.6),
    _setting(500, 20, 3, 20, 0.55),
)
