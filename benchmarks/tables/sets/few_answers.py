"""500 rows to learn from, 20 answers of each expert: the best of many noisy estimates is chosen."""

from functools import partial

import numpy as np
import pandas as pd

from benchmarks.tables.sets.credit import answered, clients
from benchmarks.tables.setting import Setting
from benchmarks.tables.split import Rows, Split, Truth
from defero.core.checks.arrays import BoolArray, IntArray
from defero.core.scores import softmax
from defero.simulate import simulate_team

N_LEARN, N_TEST, N_ANSWERS = 500, 5_000, 20


def _twenty(n_items: int, n_experts: int, rng: np.random.Generator) -> BoolArray:
    """Return which rows each expert answered, (n, J): 20 of them."""
    return rng.random((n_items, n_experts)).argsort(axis=0) < N_ANSWERS


def credit_rows(seed: int) -> tuple[IntArray, IntArray]:
    """Return which clients `draw_credit` learns from, and which it tests on."""
    order = np.random.default_rng([seed, 500]).permutation(len(clients()))
    return order[:N_LEARN], order[N_LEARN : N_LEARN + N_TEST]


def draw_credit(n_experts: int, seed: int) -> Split:
    """Return 500 clients; experts by the law ring are below the model on most cases."""
    labels, answers = answered("ring", n_experts, seed)
    rng = np.random.default_rng([seed, 500])
    rng.permutation(len(labels))  # what `credit_rows` drew
    rows = Rows(clients(), labels, answers)
    train, test = (rows.take(part) for part in credit_rows(seed))
    return Split(train.asked_only(_twenty(N_LEARN, n_experts, rng)), test, n_classes=2, seed=seed)


def draw_skilled(n_experts: int, seed: int) -> Split:
    """Return simulated cases of four classes; experts differ in skill, around .75, and no feature tells of it."""
    rng = np.random.default_rng([seed, 501])
    n_items, n_classes = N_LEARN + N_TEST, 4
    features = rng.normal(size=(n_items, 8))
    logits = 0.8 * features @ rng.normal(size=(8, n_classes))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    team = simulate_team(
        features,
        labels,
        n_experts=n_experts,
        n_classes=n_classes,
        low=0.75,
        high=0.75,
        class_spread=0.3,
        stratum_spread=0.8,
        rng=rng,
    )
    rows = Rows(pd.DataFrame(features).add_prefix("x"), labels, team.answers)
    train, test = rows.take(np.arange(N_LEARN)), rows.take(np.arange(N_LEARN, n_items))
    eta = softmax(logits)
    truth = Truth(eta[N_LEARN:], team.right_given_features(eta)[N_LEARN:])
    return Split(train.asked_only(_twenty(N_LEARN, n_experts, rng)), test, n_classes=n_classes, seed=seed, truth=truth)


SETTINGS = (
    *(
        Setting(
            f"few-credit-{n_experts}",
            partial(draw_credit, n_experts),
            f"500 clients of credit-default, {n_experts} experts by the law ring with 20 answers each; 5,000 others "
            "for the test, where everybody can be asked.",
            kind="few answers",
            fresh=True,  # 5,500 of 30,000 rows and a new team for every split
            quick=n_experts == 10,
        )
        for n_experts in (10, 50, 200)
    ),
    *(
        Setting(
            f"few-skilled-{n_experts}",
            partial(draw_skilled, n_experts),
            f"500 simulated rows, four classes, {n_experts} experts with 20 answers each, whose skill differs "
            "(log-odds with a standard deviation of .8 around .75) independent of the features; 5,000 test rows.",
            kind="few answers",
            fresh=True,
        )
        for n_experts in (10, 50)
    ),
)
