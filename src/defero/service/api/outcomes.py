"""Outcomes: the truth of cases, as it becomes known."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from defero.service.api.caller import caller_of, office_of
from defero.service.api.errors import responses
from defero.service.api.schemas import OutcomesIn, OutcomesOut
from defero.service.api.sending import done, plain
from defero.service.flow.outcome import GiveOutcomes
from defero.service.office import Office

router = APIRouter(tags=["outcomes"])


@router.post("/v1/outcomes", response_model=OutcomesOut, responses=responses(404))
async def give_outcomes(request: Request, body: OutcomesIn, office: Annotated[Office, Depends(office_of)]) -> Response:
    """Tell the truth of some cases: late, for a part of them, or to correct what was said; all of them or none."""
    pairs = [(one.case, one.label) for one in body.outcomes]
    return plain(await done(office, GiveOutcomes(pairs, caller_of(request).person)))
