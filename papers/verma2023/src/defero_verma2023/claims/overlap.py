"""What the appendix claims about experts whose fields overlap ever more."""

from defero_verma2023.claims.bounds import ABOVE_ZERO
from defero_verma2023.claims.cells import PERCENT, Block, Cells, cells, listed, minus, over_seeds, pair
from defero_verma2023.claims.judge import Claim, Evidence, Records, judge
from defero_verma2023.claims.rules import in_every_setting, on_average
from defero_verma2023.claims.sets import gain, mean_of_both, means_at, smaller
from defero_verma2023.claims.verdict import Estimate, Verdict
from defero_verma2023.methods import TWO_LOSSES

EVERYBODY = 9.0
"""Of ten experts: a set that holds at least so many holds nearly everybody."""


def regularized_sets_grow_with_overlap(evidence: Evidence, *, settings: tuple[float, ...]) -> Verdict:
    """Judge: regularized sets grow with the experts' overlap, more than naive ones. Their promise is no part of it."""
    claim = Claim(
        "Regularized sets grow as the experts' fields overlap: they are more dynamic than naive ones",
        "Appendix, overlap (a)",
        "growth of the set from least to most overlap, regularized less naive, the smaller of both losses', experts",
        settings,
    )
    sizes = [
        pair(min, *(cells(evidence.ours, method, f"sets.{kind}.size") for method in TWO_LOSSES))
        for kind in ("regularized_as_run", "naive_as_run")
    ]

    def estimate(grid: Block) -> Estimate:
        return over_seeds(grid.values[-1], scale=1.0, n_settings=len(grid.settings))

    def why(grid: Block) -> str:
        regularized, naive = (listed(means_at(one, grid)) for one in sizes)
        return (
            f"The smaller sizes of both losses at overlap {listed(grid.settings, digits=2)}: regularized "
            f"{regularized}; naive {naive}. Where regularized sets are small, they break their promise (see below)."
        )

    def effect(records: Records) -> Cells:
        return pair(min, *(_extra_growth(records, method, first=settings[0]) for method in TWO_LOSSES))

    return judge(
        evidence,
        claim,
        effect=effect,
        rule=on_average(ABOVE_ZERO),
        why=why,
        estimate=estimate,
        scale=1.0,
        needed=(settings[0], settings[-1]),
    )


def _extra_growth(records: Records, method: str, *, first: float) -> Cells:
    """Return by how many experts regularized sets grow more than naive ones, from the first setting on."""
    return minus(*(_growth(records, method, kind, first=first) for kind in ("regularized_as_run", "naive_as_run")))


def _growth(records: Records, method: str, kind: str, *, first: float) -> Cells:
    """Return by how many experts sets are larger than those of the same seed at the first setting."""
    sizes = cells(records, method, f"sets.{kind}.size")
    return {
        (setting, seed): size - sizes[first, seed] for (setting, seed), size in sizes.items() if (first, seed) in sizes
    }


def naive_sets_hold_everybody(evidence: Evidence, *, settings: tuple[float, ...]) -> Verdict:
    """Judge: naive sets hold nearly all ten experts whatever the overlap."""
    claim = Claim(
        f"Naive sets hold nearly everybody whatever the overlap (at least {EVERYBODY:g} of 10)",
        "Appendix, overlap (a)",
        f"naive set size less {EVERYBODY:g}, the smaller of both losses', experts",
        settings,
    )

    def effect(records: Records) -> Cells:
        smaller = pair(min, *(cells(records, method, "sets.naive_as_run.size") for method in TWO_LOSSES))
        return {place: size - EVERYBODY for place, size in smaller.items()}

    def why(grid: Block) -> str:
        return f"Sizes {listed(grid.by_setting + EVERYBODY)} at overlap {listed(grid.settings, digits=2)}."

    return judge(evidence, claim, effect=effect, rule=in_every_setting(ABOVE_ZERO, scale=1.0), why=why, scale=1.0)


def the_naive_vote_beats_a_fixed_five(evidence: Evidence, *, settings: tuple[float, ...]) -> Verdict:
    """Judge: the naive set's vote beats that of a fixed five, for both losses."""
    claim = Claim(
        "The vote of the naive set is slightly more accurate than that of a fixed five",
        "Appendix, overlap (b)",
        "system accuracy, naive set less top five, the smaller gain of both losses, points",
        settings,
    )
    effect = smaller(gain("naive_as_run", "top5", run="naive"))
    return judge(evidence, claim, effect=effect, rule=on_average(ABOVE_ZERO), why=_by_overlap)


def the_naive_vote_beats_the_top_expert(evidence: Evidence) -> Verdict:
    """Judge: once fields overlap, the naive set's vote beats the top expert, for both losses."""
    claim = Claim(
        "From overlap 0.4 on the vote of the naive set is more accurate than the top expert",
        "Appendix, overlap (b), as drawn",
        "system accuracy, naive set less top expert, the smaller gain of both losses, points",
        (0.4, 0.6, 0.8, 0.95),
    )
    effect = smaller(gain("naive_as_run", "top_expert", run="naive"))
    return judge(evidence, claim, effect=effect, rule=in_every_setting(ABOVE_ZERO), why=_by_overlap)


def the_regularized_vote_drops(evidence: Evidence) -> Verdict:
    """Judge: at low overlap the regularized set's vote is a little less accurate than the top expert.

    As run, an empty set was answered with the number of its top expert, read as a class. Here it is answered by that
    expert, so that a drop is one of the vote itself.
    """
    claim = Claim(
        "At low overlap (0.6 or less) the vote of the regularized set costs a little accuracy",
        "Appendix, overlap (c)",
        "system accuracy, top expert less regularized set, mean of both losses, points",
        (0.1, 0.2, 0.4, 0.6),
    )

    by_method = gain("top_expert", "regularized", run="regularized")

    def why(grid: Block) -> str:
        losses = [
            f"{label} {listed(means_at(by_method(evidence.ours, method), grid) * PERCENT, digits=2)}"
            for method, label in TWO_LOSSES.items()
        ]
        return (
            f"{'; '.join(losses)} points at overlap {listed(grid.settings, digits=2)}. As run, an empty set was "
            "answered with a wrong class, and most of the published drop is that; here its top expert answers "
            "(docs/explanation/errata.md, section 11)."
        )

    return judge(evidence, claim, effect=mean_of_both(by_method), rule=on_average(ABOVE_ZERO), why=why)


def _by_overlap(grid: Block) -> str:
    points = listed(grid.by_setting * PERCENT, digits=2)
    return f"{points} points at overlap {listed(grid.settings, digits=2)}."
