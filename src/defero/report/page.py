"""The report: one HTML page without scripts that needs no network."""

from importlib import resources

from defero.core.trials.trial import Trial
from defero.judge.record.team import TeamRecord
from defero.report.html import Html, bullet_list, joined, section, tag
from defero.report.provenance import Evidence, Provenance, footer
from defero.report.sections.calibration import calibration
from defero.report.sections.costs import costs
from defero.report.sections.gain import deferral, gain, recall
from defero.report.sections.headline import answering, cautions, headline, recorded_only, sentence
from defero.report.sections.load import groups, load
from defero.report.sections.skill import shared_errors, skill
from defero.report.sections.ways import panels, ways

CONTENTS = (
    ("ways", "Ways of asking"),
    ("costs", "What it costs"),
    ("gain", "Gain"),
    ("classes", "Classes"),
    ("load", "Who is asked"),
    ("calibration", "Calibration"),
    ("panels", "Panels"),
    ("deferral", "Share of deferred cases"),
    ("skill", "Skill by class"),
    ("shared-errors", "Shared mistakes"),
    ("glossary", "How to read this report"),
)
"""Ids of the sections and the names of their links."""
MODEL_ONLY = {
    "gain": "The model",
    "classes": "Classes",
    "load": "Promised and kept",
    "calibration": "Calibration",
    "glossary": "How to read this report",
}
"""The same for a team without experts."""


def report_page(trial: Trial, record: TeamRecord, provenance: Provenance, *, evidence: Evidence | None = None) -> str:
    """Return the page as text.

    Parameters
    ----------
    trial : Trial
        The team on held-out cases, which the pictures show.
    record : TeamRecord
        Its results. The page has the numbers of `evaluate`.
    provenance : Provenance
        Model, table, seed and versions behind the report.
    evidence : Evidence, optional
        How well the experts are known.
    """
    body = tag(
        "body",
        headline(record, provenance),
        tag("main", *_sections(trial, record, provenance, evidence=evidence)),
        footer(record, provenance),
    )
    page = tag("html", _head(record), body, attributes={"lang": "en"})
    return f"<!doctype html>\n{page}\n"


def _head(record: TeamRecord) -> Html:
    style = resources.files("defero.report").joinpath("style.css").read_text(encoding="utf-8")
    return tag(
        "head",
        tag("meta", attributes={"charset": "utf-8"}),
        tag("meta", attributes={"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", attributes={"name": "description", "content": sentence(record)}),
        tag("title", "defero report: who should decide?"),
        tag("style", Html(style)),
    )


def _sections(trial: Trial, record: TeamRecord, provenance: Provenance, *, evidence: Evidence | None) -> list[Html]:
    experts, grouped = bool(record.experts), evidence is not None and bool(evidence.groups)
    return [
        cautions(record),
        recorded_only(record),
        answering(provenance.answering),
        _contents(experts=experts, grouped=grouped),
        *([ways(record), costs(trial, record)] if experts else []),
        *([groups(record, evidence.groups)] if evidence is not None and evidence.groups else []),
        gain(trial, record),
        recall(record),
        load(trial, record, min_answers=None if evidence is None else evidence.min_answers),
        calibration(trial, record, recalibration=provenance.calibration, evidence=evidence),
        *(
            [
                panels(trial, record, void="" if evidence is None else evidence.panels_void),
                deferral(trial, record),
                skill(record),
                shared_errors(record),
            ]
            if experts
            else []
        ),
        glossary(),
    ]


def _contents(*, experts: bool, grouped: bool) -> Html:
    names = dict(CONTENTS) if experts else dict(MODEL_ONLY)
    order = list(names)
    if grouped:
        names["groups"] = "Groups of cases"
        order.insert(order.index("gain"), "groups")
    links = joined(tag("li", tag("a", names[key], attributes={"href": f"#{key}"})) for key in order)
    return tag("nav", tag("ul", links), attributes={"aria-label": "Contents"})


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
