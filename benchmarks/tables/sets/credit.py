"""30,000 credit card clients with simulated experts: three laws of skill, 4 to 25 experts, all or a tenth answered."""

from functools import cache, partial

import numpy as np
import pandas as pd

from benchmarks.tables.setting import Setting
from benchmarks.tables.split import Rows, Split, cut
from defero.core.checks.arrays import IntArray
from defero.datasets.tables import credit_default
from defero.simulate.team import SimulatedTeam, simulate_team

LAWS = ("ring", "checkerboard", "product")
N_EXPERTS = (4, 12, 25)
SHARES = {"full": 1.0, "tenth": 0.1}


@cache
def read() -> pd.DataFrame:
    """Return the clients, read once."""
    return credit_default()


@cache
def clients() -> pd.DataFrame:
    """Return the clients' features."""
    return read().drop(columns="default_next_month")


def labels() -> IntArray:
    """Return who defaults, (n,)."""
    return read()["default_next_month"].to_numpy(dtype=np.int64)


def team_of(law: str, n_experts: int, seed: int) -> SimulatedTeam:
    """Return one team on all clients, with the probabilities that its answers were drawn with."""
    features = clients()
    amounts = features.drop(columns=["sex", "education", "marriage"]).filter(regex="^(?!pay_[0-9])")
    strata, rng = pd.factorize(features["education"], sort=True)[0], np.random.default_rng(seed)
    return simulate_team(amounts, labels(), n_experts=n_experts, n_classes=2, law=law, strata=strata, rng=rng)


@cache
def answered(law: str, n_experts: int, seed: int) -> tuple[IntArray, IntArray]:
    """Return labels (n,) and everybody's answers (n, J) of one team."""
    return labels(), team_of(law, n_experts, seed).answers


def draw(law: str, n_experts: int, share: float, seed: int) -> Split:
    """Return a split of one law: another team and another cut for every seed; on the test rows all can be asked."""
    rows = Rows(clients(), *answered(law, n_experts, seed))
    first, second = cut(rows, seed=seed)
    train = rows.take(first)
    asked = np.random.default_rng([seed, 81]).random(train.answer_idx.shape) < share
    return Split(train.asked_only(asked), rows.take(second), n_classes=2, seed=seed)


SETTINGS = tuple(
    Setting(
        f"credit-{law}-{n_experts}-{name}",
        partial(draw, law, n_experts, share),
        f"credit-default, {n_experts} experts simulated by the law {law}, each answered {share:.0%} of the rows to "
        "learn from; a new team for every split.",
        quick=law == "ring" and n_experts == 4,
    )
    for law in LAWS
    for n_experts in N_EXPERTS
    for name, share in SHARES.items()
)
