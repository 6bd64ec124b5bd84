"""chexpert-readers, WEDGE, and digits with simulated specialists."""

from functools import cache

import numpy as np
import pandas as pd

from benchmarks.people.sets.chexpert import load
from benchmarks.tables.setting import Setting
from benchmarks.tables.split import Rows, Split, Truth, cut
from defero.datasets import digits_team, wedge

N_WEDGE = 4_000


@cache
def chexpert() -> Rows:
    """Return the films, one row for each finding; rows of a film are a group."""
    crowd = load()
    films = pd.factorize(pd.Series(crowd.groups))[0]
    return Rows(crowd.table.features, crowd.table.label_idx, crowd.table.answer_idx, films)


def draw_chexpert(seed: int) -> Split:
    """Return a split by films."""
    rows = chexpert()
    first, second = cut(rows, seed=seed)
    return Split(rows.take(first), rows.take(second), n_classes=2, seed=seed)


def draw_wedge(seed: int) -> Split:
    """Return new cases for each seed."""
    cases = wedge(N_WEDGE + 10_000, random_state=seed)
    rows = Rows(pd.DataFrame(cases.features).add_prefix("x"), cases.labels, cases.answers)
    first, second = np.arange(N_WEDGE), np.arange(N_WEDGE, len(cases))
    truth = Truth(cases.class_proba[second], cases.expert_proba[second])
    return Split(rows.take(first), rows.take(second), n_classes=cases.n_classes, seed=seed, truth=truth)


def draw_digits(seed: int) -> Split:
    """Return a split; the specialists answer anew for each seed."""
    table = digits_team(random_state=seed)
    rows = Rows(table.features, table.label_idx, table.answer_idx)
    first, second = cut(rows, seed=seed)
    return Split(rows.take(first), rows.take(second), n_classes=10, seed=seed)


SETTINGS = (
    Setting(
        "chexpert-readers",
        draw_chexpert,
        "500 chest films x 5 findings, three radiologists and eight networks, all on every row; split by film.",
    ),
    Setting(
        "wedge",
        draw_wedge,
        f"WEDGE: {N_WEDGE:,} rows to learn from and 10,000 for the test, drawn anew for each split.",
        fresh=True,
    ),
    Setting("digits", draw_digits, "1,797 digits, ten simulated specialists of two digits each."),
)
