"""Verdicts as rows of a table, and how many there are of each."""

from collections.abc import Iterable, Sequence

from defero_verma2023.claims.multiplicity import after_holm_in_words
from defero_verma2023.claims.verdict import AS_PUBLISHED, DIRECTIONS, LARGER, NOT_RUN, SMALLER, Verdict

HEADER = ("claim", "published", "ours", "direction", "size", "why")
NOT_RUN_HEADER = ("claim", "where", "published", "stored", "ours so far")


def verdict_cells(verdict: Verdict) -> tuple[str, ...]:
    """Return a verdict's row; the first cell says where the claim is made, and what the numbers are."""
    ours, stored = ("" if one is None else one.words() for one in (verdict.ours, verdict.stored))
    claim = f"**{verdict.claim}.** {verdict.where}. *Number:* {verdict.quantity}"
    published = "; ".join([*filter(None, [verdict.published_words]), *([f"stored: {stored}"] if stored else [])])
    return (claim, published, ours, verdict.direction_words, verdict.size, verdict.why)


def not_run_cells(verdict: Verdict) -> tuple[str, ...]:
    """Return the shorter row of a claim that is not judged yet."""
    ours, stored = ("" if one is None else one.words() for one in (verdict.ours, verdict.stored))
    return (verdict.claim, verdict.where, verdict.published_words, stored, ours)


def claims_of(all_verdicts: Iterable[Verdict]) -> set[tuple[str, str]]:
    """Return the claims, each with where the paper makes it: some are judged with several networks."""
    return {(one.claim, one.where.rpartition(" (")[0] or one.where) for one in all_verdicts}


def count_in_words(all_verdicts: Sequence[Verdict]) -> str:
    """Say how many verdicts there are of each direction and size."""
    words = [f"{sum(one.direction == word for one in all_verdicts)} {word}" for word in DIRECTIONS]
    sizes = [f"{sum(one.size == word for one in all_verdicts)} {word}" for word in (AS_PUBLISHED, SMALLER, LARGER)]
    provisional = sum(one.provisional for one in all_verdicts)
    judged = sum(one.direction != NOT_RUN for one in all_verdicts)
    on_one = f" Of the {judged} verdicts {provisional} stand on one seed and are provisional." if provisional else ""
    n_claims = len(claims_of(all_verdicts))
    twice = "; those on HateSpeech are judged with two networks" if n_claims < len(all_verdicts) else ""
    counts = f"{len(all_verdicts)} verdicts on {n_claims} claims: {', '.join(words)}{twice}."
    return " ".join(filter(None, [counts, after_holm_in_words(all_verdicts), f"Sizes: {', '.join(sizes)}.{on_one}"]))
