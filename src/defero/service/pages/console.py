"""The console of the lead: the panels, for the last days."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from defero.service.api.caller import office_of
from defero.service.office import Office
from defero.service.pages.panels import PANELS
from defero.service.pages.render import render
from defero.service.pages.sight import Sight

router = APIRouter()
InOffice = Annotated[Office, Depends(office_of)]
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
