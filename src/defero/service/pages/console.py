"""The console of the lead: its panels, each a title, a template, and a function from a `Sight` to its values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from defero.service.api.caller import InOffice
from defero.service.pages.drift import drift_panel
from defero.service.pages.render import render
from defero.service.pages.sight import Sight, Waiting
from defero.service.views.figures import Flow, Period, flow, flow_by_day, mean_wait, person_figures, ratio, sums_of
from defero.service.views.kept import ALONE, ONE, SEVERAL, heard_figures
from defero.service.views.tallies import LENGTHS, waited


@dataclass(frozen=True)
class Panel:
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
            "did": person_figures(sight.of(one.person), sight.period, one.person),
        }
        for one in sight.experts()
    ]
    return {"rows": rows}


def promises_panel(sight: Sight) -> dict[str, Any]:
    """Return promised against kept, of the team and of each expert."""
    rows = [("the team", flow(sight.of(), sight.period).record())]
    people = [
        (one.person, person_figures(sight.of(one.person), sight.period, one.person).record) for one in sight.experts()
    ]
    return {"rows": [*rows, *((sight.name(person), record) for person, record in people)]}


def heard_panel(sight: Sight) -> dict[str, Any]:
    """Return promised against kept by how many were heard; and whether panels had somebody who was right."""
    figures = heard_figures(sums_of(sight.of(), sight.period))
    names = {ALONE: "nobody", ONE: "one expert", SEVERAL: "two or more"}
    rows = [(names[group], record) for group, record in figures.groups.items()]
    return {"rows": [*rows, ("coverage of two or more", figures.covered)]}


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
        "by_person": [
            (sight.name(one.person), person_figures(sight.of(one.person), sight.period, one.person).fees)
            for one in sight.experts()
        ],
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


PANELS: list[Panel] = [
    Panel("now", "Now", now_panel),
    Panel("flow", "Flow by day", flow_panel),
    Panel("load", "Load and capacity", load_panel),
    Panel("promises", "Promised and kept", promises_panel),
    Panel("drift", "Drift", drift_panel),
    Panel("heard", "Panels and single answers", heard_panel),
    Panel("waiting", "Waiting times", waiting_panel),
    Panel("money", "Money", money_panel),
    Panel("change", "What changed", change_panel),
]
"""In the order of the page. A panel of yours is one more line here, and its template."""


router = APIRouter()
PERIODS = (7, 14, 30, 90)
"""Lengths of the period that the page offers, in days."""


@router.get("/console")
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
