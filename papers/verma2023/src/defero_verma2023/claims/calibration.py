"""What the paper claims about calibration: Figure 1's lower row, Figures 2a, 2c and 2d."""

from dataclasses import replace

import numpy as np

from defero_verma2023.claims.bounds import ABOVE_ZERO, Bounds
from defero_verma2023.claims.cells import PERCENT, Block, Cells, cells, change_along, listed, over_seeds, pair
from defero_verma2023.claims.judge import Claim, Evidence, Records, Side, above, judge, means_of, unlike_nets
from defero_verma2023.claims.rules import Rule, cannot_decide, in_every_setting, on_average
from defero_verma2023.claims.verdict import Estimate, Verdict

RANDOM_EXPERT = "ece_by_expert.0"
STABLE = 1.0
"""Points within which an error is called stable over the settings."""
ABOUT_DOUBLE = (1.5, 3.0)
"""Ratios of two errors that are called about double."""
SMALL_RISE = 0.5
"""Points by which an error may rise over all settings and still be called flat."""
FAR = 10.0
"""Points of error that make a method badly calibrated; the published gaps begin at 11."""
FROM_FOUR = (4.0, 8.0, 12.0, 16.0, 20.0)
OVA, SOFTMAX = (Side(name, "ece", label) for name, label in (("ova", "OvA"), ("softmax", "softmax")))


def ova_is_better_calibrated(evidence: Evidence, *, where: str, settings: tuple[float, ...]) -> Verdict:
    """Judge: one-vs-all's calibration error is below the softmax's in every setting."""
    claim = Claim(
        "OvA is better calibrated than softmax, in every setting", where, "ECE, softmax less OvA, points", settings
    )
    after = _after_calibration(evidence, settings)
    return above(evidence, claim, high=SOFTMAX, low=OVA, rule=in_every_setting(ABOVE_ZERO), more=after)


def _after_calibration(evidence: Evidence, settings: tuple[float, ...]) -> str:
    """Say what is left of the difference once both are calibrated, if that was measured."""
    sides = (replace(side, metric="calibrated.ece") for side in (OVA, SOFTMAX))
    means = means_of(evidence.ours, *sides, settings=settings)
    return f" After calibration on held-out items: OvA {means[0]:.1f}, softmax {means[1]:.1f} %." if means else ""


def ova_s_error_is_stable(evidence: Evidence) -> Verdict:
    """Judge Figure 2a: OvA's error is stable as experts are added. At which level is told, not judged.

    The span of a seed holds what single runs scatter, so that it is a little too large.
    """
    claim = Claim(
        f"OvA's error is stable as experts are added (within {STABLE:g} point)",
        "Fig. 2a, section 7.2",
        f"largest less smallest ECE of OvA, points; up to {STABLE:g} speaks for the claim",
        FROM_FOUR,
    )

    def estimate(grid: Block) -> Estimate:
        return over_seeds(np.ptp(grid.values, axis=0), scale=PERCENT, n_settings=len(grid.settings))

    def why(grid: Block) -> str:
        levels = grid.by_setting * PERCENT
        return (
            f"OvA {listed(levels)} % at {listed(grid.settings, digits=0)} experts. Not judged: the level, "
            f"{levels.mean():.1f} % here and about 2 % in the paper."
        )

    rule = on_average(Bounds(high=STABLE))
    return judge(evidence, claim, effect=OVA.cells, rule=rule, why=why, estimate=estimate)


def softmax_s_error_is_about_double(evidence: Evidence) -> Verdict:
    """Judge Figure 2a: softmax's error is about double OvA's."""
    low, high = ABOUT_DOUBLE
    claim = Claim(
        f"softmax's error is about double OvA's ({low:g} to {high:g} times)",
        "Fig. 2a, section 7.2",
        "ECE of softmax divided by that of OvA",
        FROM_FOUR,
    )

    def effect(records: Records) -> Cells:
        first, second = (side.cells(records) for side in (SOFTMAX, OVA))
        return {place: value / second[place] for place, value in first.items() if second.get(place)}

    def why(grid: Block) -> str:
        return f"{listed(grid.by_setting)} times at {listed(grid.settings, digits=0)} experts."

    return judge(evidence, claim, effect=effect, rule=on_average(Bounds(low, high)), why=why, scale=1.0)


def softmax_mistakes_the_random_expert(evidence: Evidence) -> Verdict:
    """Judge: the softmax's error on the random expert grows as the others improve."""
    claim = Claim(
        "softmax's error on the random expert grows as the other experts improve",
        "Fig. 2d, section 7.2",
        "rise of the ECE over the settings, by least squares, points",
        (0.2, 0.4, 0.6, 0.8, 0.95),
    )
    return _rise(evidence, claim, method="softmax", rule=on_average(ABOVE_ZERO))


def ova_knows_the_random_expert(evidence: Evidence) -> Verdict:
    """Judge: one-vs-all's error on the random expert does not depend on the others."""
    claim = Claim(
        f"OvA's error on the random expert does not grow with the others' ability (by {SMALL_RISE:g} points at most)",
        "Fig. 2d, section 7.2",
        f"rise of the ECE over the settings, by least squares, points; up to {SMALL_RISE:g} speaks for the claim",
        (0.2, 0.4, 0.6, 0.8, 0.95),
    )
    return _rise(evidence, claim, method="ova", rule=on_average(Bounds(high=SMALL_RISE)))


def ova_is_better_on_the_random_expert(evidence: Evidence) -> Verdict:
    """Judge: one-vs-all's error on the random expert is below the softmax's in every setting."""
    claim = Claim(
        "OvA is better calibrated on the random expert, in every setting",
        "Fig. 2d, caption",
        "ECE of the random expert, softmax less OvA, points",
        (0.2, 0.4, 0.6, 0.8, 0.95),
    )
    high, low = (Side(side.method, RANDOM_EXPERT, side.name) for side in (SOFTMAX, OVA))
    return above(evidence, claim, high=high, low=low, rule=in_every_setting(ABOVE_ZERO))


def rise(grid: Block) -> Estimate:
    """Return by how many points an error rises from the first to the last setting."""
    return over_seeds(change_along(grid), scale=PERCENT, n_settings=len(grid.settings))


def _rise(evidence: Evidence, claim: Claim, *, method: str, rule: Rule) -> Verdict:
    def why(grid: Block) -> str:
        levels, rises = (listed(values * PERCENT, digits=2) for values in (grid.by_setting, change_along(grid)))
        shares = listed([PERCENT * setting for setting in grid.settings], digits=0)
        by_seed = f" Seed by seed it rises by {rises} points." if len(grid.seeds) > 1 else ""
        return (
            f"The error is {levels} % where the others are right on {shares} % of their classes."
            f"{by_seed} The published rise is of one network per point."
        )

    return judge(
        evidence,
        claim,
        effect=lambda records: cells(records, method, RANDOM_EXPERT),
        rule=rule,
        why=why,
        estimate=rise,
        needed=(claim.settings[0], claim.settings[-1]),
    )


def mixture_is_badly_calibrated(evidence: Evidence, *, where: str, settings: tuple[float, ...]) -> Verdict:
    """Judge: the mixture of experts' weights are far worse calibrated than one-vs-all's probabilities."""
    claim = Claim(
        f"The mixture of experts is far worse calibrated than OvA, by {FAR:g} points or more in every setting",
        where,
        "ECE, mixture less OvA, points",
        settings,
    )
    more, rule = unlike_nets(evidence.ours, "moe", "ova"), in_every_setting(Bounds(low=FAR))
    return above(evidence, claim, high=Side("moe", "ece", "mixture"), low=OVA, rule=rule, more=more)


def the_objective_is_to_blame(evidence: Evidence, *, where: str, settings: tuple[float, ...]) -> Verdict:
    """Judge: the mixture's calibration error shows that its objective is inconsistent.

    J + 1 weights share 1, so the mean error over J experts is at least mean accuracy - 1 / J, whatever was learned.
    What lies beyond this floor may have other causes, so the figure cannot decide the claim, for or against.
    """
    claim = Claim(
        "The mixture's calibration error comes from its inconsistent objective",
        where,
        "share of the mixture's ECE beyond the floor that any weights have, %",
        settings,
    )

    def floor(records: Records) -> Cells:
        return {
            (record.setting, record.seed): max(0.0, float(np.mean(right)) - 1 / len(right))
            for record in records
            if record.method == "moe" and (right := record.measures.get("expert_accuracy"))
        }

    def effect(records: Records) -> Cells:
        return pair(
            lambda whole, least: (whole - least) / whole,
            {place: error for place, error in cells(records, "moe", "ece").items() if error > 0},
            floor(records),
        )

    def levels(grid: Block) -> tuple[float, float]:
        errors, floors = cells(evidence.ours, "moe", "ece"), floor(evidence.ours)
        places = [(setting, seed) for setting in grid.settings for seed in grid.seeds]
        whole, least = (float(np.mean([one[place] for place in places])) for one in (errors, floors))
        return whole, least

    def why(grid: Block) -> str:
        whole, least = levels(grid)
        return (
            f"Of an error of {whole * PERCENT:.1f} % at least {least * PERCENT:.1f} points are there for any weights "
            f"that share 1 among the experts and the model. What lies beyond, {grid.values.mean() * PERCENT:.0f} % of "
            "it on average over settings, may have other causes: the figure cannot decide it "
            "(docs/explanation/errata.md, section 8)."
        )

    return judge(evidence, claim, effect=effect, rule=cannot_decide, why=why)
