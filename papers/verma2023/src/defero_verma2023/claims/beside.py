"""What the paper's sentences do not say, and what they are often read as: numbers beside the claims, judged alike."""

from defero_verma2023.claims.bounds import ABOVE_ZERO
from defero_verma2023.claims.calibration import RANDOM_EXPERT, rise
from defero_verma2023.claims.cells import PERCENT, Block, Cells, cells, change_along, listed, minus
from defero_verma2023.claims.judge import Claim, Evidence, Records, judge
from defero_verma2023.claims.rules import on_average
from defero_verma2023.claims.sets import farther_off, n_oracles
from defero_verma2023.claims.verdict import Verdict


def ova_s_naive_sets_are_closer_as_written(evidence: Evidence, *, settings: tuple[float, ...]) -> Verdict:
    """Judge: one-vs-all's naive sets are closer with the scores that the text defines, too.

    The paper explains the difference by calibration. As run, softmax's sets are built from its raw outputs, and one-vs-
    all's from probabilities: with the scores of the text on both sides calibration alone is left.
    """
    claim = Claim(
        "OvA's naive sets are closer with the scores of the text, too: thanks to its calibration",
        "Fig. 3a, section 7.3",
        "distance of naive set size and oracles, softmax less OvA, experts",
        tuple(setting for setting in settings if n_oracles(setting) < 10),
    )

    return farther_off(evidence, claim, "softmax", "ova", kind="naive_as_written")


def softmax_s_error_rises_more(evidence: Evidence) -> Verdict:
    """Judge: the softmax's error on the random expert rises more than one-vs-all's as the others improve."""
    claim = Claim(
        "softmax's error on the random expert rises more than OvA's",
        "Fig. 2d, section 7.2",
        "rise of the ECE over the settings, by least squares, softmax's less OvA's, points",
        (0.2, 0.4, 0.6, 0.8, 0.95),
    )

    def effect(records: Records) -> Cells:
        return minus(*(cells(records, method, RANDOM_EXPERT) for method in ("softmax", "ova")))

    def why(grid: Block) -> str:
        return f"Seed by seed: {listed(change_along(grid) * PERCENT, digits=2)} points."

    return judge(
        evidence,
        claim,
        effect=effect,
        rule=on_average(ABOVE_ZERO),
        why=why,
        estimate=rise,
        needed=(claim.settings[0], claim.settings[-1]),
    )
