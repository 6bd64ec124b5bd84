"""What the paper claims about system accuracy: Figure 1's upper row and Figure 2b."""

from dataclasses import replace

from defero_verma2023.claims.bounds import ABOVE_ZERO, within
from defero_verma2023.claims.cells import PERCENT, Block, at_its_most, block, over_seeds, steps_down
from defero_verma2023.claims.judge import Claim, Evidence, Side, above, judge, means_of, unlike_nets
from defero_verma2023.claims.rules import Rule, cannot_decide, in_every_setting, in_some_setting, on_average
from defero_verma2023.claims.verdict import Estimate, Verdict
from defero_verma2023.methods import BEST_EXPERT, ONE_CLASSIFIER

ACCURACY = "system_accuracy"
MODEL_ALONE = "class_accuracy"
ALIKE = 2.0
"""Points within which accuracies are called comparable; the published ones differ by up to 1.2 on average."""
OVA = Side("ova", ACCURACY, "OvA")
SOFTMAX = Side("softmax", ACCURACY, "softmax")
MIXTURE = Side("moe", ACCURACY, "mixture")
ALONE = Side(ONE_CLASSIFIER, ACCURACY, "one classifier")
BEST = Side(BEST_EXPERT, "best_expert", "best expert")


def accuracy_rises_with_experts(evidence: Evidence, *, where: str, settings: tuple[float, ...]) -> Verdict:
    """Judge: one-vs-all's accuracy rises as experts are added. From end to end; steps that fall are told."""
    claim = Claim(
        "Accuracy rises as experts are added (OvA)",
        where,
        f"system accuracy with {settings[-1]:g} experts less that with {settings[0]:g}, points",
        settings,
    )

    def estimate(grid: Block) -> Estimate:
        return over_seeds(grid.values[-1] - grid.values[0], scale=PERCENT, n_settings=len(grid.settings))

    def why(grid: Block) -> str:
        falls, beyond = steps_down(grid)
        return (
            f"OvA from {grid.by_setting[0] * PERCENT:.1f} to {grid.by_setting[-1] * PERCENT:.1f} %; {falls} of "
            f"{len(grid.settings) - 1} steps fall on average, {beyond} beyond their interval."
            f"{_others_rise(evidence, grid)}"
        )

    return judge(
        evidence,
        claim,
        effect=OVA.cells,
        rule=on_average(ABOVE_ZERO),
        why=why,
        estimate=estimate,
        needed=(settings[0], settings[-1]),
    )


def _others_rise(evidence: Evidence, grid: Block) -> str:
    words = []
    for side in (SOFTMAX, MIXTURE):
        grid_of_side = block(side.cells(evidence.ours), settings=grid.settings)
        if grid_of_side is not None and len(grid_of_side.settings) > 1:
            words.append(f"{side.name} {(grid_of_side.by_setting[-1] - grid_of_side.by_setting[0]) * PERCENT:+.1f}")
    return f" The others change by: {', '.join(words)} points." if words else ""


def methods_are_comparable(evidence: Evidence, *, where: str, settings: tuple[float, ...], other: str) -> Verdict:
    """Judge: one-vs-all and another method are alike to two points on average."""
    side = {"softmax": SOFTMAX, "moe": MIXTURE}[other]
    claim = Claim(
        f"OvA and {_long(side)} perform comparably (within {ALIKE:g} points on average)",
        where,
        f"system accuracy, OvA less {side.name}, points",
        settings,
    )
    return _if_alike(evidence, claim, side, on_average(within(ALIKE)))


def ova_is_more_accurate(evidence: Evidence, *, where: str, settings: tuple[float, ...], other: str) -> Verdict:
    """Judge: one-vs-all is more accurate than another method."""
    side = {"softmax": SOFTMAX, "moe": MIXTURE}[other]
    claim = Claim(
        f"OvA is more accurate than {_long(side)}", where, f"system accuracy, OvA less {side.name}, points", settings
    )
    return _if_alike(evidence, claim, side, on_average(ABOVE_ZERO))


def _if_alike(evidence: Evidence, claim: Claim, other: Side, rule: Rule) -> Verdict:
    """Judge OvA and another method by a rule; networks that were not trained alike decide nothing, for or against."""
    unlike = unlike_nets(evidence.ours, OVA.method, other.method)
    more = f"{unlike} So our runs cannot decide it." if unlike else ""
    return above(evidence, claim, high=OVA, low=other, rule=cannot_decide if unlike else rule, more=more)


def ova_never_falls_below_one_classifier(evidence: Evidence, *, where: str, settings: tuple[float, ...]) -> Verdict:
    """Judge: one-vs-all's accuracy is never below that of one classifier."""
    claim = Claim(
        "OvA's accuracy never falls below that of one classifier",
        where,
        "system accuracy, OvA less one classifier, points",
        settings,
    )
    return above(evidence, claim, high=OVA, low=ALONE, rule=in_every_setting(ABOVE_ZERO))


def softmax_falls_below_one_classifier(evidence: Evidence, *, where: str, settings: tuple[float, ...]) -> Verdict:
    """Judge: the softmax's accuracy falls below that of one classifier somewhere; where it falls most decides.

    That place is chosen by the same runs, so its interval is widened for the number of settings: see `wider_level`.
    """
    claim = Claim(
        "softmax's accuracy falls below that of one classifier in some setting",
        where,
        "system accuracy, one classifier less softmax where that is largest, points",
        settings,
    )

    def estimate(grid: Block) -> Estimate:
        return at_its_most(grid, scale=PERCENT)

    return above(evidence, claim, high=ALONE, low=SOFTMAX, rule=in_some_setting(ABOVE_ZERO), estimate=estimate)


def ova_is_above_the_best_expert(evidence: Evidence, *, where: str, settings: tuple[float, ...]) -> Verdict:
    """Judge: one-vs-all's team is more accurate than its best member, in every setting."""
    claim = Claim(
        "OvA's team is more accurate than its best expert, in every setting",
        where,
        "system accuracy, OvA less best expert, points",
        settings,
    )
    more = _with_experts(evidence, OVA, BEST, settings[-1])
    return above(evidence, claim, high=OVA, low=BEST, rule=in_every_setting(ABOVE_ZERO), more=more)


def ova_is_ahead_with_few_copies(evidence: Evidence) -> Verdict:
    """Judge Figure 2b: one-vs-all is more accurate with twelve experts or fewer."""
    claim = Claim(
        "OvA is more accurate with 12 experts or fewer (the caption says 16)",
        "Fig. 2b, section 7.2",
        "system accuracy, OvA less softmax at 4, 8 and 12 experts, points",
        (4.0, 8.0, 12.0),
    )
    more = (
        _with_experts(evidence, OVA, SOFTMAX, 16.0)
        + _models_alone(evidence, OVA, SOFTMAX, settings=claim.settings)
        + _nobody_asked(evidence, settings=claim.settings)
        + " Longer training changes it: see the section on Figure 2b."
    )
    return above(evidence, claim, high=OVA, low=SOFTMAX, rule=in_every_setting(ABOVE_ZERO), more=more)


def _with_experts(evidence: Evidence, first: Side, second: Side, n_experts: float) -> str:
    """Say what both sides are with so many experts, if that was run."""
    means = means_of(evidence.ours, first, second, settings=(n_experts,))
    return f" With {n_experts:g} experts: {means[0]:.1f} and {means[1]:.1f} %." if means else ""


def softmax_is_ahead_with_twenty_copies(evidence: Evidence) -> Verdict:
    """Judge Figure 2b: the softmax is more accurate with twenty experts."""
    claim = Claim(
        "softmax is the more accurate with 20 experts",
        "Fig. 2b, section 7.2",
        "system accuracy, softmax less OvA at 20 experts, points",
        (20.0,),
    )
    more = _models_alone(evidence, SOFTMAX, OVA, settings=claim.settings)
    more += _nobody_asked(evidence, settings=claim.settings)
    return above(evidence, claim, high=SOFTMAX, low=OVA, rule=on_average(ABOVE_ZERO), more=more)


def _models_alone(evidence: Evidence, first: Side, second: Side, *, settings: tuple[float, ...]) -> str:
    """Say how much of a difference in system accuracy is there without experts, in our runs and the authors'."""
    sides = [replace(side, metric=MODEL_ALONE) for side in (first, second)]
    words, shares = [], []
    for whose, records in (("ours", evidence.ours), ("the authors' stored", evidence.stored)):
        systems, alone = (means_of(records, *several, settings=settings) for several in ((first, second), sides))
        if systems and alone:
            words.append(f"{whose} {first.name} {alone[0]:.1f}, {second.name} {alone[1]:.1f} %")
            shares.append((alone[0] - alone[1]) / (systems[0] - systems[1]) if systems[0] != systems[1] else 0.0)
    if not words:
        return ""
    most = ", so most of the difference is the classifiers', not deferral's" if min(shares) > 0.5 else ""
    return f" The models alone: {'; '.join(words)}{most}."


def _nobody_asked(evidence: Evidence, *, settings: tuple[float, ...]) -> str:
    """Say what one classifier has, and which of both losses is clearly below it, by a tenth of a point or more."""
    means = means_of(evidence.ours, ALONE, OVA, SOFTMAX, settings=settings)
    if not means:
        return ""
    below = [side.name for side, mean in zip((OVA, SOFTMAX), means[1:], strict=True) if mean <= means[0] - 0.1]
    return f" One classifier: {means[0]:.1f} %{', above ' + ' and '.join(below) if below else ''}."


def _long(side: Side) -> str:
    return "the mixture of experts" if side is MIXTURE else side.name
