"""How the service is: health, metrics for Prometheus, and the counts that the console shows."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from sqlalchemy import func, select
from starlette.responses import PlainTextResponse

from defero.service.api.caller import office_of
from defero.service.api.errors import responses
from defero.service.office import Office
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.store.database import reachable
from defero.service.store.tables import CASES, TALLIES
from defero.service.views.tallies import TEAM

router = APIRouter(tags=["watching"])
InOffice = Annotated[Office, Depends(office_of)]
Day = Annotated[str, Query(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["2026-11-16"])]


@router.get("/health", responses={503: responses()[503]})
def health(office: InOffice) -> dict[str, str]:
    """Say whether the service works; needs no token, and tells nothing of cases."""
    if not reachable(office.database):
        raise Problem(503, "The database cannot be reached.")
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
def tallies(office: InOffice, first: Day = "0000-00-00", last: Day = "9999-99-99") -> dict[str, Any]:
    """Return the counts by day and person ("" is the team); see `defero.service.views.tallies`."""
    query = select(TALLIES).where(TALLIES.c.day.between(first, last)).order_by(*TALLIES.primary_key)
    with office.database.read() as connection:
        return {"tallies": [dict(row) for row in connection.execute(query).mappings()]}
