"""The verdicts in short: which claims hold wherever we looked, and which are contradicted or open somewhere."""

from collections.abc import Iterator, Sequence

from defero_verma2023.claims.verdict import CANNOT_DECIDE, CONFIRMED, CONTRADICTED, INCONCLUSIVE, NOT_RUN, Verdict

_TITLES = {
    CONTRADICTED: "Contradicted somewhere",
    INCONCLUSIVE: "Inconclusive somewhere, in brackets with the seeds that would settle it",
    CANNOT_DECIDE: "Cannot be decided somewhere, by the figure or by our runs",
    CONFIRMED: "Confirmed wherever we looked",
}
"""Direction -> heading, the one that weighs most first."""


def in_short(all_verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield up to four lines; a claim that is made in several places stands where its weightiest verdict is.

    >>> one, other = (
    ...     Verdict("Sets grow", where, "", None, None, None, word, "")
    ...     for where, word in (("Fig. 3a, top", "confirmed"), ("Fig. 3b, top", "contradicted"))
    ... )
    >>> list(in_short([one])), list(in_short([one, other]))
    (['Confirmed wherever we looked: sets grow (Fig. 3a).'], ['Contradicted somewhere: sets grow (Fig. 3b).'])
    """
    claims: dict[str, list[Verdict]] = {}
    for one in all_verdicts:
        if one.direction != NOT_RUN:
            claims.setdefault(one.claim, []).append(one)
    lines: dict[str, list[str]] = {direction: [] for direction in _TITLES}
    for claim, several in claims.items():
        weightiest = next(word for word in _TITLES if any(one.direction == word for one in several))
        lines[weightiest].append(_named(claim, [one for one in several if one.direction == weightiest]))
    for direction in (CONFIRMED, CONTRADICTED, INCONCLUSIVE, CANNOT_DECIDE):
        if lines[direction]:
            yield f"{_TITLES[direction]}: {'; '.join(lines[direction])}."


def _named(claim: str, several: Sequence[Verdict]) -> str:
    """Return a claim as part of a sentence, and where its verdicts are from."""
    begin = claim if claim.startswith("OvA") else claim[0].lower() + claim[1:]
    places = dict.fromkeys(f"{place_of(one.where)}{_mark(one)}" for one in several)
    return f"{begin} ({'; '.join(places)})"


def _mark(one: Verdict) -> str:
    """Return the seeds that would settle a verdict, or that a contradiction does not outlast the correction."""
    if one.seeds_needed is not None:
        return f": {one.seeds_needed}"
    return ": not after Holm's correction" if one.direction == CONTRADICTED and one.only_by_itself else ""


def place_of(where: str) -> str:
    """Return the figure, and the data set where a figure has several.

    >>> place_of("Fig. 1, HAM10000, top; section 7.1 (efficientnet-lite0)"), place_of("Fig. 3a, section 7.3 (wrn-28-4)")
    ('HAM10000', 'Fig. 3a')
    >>> place_of("Fig. 1, HateSpeech, top; section 7.1 (tfidf)")
    'HateSpeech, tfidf'
    """
    parts = where.split(", ")
    net = where.rpartition("(")[2].removesuffix(")")
    if len(parts) > 1 and parts[0] == "Fig. 1":
        return f"{parts[1]}, {net}" if parts[1] == "HateSpeech" else parts[1]
    return parts[0] if parts[0].startswith("Fig.") else "appendix"
