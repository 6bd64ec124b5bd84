"""Ours: one expert after the other is asked, while the expected gain is worth the fee."""

import numpy as np

from benchmarks.people.advised import advised, cut, reading
from benchmarks.people.fold import Fold
from benchmarks.people.system import System
from defero import Answer
from defero.decide.terms import Terms

FEES = (0.01, 0.03, 0.05)


def sequential(fee: float, *, words: bool = True) -> System:
    """Return the panel at a fee, in units of one error."""

    def run(fold: Fold) -> Answer:
        shown = reading(fold) if words else fold
        fees = np.full(shown.train.n_experts, fee)
        return advised(shown).answer(shown.features, shown.answers, vote="sequential", terms=Terms(fees=fees))

    name = f"our sequential panel, fee {fee:g}"
    if words:
        return System(name, run, kind="ours", place=5)
    return System(f"{name}, not reading the text", run, kind="ours", place=6, needs_words=True)


def run_calibrated(fold: Fold) -> Answer:
    """Learn from 80 % of the training part; the rest says how often labels of several answers are right."""
    shown = reading(fold)
    router, held = cut(shown)
    team = router.copy().conformalize(held.features, held.labels, held.answers, alpha=0.1, disjoint=True)
    fees = np.full(shown.train.n_experts, FEES[0])
    return team.answer(shown.features, shown.answers, vote="sequential", terms=Terms(fees=fees))


CALIBRATED = System(
    f"our sequential panel, fee {FEES[0]:g}, calibrated", run_calibrated, kind="ours", most_splits=10, place=5
)
SYSTEMS = (
    *(sequential(fee) for fee in FEES),
    CALIBRATED,
    *(sequential(fee, words=False) for fee in FEES),
)
