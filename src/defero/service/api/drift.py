"""Promised against kept: who drifted, and what was done about it."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response

from defero.service.api.caller import caller_of, office_of
from defero.service.api.errors import responses
from defero.service.api.schemas import DriftActIn
from defero.service.api.sending import done, plain
from defero.service.flow.act_on_drift import ActOnDrift
from defero.service.office import Office
from defero.service.store import log
from defero.service.store.contents import read_names
from defero.service.store.saved_views import open_ledger
from defero.service.views.drift import drift_rows

router = APIRouter(tags=["drift"])
InOffice = Annotated[Office, Depends(office_of)]
Who = Annotated[str, Path(pattern=r"^(model|p[1-9][0-9]{0,17})$", examples=["p3"], description='A person, or "model".')]
_MOST_HISTORY = 200


@router.get("/v1/drift", responses=responses())
def get_drift(office: InOffice) -> dict[str, Any]:
    """Return how everybody keeps their promises, and the last alarms with what was done about them."""
    with office.database.read() as connection:
        ledger, names = open_ledger(connection, now=office.clock()), read_names(connection)
        entries = log.last_of_kinds(connection, kinds=("drift_raised", "drift_acted"), limit=_MOST_HISTORY)
    history = [{"seq": one.seq, "at": one.at, "kind": one.fact.kind, **vars(one.fact)} for one in entries]
    return {"drift": drift_rows(ledger.drift, names), "history": history, "on_drift": ledger.policy.on_drift}


@router.post("/v1/drift/{who}", responses=responses(404, 409))
async def act_on_drift(request: Request, who: Who, body: DriftActIn, office: InOffice) -> Response:
    """Correct the promise of whoever has an alarm, dismiss the alarm, or withdraw an earlier correction."""
    return plain(await done(office, ActOnDrift(who, body.action, caller_of(request).person)))
