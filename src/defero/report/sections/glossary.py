"""How to read the report: a glossary, and what the report cannot show."""

from defero.report.html import Html, bullet_list, joined, section, tag

WORDS = (
    ("Team", "The model together with the experts. One of them decides each case."),
    ("Held-out case", "A case that training did not use. Only such cases show how good a team will be on new cases."),
    (
        "95 % interval",
        "A range that contains the true value with high probability: about 95 of 100 such intervals do. It is wide "
        "if there are few cases.",
    ),
    (
        "Beyond chance, p",
        "p is how often two equally good deciders would differ at least this much by chance (McNemar's exact test). "
        "A difference is called better or worse if p is at most 5 %; otherwise it may be chance.",
    ),
    (
        "Point",
        "A percentage point: from 90 % to 93 % is three points. Each number is rounded separately, so a difference may "
        "be off by a tenth.",
    ),
    ("Promised and kept", "The stated probability of being right, and the share that was right."),
    ("Deferred", "Given to an expert instead of being decided by the model."),
    (
        "Recalibration",
        "Correcting probabilities on held-out cases, so that 80 % means right in 80 of 100 cases.",
    ),
    ("Panel", "Several experts who are asked about one case; a vote combines their answers."),
    ("Recall of a class", "Of the cases that truly belong to a class, the share that gets this label."),
)

LIMITS = (
    "Only recorded answers can be used. How good an expert is on cases that they did not answer is unknown, and some "
    "experts may have been given harder cases than others.",
    "The numbers hold for cases like these. For other patients, machines, customers or seasons, evaluate again.",
    "Experts may answer differently when they see the model's answer, or when they get more work than here.",
    "With many experts and classes some numbers look good or bad by chance: about one interval in twenty misses the "
    "true value.",
)


def glossary() -> Html:
    """Return the section."""
    words = joined(joined([tag("dt", word), tag("dd", meaning)]) for word, meaning in WORDS)
    return section(
        "glossary",
        "How to read this report",
        tag("dl", words, attributes={"class": "words"}),
        tag("h3", "What this report cannot show"),
        bullet_list(LIMITS),
    )
