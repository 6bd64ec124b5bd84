"""Ours: one expert after the other is asked, while the expected gain is worth the fee."""

import numpy as np

from benchmarks.people.advised import advised, reading
from benchmarks.people.fold import Fold
from benchmarks.people.system import System
from defero import Answer

FEES = (0.01, 0.03, 0.05)


def sequential(fee: float, *, words: bool = True) -> System:
    """Return the panel at a fee, in units of one error."""

    def run(fold: Fold) -> Answer:
        shown = reading(fold) if words else fold
        fees = np.full(shown.train.n_experts, fee)
        return advised(shown).answer(shown.features, shown.answers, vote="sequential", fees=fees)

    name = f"our sequential panel, fee {fee:g}"
    if words:
        return System(name, run, kind="ours", place=5)
    return System(f"{name}, not reading the text", run, kind="ours", place=6, needs_words=True)


SYSTEMS = (*(sequential(fee) for fee in FEES), *(sequential(fee, words=False) for fee in FEES))
