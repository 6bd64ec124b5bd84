"""Defendants judged by laypeople, who are no better than a model; and 966 simulated ones with 20 answers each."""

from functools import cache, partial

import numpy as np

from benchmarks.tables.setting import Setting
from benchmarks.tables.split import Rows, Split, cut
from defero.core.checks.arrays import FloatArray
from defero.datasets import recidivism_people

N_PEOPLE, N_ANSWERS = 966, 20
BIAS, SLOPE = 0.6, 0.4
"""How people differ: standard deviations of the shift and of the log of the slope of their log-odds."""


@cache
def judged(*, race_shown: bool = False) -> Rows:
    """Return the 1,000 defendants with the answers of 400 people."""
    table = recidivism_people(race_shown=race_shown)
    return Rows(table.features, table.label_idx, table.answer_idx)


def draw(race_shown: bool, seed: int) -> Split:
    """Return a split of the real answers: only people who judged a defendant can be asked about them."""
    rows = judged(race_shown=race_shown)
    first, second = cut(rows, seed=seed)
    return Split(rows.take(first), rows.take(second), n_classes=2, seed=seed)


def yes_log_odds(rows: Rows) -> FloatArray:
    """Return log-odds that a person expects another arrest, (n,), from the 20 answers to each defendant."""
    yes, asked = (rows.answer_idx == 1).sum(axis=1), rows.observed.sum(axis=1)
    return np.log((yes + 1) / (asked - yes + 1))


def draw_many(everybody: bool, seed: int) -> Split:
    """Return a split with 966 people whose answers follow the shares of the real ones, with their own bias and slope.

    Each has answered 20 of the 1,000 defendants. On the test rows everybody can be asked, or those who have answered.
    """
    rows = judged()
    rng = np.random.default_rng([seed, 966])
    shift, slope = BIAS * rng.normal(size=N_PEOPLE), np.exp(SLOPE * rng.normal(size=N_PEOPLE))
    yes = 1 / (1 + np.exp(-(yes_log_odds(rows)[:, None] * slope + shift)))
    answers = (rng.random(yes.shape) < yes).astype(np.int64)
    recorded = rng.random(yes.shape).argsort(axis=0) < N_ANSWERS
    first, second = cut(rows, seed=seed)
    train, test = (Rows(rows.features, rows.label_idx, answers).take(part) for part in (first, second))
    test = test if everybody else test.asked_only(recorded[second])
    return Split(train.asked_only(recorded[first]), test, n_classes=2, seed=seed)


SETTINGS = (
    Setting(
        "recidivism-people",
        partial(draw, False),
        "1,000 defendants, seven facts each, judged by 20 of 400 laypeople without the race; only they can be asked.",
        kind="people add nothing",
        quick=True,
    ),
    *(
        Setting(
            f"recidivism-966-{name}",
            partial(draw_many, everybody),
            "The same defendants, 966 simulated people with 20 answers each, who say yes as often as the real ones did "
            f"of a defendant, with a bias and a slope of their own; {who} can be asked about a test row.",
            kind="people add nothing",
        )
        for name, everybody, who in (("recorded", False, "those who have answered"), ("everybody", True, "everybody"))
    ),
)
