"""Many claims are judged at once: some directions would seem settled by chance. Holm's correction says which stay."""

import math
from collections.abc import Sequence
from dataclasses import replace

from defero.judge import holm
from defero_verma2023.claims.verdict import CONFIRMED, CONTRADICTED, INCONCLUSIVE, Verdict

SETTLED = (CONFIRMED, CONTRADICTED)


def corrected(all_verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts, the settled ones with their p value adjusted for all that runs could have settled.

    An inconclusive one counts with p = 1, and so does one seed, of which no p value is known.
    """
    places = [place for place, one in enumerate(all_verdicts) if one.direction in (*SETTLED, INCONCLUSIVE)]
    p_values = [all_verdicts[place].p_value for place in places]
    adjusted = holm([1.0 if math.isnan(p) else p for p in p_values])
    by_place = dict(zip(places, adjusted.tolist(), strict=True))
    return tuple(
        replace(one, adjusted_p=by_place[place]) if one.direction in SETTLED else one
        for place, one in enumerate(all_verdicts)
    )


def after_holm_in_words(all_verdicts: Sequence[Verdict]) -> str:
    """Say how many of the settled directions stay."""
    n_tests = sum(one.direction in (*SETTLED, INCONCLUSIVE) for one in all_verdicts)
    counts = []
    for word in SETTLED:
        some = [one for one in all_verdicts if one.direction == word]
        if some:
            counts.append(f"{sum(not one.only_by_itself for one in some)} of {len(some)} {word}")
    return f"With Holm's correction for {n_tests} verdicts {' and '.join(counts)} remain." if counts else ""
