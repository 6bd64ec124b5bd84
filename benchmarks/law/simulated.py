"""Laws from which cases and answers are drawn anew for each split, with a truth that is known."""

import numpy as np

from benchmarks.law.answered import MISSING, Answered
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray

N_ITEMS, N_MEMBERS, N_FEATURES = 2_000, 8, 5
SKILLS = np.linspace(0.6, 0.85, N_MEMBERS)


def cases(rng: np.random.Generator, n_classes: int) -> tuple[FloatArray, IntArray]:
    """Return features and classes of which a model sees about two thirds."""
    features = rng.normal(size=(N_ITEMS, N_FEATURES))
    z = 1.2 * features @ rng.normal(size=(N_FEATURES, n_classes)) / np.sqrt(2)
    drawn = z + rng.gumbel(size=z.shape)
    return features, drawn.argmax(axis=1)


def wrong_labels(label_idx: IntArray, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Return a wrong class for every member, all alike, (n, J)."""
    return (label_idx[:, None] + rng.integers(1, n_classes, (len(label_idx), N_MEMBERS))) % n_classes


def answered(features: FloatArray, label_idx: IntArray, right: BoolArray, wrong: IntArray, seed: int) -> Answered:
    """Return the cases with five answers of each, by members drawn at random."""
    answers = np.where(right, label_idx[:, None], wrong)
    chosen = np.random.default_rng([seed, 39]).random(answers.shape).argsort(axis=1).argsort(axis=1) < 5
    return Answered(features, label_idx, np.where(chosen, answers, MISSING))


def independent(seed: int) -> Answered:
    """Three classes; everybody errs for themselves."""
    rng = np.random.default_rng([seed, 1])
    features, y = cases(rng, 3)
    right = rng.random((N_ITEMS, N_MEMBERS)) < SKILLS
    return answered(features, y, right, wrong_labels(y, 3, rng), seed)


def shared_difficulty(seed: int) -> Answered:
    """Two classes; items are hard or easy for everybody alike, by a standard deviation of 1.5 in log-odds."""
    rng = np.random.default_rng([seed, 2])
    features, y = cases(rng, 2)
    middle = np.log(SKILLS / (1 - SKILLS)) * np.sqrt(1 + 1.5**2 / 2.9)
    z = middle + 1.5 * rng.normal(size=(N_ITEMS, 1))
    right = rng.random(z.shape) < 1 / (1 + np.exp(-z))
    return answered(features, y, right, wrong_labels(y, 2, rng), seed)


def decoys(seed: int) -> Answered:
    """Five classes; half of the wrong answers to an item are the same one."""
    rng = np.random.default_rng([seed, 3])
    features, y = cases(rng, 5)
    right = rng.random((N_ITEMS, N_MEMBERS)) < SKILLS - 0.1
    wrong = wrong_labels(y, 5, rng)
    wrong = np.where(rng.random(wrong.shape) < 0.5, wrong[:, :1], wrong)
    return answered(features, y, right, wrong, seed)


def two_copies(seed: int) -> Answered:
    """Two classes; the best member is there twice, under two names."""
    rng = np.random.default_rng([seed, 4])
    features, y = cases(rng, 2)
    right = rng.random((N_ITEMS, N_MEMBERS)) < SKILLS
    right[:, -2] = right[:, -1]
    return answered(features, y, right, wrong_labels(y, 2, rng), seed)


def skill_by_region(seed: int) -> Answered:
    """Two classes; each member knows half of the cases well, by one feature, and guesses at the others."""
    rng = np.random.default_rng([seed, 5])
    features, y = cases(rng, 2)
    side = features[:, np.arange(N_MEMBERS) % N_FEATURES] > 0
    right = rng.random((N_ITEMS, N_MEMBERS)) < np.where(side, 0.92, 0.58)
    return answered(features, y, right, wrong_labels(y, 2, rng), seed)


def skill_by_class(seed: int) -> Answered:
    """Three classes; each member knows one of them well and the others moderately."""
    rng = np.random.default_rng([seed, 6])
    features, y = cases(rng, 3)
    knows = y[:, None] == np.arange(N_MEMBERS) % 3
    right = rng.random((N_ITEMS, N_MEMBERS)) < np.where(knows, 0.93, 0.55)
    return answered(features, y, right, wrong_labels(y, 3, rng), seed)
