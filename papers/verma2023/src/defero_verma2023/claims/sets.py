"""What the paper claims about conformal sets of experts: Figure 3."""

from collections.abc import Callable

import numpy as np

from defero_verma2023.arrays import FloatArray
from defero_verma2023.claims.bounds import ABOVE_ZERO, Bounds, within
from defero_verma2023.claims.cells import PERCENT, Block, Cells, cells, listed, minus, pair
from defero_verma2023.claims.judge import Claim, Evidence, Records, judge
from defero_verma2023.claims.rules import in_every_setting, on_average
from defero_verma2023.claims.verdict import Verdict
from defero_verma2023.figures.catalogue import first_x
from defero_verma2023.methods import TWO_LOSSES

ALPHA = 0.1
SLACK = 0.02
"""By how much a realised share may be above alpha: means over ten splits scatter by about 0.01."""
NEAR = 1.0
"""Experts by which the size of a set may differ from the number of oracles, on average, and still be called near."""
EQUAL = 1.0
"""Points within which two votes are called equal."""


def n_oracles(setting: float) -> float:
    """Return how many of the ten experts are oracles at a setting."""
    return setting + first_x("oracles")


def naive_sets_are_too_large(evidence: Evidence, *, where: str, settings: tuple[float, ...]) -> Verdict:
    """Judge: naive sets hold more experts than there are oracles; the smaller of both losses' sets decides."""
    claim = Claim(
        "Naive sets hold more experts than there are oracles",
        where,
        "naive set size less oracles, the smaller of OvA's and softmax's, experts",
        tuple(setting for setting in settings if n_oracles(setting) < 10),
    )

    def effect(records: Records) -> Cells:
        smaller = pair(min, *(cells(records, method, "sets.naive_as_run.size") for method in TWO_LOSSES))
        return {place: size - n_oracles(place[0]) for place, size in smaller.items()}

    def why(grid: Block) -> str:
        return f"Beyond the oracles: {listed(grid.by_setting)} experts with {oracles_of(grid)} oracles."

    return judge(evidence, claim, effect=effect, rule=in_every_setting(ABOVE_ZERO, scale=1.0), why=why, scale=1.0)


def naive_sets_keep_their_promise(evidence: Evidence, *, where: str, settings: tuple[float, ...]) -> Verdict:
    """Judge: every right expert is in the naive set with probability 0.9, for both losses, up to two points."""
    claim = Claim(
        f"Naive sets hold every right expert with probability 0.9, as the theory guarantees (up to {SLACK:g})",
        where,
        "share of items whose right experts are all in the set, less 90 %, the smaller of both losses', points",
        settings,
    )

    def effect(records: Records) -> Cells:
        smaller = pair(min, *(cells(records, method, "sets.naive_as_run.all_correct") for method in TWO_LOSSES))
        return {place: share - (1 - ALPHA) for place, share in smaller.items()}

    def why(grid: Block) -> str:
        shares = listed(grid.by_setting + 1 - ALPHA, digits=2)
        return f"Shares {shares} with {oracles_of(grid)} oracles; means over splits scatter by about 0.01."

    rule = in_every_setting(Bounds(low=-SLACK * PERCENT))
    return judge(evidence, claim, effect=effect, rule=rule, why=why)


def ova_s_naive_sets_are_closer(evidence: Evidence, *, settings: tuple[float, ...]) -> Verdict:
    """Judge: one-vs-all's naive sets are closer to the number of oracles, as the authors ran them."""
    claim = Claim(
        "OvA's naive sets are closer to the number of oracles",
        "Fig. 3a, section 7.3",
        "distance of naive set size and oracles, softmax less OvA, experts",
        tuple(setting for setting in settings if n_oracles(setting) < 10),
    )

    return farther_off(evidence, claim, "softmax", "ova", kind="naive_as_run")


def _distance(records: Records, method: str, *, kind: str) -> Cells:
    """Return by how many experts the size of a set differs from the number of oracles."""
    sizes = cells(records, method, f"sets.{kind}.size")
    return {place: abs(size - n_oracles(place[0])) for place, size in sizes.items()}


def farther_off(evidence: Evidence, claim: Claim, first: str, second: str, *, kind: str, digits: int = 1) -> Verdict:
    """Judge a claim that the first method's sets are farther from the number of oracles than the second's."""

    def effect(records: Records) -> Cells:
        return minus(_distance(records, first, kind=kind), _distance(records, second, kind=kind))

    def why(grid: Block) -> str:
        by_setting = listed(grid.by_setting, digits=digits)
        return f"{TWO_LOSSES[first]}'s are farther off by {by_setting} with {oracles_of(grid)} oracles."

    return judge(evidence, claim, effect=effect, rule=on_average(ABOVE_ZERO), why=why, scale=1.0)


def regularized_sets_find_the_oracles(
    evidence: Evidence, *, where: str, settings: tuple[float, ...], method: str
) -> Verdict:
    """Judge: regularized sets hold about as many experts as there are oracles. Their promise has a row of its own."""
    claim = Claim(
        f"Regularized sets hold about as many experts as there are oracles ({TWO_LOSSES[method]}; within {NEAR:g})",
        where,
        f"distance of regularized set size and oracles, experts; up to {NEAR:g} speaks for the claim",
        settings,
    )

    def why(grid: Block) -> str:
        return f"Sizes are off by {listed(grid.by_setting)} with {oracles_of(grid)} oracles."

    return judge(
        evidence,
        claim,
        effect=lambda records: _distance(records, method, kind="regularized_as_run"),
        rule=on_average(Bounds(high=NEAR)),
        why=why,
        scale=1.0,
    )


def softmax_s_regularized_sets_are_closer(evidence: Evidence) -> Verdict:
    """Judge Figure 3b: the softmax's regularized sets are slightly nearer for two to five oracles."""
    claim = Claim(
        "With noise and 2 to 5 oracles, softmax's regularized sets are slightly closer than OvA's",
        "Fig. 3b, section 7.3",
        "distance of set size and oracles, OvA less softmax, experts",
        (1.0, 2.0, 3.0, 4.0),
    )

    return farther_off(evidence, claim, "ova", "softmax", kind="regularized_as_run", digits=2)


def conformal_beats_a_fixed_five(evidence: Evidence) -> Verdict:
    """Judge: with one and two oracles the regularized set's vote beats that of the top five, for both losses."""
    claim = Claim(
        "With one and two oracles the vote of the regularized set beats that of a fixed five",
        "Fig. 3c, section 7.3",
        "system accuracy, regularized set less top five, the smaller gain of both losses, points",
        (0.0, 1.0),
    )

    def why(grid: Block) -> str:
        words = [_votes(evidence.ours, method, grid, ("regularized", "top5", "top_expert")) for method in TWO_LOSSES]
        return f"Set, five, top expert alone: {'; '.join(word for word in words if word)}."

    return judge(
        evidence,
        claim,
        effect=smaller(gain("regularized", "top5", run="regularized")),
        rule=in_every_setting(ABOVE_ZERO),
        why=why,
    )


def votes_are_equal_with_three_oracles(evidence: Evidence) -> Verdict:
    """Judge: with three oracles or more both votes are alike to one point on average."""
    claim = Claim(
        f"With three oracles or more the two votes are equal (within {EQUAL:g} point on average)",
        "Fig. 3c, section 7.3",
        "system accuracy, regularized set less top five, mean of both losses, points",
        (2.0, 3.0, 4.0, 5.0, 7.0, 9.0),
    )

    def why(grid: Block) -> str:
        return f"{listed(grid.by_setting * PERCENT, digits=2)} points with {oracles_of(grid)} oracles."

    effect = mean_of_both(gain("regularized", "top5", run="regularized"))
    return judge(evidence, claim, effect=effect, rule=on_average(within(EQUAL)), why=why)


def gain(first: str, second: str, *, run: str) -> Callable[[Records, str], Cells]:
    """Return how much more accurate one vote is than another, by method."""

    def by_method(records: Records, method: str) -> Cells:
        one, other = (cells(records, method, f"votes.{name}.system_accuracy", run=run) for name in (first, second))
        return minus(one, other)

    return by_method


def smaller(by_method: Callable[[Records, str], Cells]) -> Callable[[Records], Cells]:
    """Return the smaller gain of both losses."""
    return lambda records: pair(min, *(by_method(records, method) for method in TWO_LOSSES))


def mean_of_both(by_method: Callable[[Records, str], Cells]) -> Callable[[Records], Cells]:
    """Return the mean gain of both losses."""
    return lambda records: pair(
        lambda one, other: (one + other) / 2, *(by_method(records, method) for method in TWO_LOSSES)
    )


def means_at(cell_values: Cells, grid: Block) -> FloatArray:
    """Return means over the seeds of a block, (n settings,); nan where a value is missing."""
    return np.array(
        [np.mean([cell_values.get((setting, seed), np.nan) for seed in grid.seeds]) for setting in grid.settings]
    )


def _votes(records: Records, method: str, grid: Block, names: tuple[str, ...]) -> str:
    means = [means_at(cells(records, method, f"votes.{name}.system_accuracy"), grid) for name in names]
    return f"{TWO_LOSSES[method]} {listed([float(one.mean()) * PERCENT for one in means])} %"


def oracles_of(grid: Block) -> str:
    """Write the numbers of oracles of a block's settings."""
    return listed([n_oracles(setting) for setting in grid.settings], digits=0)
