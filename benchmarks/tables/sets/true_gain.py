"""600 rows where the best possible team is exactly 3 points above the best possible model."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from benchmarks.tables.setting import Setting
from benchmarks.tables.split import Rows, Split, Truth
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray

GAIN, N_LEARN, N_TEST, N_FEATURES, N_EXPERTS = 0.03, 600, 10_000, 6, 4
STEEP = 2.0
HARD, HARD_MODEL, EASY_MODEL, SPECIALIST, OTHERS = 0.15, 0.65, 0.9, 0.85, 0.6
"""The law hard-region: its share of the cases, and P(right) of the best model there and elsewhere, of the specialist
and of the others. Its gain is 0.15 x (0.85 - 0.65)."""


@dataclass(frozen=True, eq=False)
class Law:
    """P(y = 1 | x), (n,), and P(expert j is right | x), (n, J)."""

    positive: FloatArray
    right: FloatArray


@cache
def best_skill() -> float:
    """Return P(right) of an expert who is worth 3 points to the best model of the law constant."""
    score = norm.ppf(0.5 + (np.arange(200_000) + 0.5) / 400_000)  # quantiles of its absolute value
    model = expit(STEEP * score)
    return float(brentq(lambda skill: np.maximum(model, skill).mean() - model.mean() - GAIN, 0.5, 0.999))


def constant(features: FloatArray) -> Law:
    """Give each expert the same skill in all cases, 4 points below the one before."""
    positive = expit(STEEP * (features[:, 0] + features[:, 1]) / np.sqrt(2))
    return Law(positive, np.tile(best_skill() - 0.04 * np.arange(N_EXPERTS), (len(features), 1)))


def is_hard(features: FloatArray) -> BoolArray:
    """Return which cases are in the region where the model is weak, (n,)."""
    return np.asarray(features[:, 2] > norm.ppf(1 - HARD))


def hard_region(features: FloatArray) -> Law:
    """Give the model most cases, and a specialist the others."""
    hard = is_hard(features)
    model = np.where(hard, HARD_MODEL, EASY_MODEL)
    right = np.full((len(features), N_EXPERTS), OTHERS)
    right[:, 0] = np.where(hard, SPECIALIST, OTHERS)
    return Law(np.where(features[:, 0] + features[:, 1] > 0, model, 1 - model), right)


def draw(law: Callable[[FloatArray], Law], seed: int) -> Split:
    """Return new cases and answers for each seed, with the true probabilities of the test rows."""
    rng = np.random.default_rng([seed, 600])
    n_items = N_LEARN + N_TEST
    features = rng.normal(size=(n_items, N_FEATURES))
    truth = law(features)
    labels: IntArray = (rng.random(n_items) < truth.positive).astype(np.int64)
    answers = np.where(rng.random(truth.right.shape) < truth.right, labels[:, None], 1 - labels[:, None])
    rows = Rows(pd.DataFrame(features).add_prefix("x"), labels, answers)
    first, second = np.arange(N_LEARN), np.arange(N_LEARN, n_items)
    known = Truth(np.column_stack([1 - truth.positive, truth.positive])[second], truth.right[second])
    return Split(rows.take(first), rows.take(second), n_classes=2, seed=seed, truth=known)


SETTINGS = tuple(
    Setting(
        f"gain3-{name}",
        partial(draw, law),
        f"600 simulated rows, two classes, {N_EXPERTS} experts, all answered: {what}. The best team is 3 points above "
        "the best model. Judged by the true probabilities of 10,000 rows.",
        kind="true gain",
        fresh=True,
        quick=name == "constant",
    )
    for name, law, what in (
        ("constant", constant, "the skill of each is the same in all cases"),
        ("hard-region", hard_region, "one is a specialist for the 15 % of cases in which the model is weak"),
    )
)
