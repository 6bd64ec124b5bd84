"""How the service is: health, metrics for Prometheus, counts for the console, and who keeps their promises."""

from datetime import date, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy import func, select
from starlette.responses import PlainTextResponse

from defero.service.api.errors import responses
from defero.service.api.requests import GuardedRoute, InOffice, caller_of, done, plain
from defero.service.api.schemas import DriftActIn
from defero.service.flow.cases import ActOnDrift
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.store.contents import read_names
from defero.service.store.database import reachable
from defero.service.store.log import CASES, TALLIES
from defero.service.store.saved_views import open_ledger
from defero.service.views.drift import drift_rows
from defero.service.views.tallies import TEAM, day_of

router = APIRouter(tags=["watching"], route_class=GuardedRoute)
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


@router.get("/metrics", response_class=PlainTextResponse, responses=responses())
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


@router.get("/v1/tallies", responses=responses())
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


drift_router = APIRouter(tags=["drift"], route_class=GuardedRoute)
Who = Annotated[str, Path(pattern=r"^(model|p[1-9][0-9]{0,17})$", examples=["p3"], description='A person, or "model".')]
_MOST_HISTORY = 200


@drift_router.get("/v1/drift", responses=responses())
def get_drift(office: InOffice) -> dict[str, Any]:
    """Return how everybody keeps their promises, and the last alarms with what was done about them."""
    with office.database.read() as connection:
        ledger, names = open_ledger(connection, now=office.clock()), read_names(connection)
        entries = log.last_of_kinds(connection, kinds=("drift_raised", "drift_acted"), limit=_MOST_HISTORY)
    history = [{"seq": one.seq, "at": one.at, "kind": one.fact.kind, **vars(one.fact)} for one in entries]
    return {"drift": drift_rows(ledger.drift, names), "history": history, "on_drift": ledger.policy.on_drift}


@drift_router.post("/v1/drift/{who}", responses=responses(404, 409))
async def act_on_drift(request: Request, who: Who, body: DriftActIn, office: InOffice) -> Response:
    """Correct the promise of whoever has an alarm, dismiss the alarm, or withdraw an earlier correction."""
    return plain(await done(office, ActOnDrift(who, body.action, caller_of(request).person)))
