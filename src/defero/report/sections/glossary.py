"""How to read the report: its words, and what it cannot tell."""

from defero.report.html import Html, joined, listed, section, tag

WORDS = (
    ("Team", "The model together with the experts: for each case one of them decides."),
    ("Held-out case", "A case that training never saw. Only such cases show how good a team will be on new ones."),
    (
        "95 % interval",
        "Where the true value lies, in all likelihood, given how few cases there are. Of a hundred such intervals "
        "about ninety-five hold the truth. Few cases make it wide.",
    ),
    (
        "Beyond chance, p",
        "p is how often two equally good deciders would differ at least so much by luck (McNemar's exact test). At 5 % "
        "or less a difference is called better or worse, else it may be chance.",
    ),
    (
        "Point",
        "A percentage point: from 90 % to 93 % are three points. Every number is rounded by itself, so that a "
        "difference may look off by a tenth.",
    ),
    ("Promised and kept", "The chance of being right that the team went by, and how often it came true."),
    ("Deferred", "Given to an expert instead of being decided by the model."),
    (
        "Recalibration",
        "Correcting probabilities on cases kept apart, so that 80 % means right in 80 of 100 cases.",
    ),
    ("Panel", "Several experts asked about one case; their answers are put together by a vote."),
    ("Recall of a class", "Of the cases that truly belong to a class, the share that is called so."),
)

LIMITS = (
    "Only recorded answers can be asked for. How an expert would have done on cases they did not answer is not known, "
    "and whoever hands out the cases may have kept the hard ones for some of them.",
    "The numbers are for cases like these. Other patients, machines, customers or seasons need a new look.",
    "Experts may answer otherwise when they know what the model said, or when they get more work than here.",
    "With many experts and classes some numbers look good or bad by chance: about one interval in twenty misses.",
)


def glossary() -> Html:
    """Return the section."""
    words = joined(joined([tag("dt", word), tag("dd", meaning)]) for word, meaning in WORDS)
    return section(
        "reading",
        "How to read this",
        tag("dl", words, attributes={"class": "words"}),
        tag("h3", "What this report cannot tell"),
        listed(LIMITS),
    )
