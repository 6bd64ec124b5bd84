"""The verdicts in short: which claims hold wherever we looked, which hold in part, and which do not."""

from collections.abc import Iterator, Sequence

from defero_verma2023.claims.verdict import CONFIRMED, NOT_CONFIRMED, NOT_RUN, Verdict


def in_short(all_verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield up to three lines; a claim that is made in several places stands where its worst verdict is.

    >>> one, other = (
    ...     Verdict("Sets grow", where, "", None, None, None, word, "")
    ...     for where, word in (("Fig. 3a, top", "confirmed"), ("Fig. 3b, top", "not confirmed"))
    ... )
    >>> list(in_short([one])), list(in_short([one, other]))
    (['Confirmed wherever we looked: sets grow (Fig. 3a).'], ['Not confirmed somewhere: sets grow (Fig. 3b).'])
    """
    claims: dict[str, list[Verdict]] = {}
    for one in all_verdicts:
        if one.verdict != NOT_RUN:
            claims.setdefault(one.claim, []).append(one)
    held, failed, between = [], [], []
    for claim, several in claims.items():
        words = {one.verdict for one in several}
        if words == {CONFIRMED}:
            held.append(_named(claim, several))
        elif NOT_CONFIRMED in words:
            failed.append(_named(claim, [one for one in several if one.verdict == NOT_CONFIRMED]))
        else:
            between.append(_named(claim, [one for one in several if one.verdict != CONFIRMED]))
    for title, names in (
        ("Confirmed wherever we looked", held),
        ("It depends, on the data, the experts or what is counted", between),
        ("Not confirmed somewhere", failed),
    ):
        if names:
            yield f"{title}: {'; '.join(names)}."


def _named(claim: str, several: Sequence[Verdict]) -> str:
    """Return a claim as part of a sentence, and where its verdicts are from."""
    begin = claim if claim.startswith("OvA") else claim[0].lower() + claim[1:]
    places = dict.fromkeys(_place(one.where) for one in several)
    return f"{begin} ({'; '.join(places)})"


def _place(where: str) -> str:
    """Return the figure, and the data set where a figure has several.

    >>> _place("Fig. 1, HAM10000, top; section 7.1 (efficientnet-lite0)"), _place("Fig. 3a, section 7.3 (wrn-28-4)")
    ('HAM10000', 'Fig. 3a')
    >>> _place("Fig. 1, HateSpeech, top; section 7.1 (tfidf)")
    'HateSpeech, tfidf'
    """
    parts = where.split(", ")
    net = where.rpartition("(")[2].removesuffix(")")
    if len(parts) > 1 and parts[0] == "Fig. 1":
        return f"{parts[1]}, {net}" if parts[1] == "HateSpeech" else parts[1]
    return parts[0] if parts[0].startswith("Fig.") else "appendix"
