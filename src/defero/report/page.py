"""The report: one HTML page without scripts that needs no network."""

from importlib import resources

from defero.core.trials.trial import Trial
from defero.metrics.record.team import TeamRecord
from defero.report.html import Html, joined, tag
from defero.report.provenance import Evidence, Provenance, footer
from defero.report.sections.calibration import calibration
from defero.report.sections.costs import costs
from defero.report.sections.gain import deferral, gain, recall
from defero.report.sections.glossary import glossary
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
        *([ways(record), costs(trial, record, () if evidence is None else evidence.scenarios)] if experts else []),
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
