"""The policy: what questions and errors cost, and how long a question waits."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from defero.service.api.caller import caller_of, office_of
from defero.service.api.errors import responses
from defero.service.api.schemas import PolicyIn, PolicyOut
from defero.service.api.sending import done, plain
from defero.service.flow.change_terms import ChangePolicy
from defero.service.office import Office
from defero.service.store.saved_views import open_ledger

router = APIRouter(tags=["policy"])
InOffice = Annotated[Office, Depends(office_of)]


@router.get("/v1/policy", response_model=PolicyOut, responses=responses())
def get_policy(office: InOffice) -> dict[str, Any]:
    """Return the policy that holds now."""
    with office.database.read() as connection:
        policy = open_ledger(connection, now=office.clock()).policy
    return {"version": policy.version, **policy.to_dict()}


@router.put("/v1/policy", response_model=PolicyOut, responses=responses())
async def put_policy(request: Request, body: PolicyIn, office: InOffice) -> Response:
    """Let another policy hold from here on; it gets the next version."""
    return plain(await done(office, ChangePolicy(body.model_dump(), caller_of(request).person)))
