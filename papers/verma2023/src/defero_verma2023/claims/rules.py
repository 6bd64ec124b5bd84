"""How a verdict follows from numbers: a few rules, stated once, the same for every claim.

The number that decides is a difference that speaks for the claim where it is above 0, or lies within the bounds that
the claim names. It is paired: both sides are from the same seed and setting. Its interval is Student's, over seeds. Of
one seed it is over settings: it says how they differ, not what another seed would give, and the verdict is provisional.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from defero_verma2023.claims.bounds import Bounds
from defero_verma2023.claims.cells import PERCENT, Block, mean_over_settings, setting_estimates, wider_level
from defero_verma2023.claims.verdict import (
    CANNOT_DECIDE,
    CONFIRMED,
    CONTRADICTED,
    INCONCLUSIVE,
    Direction,
    Estimate,
)


@dataclass(frozen=True)
class Ruling:
    """What a rule says: the direction, the seeds that would settle it, words for the reason, and the p value.

    The p value is below 0.05 where the direction is settled; nan where it is not, or for one seed.
    """

    direction: Direction
    seeds_needed: int | None = None
    words: str = ""
    p_value: float = math.nan


Rule = Callable[[Estimate, Block], Ruling]
"""The number that decides and the values behind it in, the ruling out."""


def on_average(bounds: Bounds) -> Rule:
    """Judge by the number itself: does its interval lie within the bounds, outside or across?"""

    def rule(value: Estimate, grid: Block) -> Ruling:
        direction = bounds.direction(value)
        if direction == INCONCLUSIVE:
            return Ruling(direction, bounds.seeds_needed(value))
        return Ruling(direction, p_value=bounds.p_value(value))

    return rule


def in_every_setting(bounds: Bounds, *, scale: float = PERCENT) -> Rule:
    """Judge a claim about every setting: each one by its own interval.

    Confirmed if each setting's interval lies within the bounds. Contradicted if one setting's lies outside, widened for
    the number of settings, or that of their mean does. The bounds are in points, or in experts with a scale of 1.
    """

    def rule(value: Estimate, grid: Block) -> Ruling:
        plain = setting_estimates(grid, scale=scale)
        wide = setting_estimates(grid, scale=scale, level=wider_level(len(plain)))
        directions = [_of_one_setting(bounds, *pair) for pair in zip(plain, wide, strict=True)]
        words = _tally(directions)
        if set(directions) == {CONFIRMED}:
            return Ruling(CONFIRMED, words=words, p_value=max(map(bounds.p_value, plain)))
        against = [one for one in (*wide, value) if bounds.direction(one) == CONTRADICTED]
        if against:
            return Ruling(CONTRADICTED, words=words, p_value=min(map(bounds.p_value, against)))
        outside = [one for one in (*wide, value) if one.mean not in bounds]
        needed = [bounds.seeds_needed(one) for one in outside or plain]
        known = [n for n in needed if n is not None]
        if outside:  # one clear counterexample is enough
            return Ruling(INCONCLUSIVE, min(known, default=None), words)
        return Ruling(INCONCLUSIVE, max(known) if len(known) == len(needed) else None, words)

    return rule


def in_some_setting(bounds: Bounds) -> Rule:
    """Judge a claim about at least one setting: the opposite of one about every setting, on the other side."""
    opposite = in_every_setting(bounds.complement)
    swapped: dict[Direction, Direction] = {CONFIRMED: CONTRADICTED, CONTRADICTED: CONFIRMED}

    def rule(value: Estimate, grid: Block) -> Ruling:
        ruling = opposite(mean_over_settings(grid, scale=PERCENT), grid)
        return replace(ruling, direction=swapped.get(ruling.direction, ruling.direction), words="")

    return rule


def cannot_decide(value: Estimate, grid: Block) -> Ruling:
    """Judge nothing: the number stands beside the claim, and settles it neither way."""
    return Ruling(CANNOT_DECIDE)


def _of_one_setting(bounds: Bounds, plain: Estimate, wide: Estimate) -> Direction:
    if bounds.direction(plain) == CONFIRMED:
        return CONFIRMED
    return CONTRADICTED if bounds.direction(wide) == CONTRADICTED else INCONCLUSIVE


def _tally(directions: Sequence[Direction]) -> str:
    """Say in how many settings a claim holds.

    >>> _tally(["confirmed", "confirmed", "inconclusive"])
    ' By its own interval it holds in 2 of 3 settings; 1 inconclusive.'
    """
    if len(directions) < 2:
        return ""
    others = [f"{directions.count(word)} {word}" for word in (CONTRADICTED, INCONCLUSIVE) if word in directions]
    rest = f"; {', '.join(others)}" if others else ""
    return f" By its own interval it holds in {directions.count(CONFIRMED)} of {len(directions)} settings{rest}."
