"""The verdicts in short: a claim stands where its weightiest verdict is, and every one that was judged stands once."""

from defero_verma2023.claims.verdict import CANNOT_DECIDE, CONFIRMED, CONTRADICTED, INCONCLUSIVE, NOT_RUN, Verdict
from defero_verma2023.page.short import in_short


def verdict(claim, word, where="Fig. 2a, section 7.2 (wrn-28-4)", seeds=None):
    return Verdict(claim, where, "", None, None, None, word, "", seeds)


def test_the_weightiest_verdict_says_where_a_claim_stands():
    ham = "Fig. 1, HAM10000, top; section 7.1 (efficientnet-lite0)"
    several = [
        verdict("OvA is better", CONFIRMED),
        verdict("Sets grow", CONFIRMED, "Appendix, overlap (a) (wrn-28-4, tuned)"),
        verdict("Sets shrink", CONFIRMED),
        verdict("Sets shrink", INCONCLUSIVE, ham, 12),
        verdict("Votes fall", INCONCLUSIVE),
        verdict("Votes fall", CONTRADICTED, ham),
        verdict("Weights blame", CANNOT_DECIDE),
        verdict("Weights blame", CONFIRMED, ham),
        verdict("Nobody looked", NOT_RUN),
    ]
    assert list(in_short(several)) == [
        "Confirmed wherever we looked: OvA is better (Fig. 2a); sets grow (appendix).",
        "Contradicted somewhere: votes fall (HAM10000).",
        "Inconclusive somewhere, in brackets with the seeds that would settle it: sets shrink (HAM10000: 12).",
        "Cannot be decided somewhere, by the figure or by our runs: weights blame (Fig. 2a).",
    ]
    assert list(in_short([])) == []
