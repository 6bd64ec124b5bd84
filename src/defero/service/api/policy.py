"""The policy: on what terms cases are decided; previewed, versioned, and restored."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from defero.service.api.caller import InOffice, caller_of
from defero.service.api.errors import responses
from defero.service.api.schemas import MOST_NUMBER, PolicyIn, PolicyOut
from defero.service.api.sending import done, plain
from defero.service.events import PolicyChanged
from defero.service.flow.terms import ChangePolicy, checked_policy
from defero.service.flow.what_if import MOST_CASES, preview
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.store.export import last_cases
from defero.service.store.saved_views import open_ledger
from defero.service.views.policy import Policy

router = APIRouter(tags=["policy"])
Version = Annotated[int, Path(ge=0, le=MOST_NUMBER, examples=[3])]


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


@router.get("/v1/policies", responses=responses())
def get_policies(office: InOffice) -> dict[str, Any]:
    """Return every version of the policy, with who set it and when."""
    with office.database.read() as connection:
        entries = list(log.read_log(connection, kinds=("policy_changed",)))
    return {"policies": [{"seq": one.seq, "at": one.at, **vars(one.fact)} for one in entries]}


@router.post("/v1/policies/preview", responses=responses())
def preview_policy(body: PolicyIn, office: InOffice) -> dict[str, Any]:
    """Replay the last 1,000 cases under another policy: who would be asked, load, expected cost, questions."""
    team = office.team
    with office.database.read() as connection:
        ledger, past = open_ledger(connection, now=office.clock()), last_cases(connection, most=MOST_CASES)
    policy = checked_policy(body.model_dump(), ledger.policy.version + 1, ledger.people, team)
    return preview(ledger, team, policy, past)


@router.post("/v1/policies/{version}/restore", response_model=PolicyOut, responses=responses(404))
async def restore_policy(request: Request, version: Version, office: InOffice) -> Response:
    """Let an earlier version hold again, as a new version; 0 is the default policy."""
    with office.database.read() as connection:
        facts = [entry.fact for entry in log.read_log(connection, kinds=("policy_changed",))]
    known = {fact.version: fact.policy for fact in facts if isinstance(fact, PolicyChanged)}
    values = Policy().to_dict() if version == 0 else known.get(version)
    if values is None:
        raise Problem(404, "There is no such version of the policy.", version=version)
    return plain(await done(office, ChangePolicy(values, caller_of(request).person)))
