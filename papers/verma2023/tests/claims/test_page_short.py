"""The verdicts in short: a claim stands where its worst verdict is, and every one that was judged stands once."""

from defero_verma2023.claims.verdict import CONFIRMED, DEPENDS, NOT_CONFIRMED, NOT_RUN, Verdict
from defero_verma2023.page.short import in_short


def verdict(claim, word, where="Fig. 2a, section 7.2 (wrn-28-4)"):
    return Verdict(claim, where, "", None, None, None, word, "")


def test_the_worst_verdict_says_where_a_claim_stands():
    ham = "Fig. 1, HAM10000, top; section 7.1 (efficientnet-lite0)"
    found = [
        verdict("OvA is better", CONFIRMED),
        verdict("Sets grow", CONFIRMED, "Appendix, overlap (a) (wrn-28-4, tuned)"),
        verdict("Sets shrink", CONFIRMED),
        verdict("Sets shrink", DEPENDS, ham),
        verdict("Votes fall", DEPENDS),
        verdict("Votes fall", NOT_CONFIRMED, ham),
        verdict("Nobody looked", NOT_RUN),
    ]
    assert list(in_short(found)) == [
        "Confirmed wherever we looked: OvA is better (Fig. 2a); sets grow (appendix).",
        "It depends, on the data, the experts or what is counted: sets shrink (HAM10000).",
        "Not confirmed somewhere: votes fall (HAM10000).",
    ]
    assert list(in_short([])) == []
