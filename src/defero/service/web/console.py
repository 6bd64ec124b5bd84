"""How the service is: health, metrics, counts, who keeps their promises; and the console of the lead.

Each panel of the console is a title, a template, and a function from a `Sight` to its values.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from sqlalchemy import func, select
from starlette.responses import PlainTextResponse

from defero.judge.drift import START, THRESHOLD
from defero.service import Problem
from defero.service.access import LEAD, WITH_PROGRAMS
from defero.service.events import DriftActed, DriftRaised, Entry
from defero.service.flow.cases import ActOnDrift
from defero.service.store import log
from defero.service.store.contents import read_names
from defero.service.store.database import reachable
from defero.service.store.log import CASES, TALLIES
from defero.service.store.saved_views import open_ledger
from defero.service.views.promises import ALONE, COVERED, MODEL, ONE, SEVERAL, drift_rows, heard_figures
from defero.service.views.tallies import (
    LENGTHS,
    TEAM,
    Flow,
    Period,
    day_of,
    flow,
    flow_by_day,
    mean_wait,
    ratio,
    sums_of,
    waited,
)
from defero.service.web.requests import InOffice, Routes, caller_of, done, plain
from defero.service.web.schemas import DriftActIn, responses
from defero.service.web.sight import Sight, Waiting, percent, render

router = Routes("watching")
Day = Annotated[str | None, Query(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["2026-11-16"])]
MOST_DAYS = 366
"""Of the counts of one reply."""


@router.get("/health", responses={503: responses()[503]})
def health(office: InOffice) -> dict[str, str]:
    """Say whether the service works; needs no token, and tells nothing of cases."""
    if not reachable(office.database):
        raise Problem(503, "The database cannot be reached.")
    if not office.writer.working:
        raise Problem(503, "Nothing can be written; start the service again.")
    return {"status": "ok"}


@router.at("GET /metrics", WITH_PROGRAMS, response_class=PlainTextResponse)
def metrics(office: InOffice) -> PlainTextResponse:
    """Return counts in the text format of Prometheus."""
    with office.database.read() as connection:
        counts = select(TALLIES.c.name, func.sum(TALLIES.c.amount)).where(TALLIES.c.person == TEAM)
        by_name = dict(connection.execute(counts.group_by(TALLIES.c.name)).all())
        n_open = connection.execute(select(func.count()).where(CASES.c.asked.is_not(None))).scalar()
        last = log.last_seq(connection)
    lines = []
    for name in ("received", "asked", "settled", "settled_alone", "outcomes", "right"):
        lines += [f"# TYPE defero_{name}_total counter", f"defero_{name}_total {int(by_name.get(name) or 0)}"]
    gauges = {"open_questions": n_open, "log_entries": last, "waiting_commands": office.writer.waiting}
    for name, value in gauges.items():
        lines += [f"# TYPE defero_{name} gauge", f"defero_{name} {value}"]
    lines += ["# TYPE defero_commits_total counter", f"defero_commits_total {office.writer.commits}"]
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


@router.at("GET /v1/tallies", LEAD)
def tallies(office: InOffice, first: Day = None, last: Day = None) -> dict[str, Any]:
    """Return the counts by day and person ("" is the team) of at most 366 days, by default the last ones."""
    days = _days(first, last, today=day_of(office.clock()))
    query = select(TALLIES).where(TALLIES.c.day.between(*days)).order_by(*TALLIES.primary_key)
    with office.database.read() as connection:
        return {"tallies": [dict(row) for row in connection.execute(query).mappings()]}


def _days(first: str | None, last: str | None, *, today: str) -> tuple[str, str]:
    """Return the first and the last day that a client asks for.

    >>> _days(None, "2026-12-31", today="2027-01-05"), _days("2027-01-05", None, today="2027-01-05")
    (('2025-12-31', '2026-12-31'), ('2027-01-05', '2027-01-05'))
    """
    try:
        end = date.fromisoformat(last or today)
        start = end - timedelta(MOST_DAYS - 1) if first is None else date.fromisoformat(first)
    except (ValueError, OverflowError) as error:
        raise Problem(422, "first and last must be days such as 2026-11-16.") from error
    if (end - start).days >= MOST_DAYS:
        raise Problem(422, f"At most {MOST_DAYS} days at once; name first and last.")
    return start.isoformat(), end.isoformat()


drift_router = Routes("drift")
Who = Annotated[str, Path(pattern=r"^(model|p[1-9][0-9]{0,17})$", examples=["p3"], description='A person, or "model".')]
_MOST_HISTORY = 200


@drift_router.at("GET /v1/drift", LEAD)
def get_drift(office: InOffice) -> dict[str, Any]:
    """Return how everybody keeps their promises, and the last alarms with what was done about them."""
    with office.database.read() as connection:
        ledger, names = open_ledger(connection, now=office.clock()), read_names(connection)
        entries = log.last_of_kinds(connection, kinds=("drift_raised", "drift_acted"), limit=_MOST_HISTORY)
    history = [one.to_dict() for one in entries]
    return {"drift": drift_rows(ledger.drift, names), "history": history, "on_drift": ledger.policy.on_drift}


@drift_router.at("POST /v1/drift/{who}", LEAD, 404, 409)
async def act_on_drift(request: Request, who: Who, body: DriftActIn, office: InOffice) -> Response:
    """Correct the promise of whoever has an alarm, dismiss the alarm, or withdraw an earlier correction."""
    return plain(await done(office, ActOnDrift(who, body.action, caller_of(request).person)))


pages = Routes()


@dataclass(frozen=True)
class ConsolePanel:
    """A part of the console.

    Attributes
    ----------
    name : str
        Of its template, `templates/panels/<name>.html`, and of its place in the page.
    title : str
    figures : callable
        From a `Sight` to the values of the template.
    """

    name: str
    title: str
    figures: Callable[[Sight], dict[str, Any]]


def now_panel(sight: Sight) -> dict[str, Any]:
    """Return what waits, and what happened today."""
    today = Period(sight.period.last, sight.period.last)
    oldest = [one.oldest for one in sight.waiting.values() if one.oldest is not None]
    return {
        "today": flow(sight.of(), today),
        "n_waiting": sum(one.n for one in sight.waiting.values()),
        "oldest": min(oldest, default=None),
    }


def flow_panel(sight: Sight) -> dict[str, Any]:
    """Return the flow of each day."""
    return {"days": flow_by_day(sight.of(), sight.period)}


def load_panel(sight: Sight) -> dict[str, Any]:
    """Return the load of each expert against their capacity."""
    rows = [
        {
            "person": one,
            "name": sight.name(one.person),
            "asked_today": sight.ledger.asked_today[one.person],
            "waiting": sight.waiting.get(one.person, Waiting(0, None)),
            "did": sight.did(one.person),
        }
        for one in sight.experts()
    ]
    return {"rows": rows}


def promises_panel(sight: Sight) -> dict[str, Any]:
    """Return promised against kept, of the team and of each expert."""
    people = [(sight.name(one.person), sight.did(one.person).record) for one in sight.experts()]
    return {"rows": [("the team", flow(sight.of(), sight.period).record()), *people]}


def heard_panel(sight: Sight) -> dict[str, Any]:
    """Return promised against kept by how many were heard; and whether panels had somebody who was right."""
    figures = heard_figures(sums_of(sight.of(), sight.period))
    names = {ALONE: "nobody", ONE: "one expert", SEVERAL: "two or more", COVERED: "coverage of two or more"}
    return {"rows": [(names[group], record) for group, record in figures.items()]}


def waiting_panel(sight: Sight) -> dict[str, Any]:
    """Return how long people took to answer, and cases to be settled."""
    people = [(one.person, sums_of(sight.of(one.person), sight.period, one.person)) for one in sight.experts()]
    rows = [
        ("case to its answer, with experts", waited([sums_of(sight.of(), sight.period)], "turnaround")),
        ("question to answer, everybody", waited([sums for _, sums in people], "waited")),
        *((sight.name(person), waited([sums], "waited")) for person, sums in people if sums.get("answered")),
    ]
    return {"rows": rows, "lengths": LENGTHS}


def money_panel(sight: Sight) -> dict[str, Any]:
    """Return fees and the cost of known errors; with a cost matrix errors cost differently, and are only counted."""
    did, policy = flow(sight.of(), sight.period), sight.ledger.policy
    errors = None if policy.cost_matrix is not None else did.errors * policy.error_cost
    return {
        "did": did,
        "policy": policy,
        "errors_cost": errors,
        "fee_per_case": ratio(did.fees, did.settled),
        "by_person": [(sight.name(one.person), sight.did(one.person).fees) for one in sight.experts()],
    }


def change_panel(sight: Sight) -> dict[str, Any]:
    """Return this period beside the one before."""
    everybody = list(sight.ledger.people)
    two = [(flow(sight.of(), days), mean_wait(sight.counts, days, everybody)) for days in (sight.period, sight.before)]
    return {"rows": compared(*two)}


def compared(now: tuple[Flow, float | None], before: tuple[Flow, float | None]) -> list[tuple[str, str, Any, Any]]:
    """Return lines of a table: what, how it reads, in this period, in the one before."""
    (new, new_wait), (old, old_wait) = now, before
    return [
        ("Cases received", "count", new.received, old.received),
        ("Unusual cases", "count", new.unusual, old.unusual),
        ("Cases settled", "count", new.settled, old.settled),
        ("Answered by the model alone", "percent", new.alone_rate, old.alone_rate),
        ("Questions for each settled case", "decimal", new.questions_per_case, old.questions_per_case),
        ("Mean time to an answer", "duration", new_wait, old_wait),
        ("Outcomes", "count", new.outcomes, old.outcomes),
        ("Right answers", "percent", new.record().kept, old.record().kept),
        ("Promised", "percent", new.record().promised, old.record().promised),
        ("Fees", "money", new.fees, old.fees),
    ]


MOST_HISTORY = 20
EXAMPLE = 0.8
"""A promise, to show what a correction does."""
DONE = {
    "correct": "corrected the promise of {name}",
    "dismiss": "dismissed the alarm about {name}",
    "withdraw": "withdrew the correction of {name}",
}


pages.form("POST /console/drift/{who}", LEAD, act_on_drift, "/console#drift")


def drift_panel(sight: Sight) -> dict[str, Any]:
    """Return everybody who was judged, those with an alarm first, and the last alarms with what was done."""
    names = {**sight.names, MODEL: "the model"}
    rows = [
        {
            **row,
            "nearness": nearness(row["evidence"]),
            "example": EXAMPLE,
            "corrected": corrected(EXAMPLE, row["correction"]),
        }
        for row in sight.drift_rows()
    ]
    rows.sort(key=lambda row: (not row["alarmed"], not row["correction"], -row["evidence"]))
    kinds = ("drift_raised", "drift_acted")
    entries = log.last_of_kinds(sight.connection, kinds=kinds, limit=MOST_HISTORY)
    history = [{"at": one.at, "what": sentence(one, names)} for one in reversed(entries)]
    return {"rows": rows, "history": history, "on_drift": sight.ledger.policy.on_drift}


def nearness(evidence: float) -> float:
    """Return how near the evidence is to an alarm, from 0 (no news) to 1, on a log scale.

    >>> nearness(100.0), nearness(5_300.0), nearness(1e9)
    (0.0, 1.0, 1.0)
    """
    return min(1.0, max(0.0, math.log(max(evidence, START) / START) / math.log(THRESHOLD / START)))


def corrected(promise: float, correction: float) -> float:
    """Return what becomes of a promise whose log-odds are shifted.

    >>> corrected(0.8, 0.0), round(corrected(0.8, -1.0), 2)
    (0.8, 0.6)
    """
    odds = promise / (1 - promise) * math.exp(correction)
    return odds / (1 + odds) if correction else promise


def sentence(entry: Entry, names: dict[str, str]) -> str:
    """Return an alarm, or what was done about it, in one sentence.

    >>> raised = DriftRaised(person="p1", n=40, promised=0.9, kept=0.6, shift=-1.2)
    >>> sentence(Entry(3, 0.0, None, raised), {"p1": "ann"})
    'Alarm: ann was right in 60 % of the last 40 outcomes, 90 % was promised.'
    """
    fact = entry.fact
    if isinstance(fact, DriftRaised):
        name, kept_share, promised = names.get(fact.person, fact.person), percent(fact.kept), percent(fact.promised)
        return f"Alarm: {name} was right in {kept_share} of the last {fact.n} outcomes, {promised} was promised."
    assert isinstance(fact, DriftActed)
    by = "The policy" if fact.by == "system" else names.get(fact.by, fact.by)
    return f"{by} {DONE[fact.action].format(name=names.get(fact.person, fact.person))}."


PANELS: list[ConsolePanel] = [
    ConsolePanel("now", "Now", now_panel),
    ConsolePanel("flow", "Flow by day", flow_panel),
    ConsolePanel("load", "Load and capacity", load_panel),
    ConsolePanel("promises", "Promised and kept", promises_panel),
    ConsolePanel("drift", "Drift", drift_panel),
    ConsolePanel("heard", "Panels and single answers", heard_panel),
    ConsolePanel("waiting", "Waiting times", waiting_panel),
    ConsolePanel("money", "Money", money_panel),
    ConsolePanel("change", "What changed", change_panel),
]
"""In the order of the page. A panel of yours is one more line here, and its template."""


PERIODS = (7, 14, 30, 90)
"""Lengths of the period that the page offers, in days."""


@pages.at("GET /console", LEAD)
def console(request: Request, office: InOffice, days: Annotated[int, Query(ge=1, le=366)] = 14) -> Response:
    """Show every panel."""
    with office.database.read() as connection:
        sight = Sight.read(connection, now=office.clock(), n_days=days)
        panels = [(one, one.figures(sight)) for one in PANELS]
        model = sight.ledger.model
    return render(
        request,
        "console.html",
        panels=panels,
        sight=sight,
        days=days,
        periods=PERIODS,
        alarmed=[row["name"] for row in sight.drift_rows() if row["alarmed"]],
        model="" if model is None else model.version,
    )
