"""The terms: the policy, previewed, versioned and restored; and the models, compared and switched."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from defero.service.api.errors import responses
from defero.service.api.requests import GuardedRoute, InOffice, caller_of, done, plain
from defero.service.api.schemas import MOST_NUMBER, ModelIn, PolicyIn, PolicyOut
from defero.service.events import ModelChanged, PolicyChanged
from defero.service.flow.terms import ChangePolicy, LoadModel, SwitchModel, checked_policy
from defero.service.flow.what_if import MOST_CASES, preview, preview_model
from defero.service.office import Office
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.store.contents import last_cases
from defero.service.store.saved_views import open_ledger
from defero.service.views.policy import Policy

policy_router = APIRouter(tags=["policy"], route_class=GuardedRoute)
Version = Annotated[int, Path(ge=0, le=MOST_NUMBER, examples=[3])]


@policy_router.get("/v1/policy", response_model=PolicyOut, responses=responses())
def get_policy(office: InOffice) -> dict[str, Any]:
    """Return the policy that holds now."""
    with office.database.read() as connection:
        policy = open_ledger(connection, now=office.clock()).policy
    return {"version": policy.version, **policy.to_dict()}


@policy_router.put("/v1/policy", response_model=PolicyOut, responses=responses())
async def put_policy(request: Request, body: PolicyIn, office: InOffice) -> Response:
    """Let another policy hold from here on; it gets the next version."""
    return plain(await done(office, ChangePolicy(body.model_dump(), caller_of(request).person)))


@policy_router.get("/v1/policies", responses=responses())
def get_policies(office: InOffice) -> dict[str, Any]:
    """Return every version of the policy, with who set it and when."""
    with office.database.read() as connection:
        entries = list(log.read_log(connection, kinds=("policy_changed",)))
    return {"policies": [{"seq": one.seq, "at": one.at, **vars(one.fact)} for one in entries]}


@policy_router.post("/v1/policies/preview", responses=responses())
def preview_policy(body: PolicyIn, office: InOffice) -> dict[str, Any]:
    """Replay the last 1,000 cases under another policy: who would be asked, load, expected cost, questions."""
    team = office.team
    with office.database.read() as connection:
        ledger, past = open_ledger(connection, now=office.clock()), last_cases(connection, most=MOST_CASES)
    policy = checked_policy(body.model_dump(), ledger.policy.version + 1, ledger.people, team)
    return preview(ledger, team, policy, past)


@policy_router.post("/v1/policies/{version}/restore", response_model=PolicyOut, responses=responses(404))
async def restore_policy(request: Request, version: Version, office: InOffice) -> Response:
    """Let an earlier version hold again, as a new version; 0 is the default policy."""
    with office.database.read() as connection:
        facts = [entry.fact for entry in log.read_log(connection, kinds=("policy_changed",))]
    known = {fact.version: fact.policy for fact in facts if isinstance(fact, PolicyChanged)}
    values = Policy().to_dict() if version == 0 else known.get(version)
    if values is None:
        raise Problem(404, "There is no such version of the policy.", version=version)
    return plain(await done(office, ChangePolicy(values, caller_of(request).person)))


models_router = APIRouter(tags=["models"], route_class=GuardedRoute)
ModelVersion = Annotated[str, Path(pattern=r"^[0-9a-z_-]{1,40}$", examples=["9f2b6c01d3aa"])]
_KINDS = ("model_loaded", "model_changed")


@models_router.get("/v1/models", responses=responses())
def get_models(office: InOffice) -> dict[str, Any]:
    """Return the model that decides, the one beside it, and everything that was loaded or switched."""
    with office.database.read() as connection:
        ledger, entries = open_ledger(connection, now=office.clock()), list(log.read_log(connection, kinds=_KINDS))
    history = [{"seq": one.seq, "at": one.at, "kind": one.fact.kind, **vars(one.fact)} for one in entries]
    shown = {"model": ledger.model, "candidate": ledger.candidate}
    return {**{name: None if one is None else vars(one) for name, one in shown.items()}, "history": history}


@models_router.post("/v1/models", responses=responses(404, 409))
async def load_model(request: Request, body: ModelIn, office: InOffice) -> Response:
    """Load a model beside the one that decides, from the folder of models that the service was started with."""
    team = await run_in_threadpool(office.shelf.load, body.folder)
    known = office.shelf.teams.get(team.version)
    # The next commit compares by it, and must not read it again.
    office.shelf.keep(team if known is None else known, folder=body.folder)
    try:
        return plain(await done(office, LoadModel(team, body.folder, caller_of(request).person)))
    except Problem:
        if known is None:
            office.shelf.teams.pop(team.version, None)
        raise


@models_router.get("/v1/models/comparison", responses=responses(404))
def compare(office: InOffice) -> dict[str, Any]:
    """Decide the last 1,000 cases by both models: who would be asked, load, expected cost, right answers."""
    with office.database.read() as connection:
        ledger, past = open_ledger(connection, now=office.clock()), last_cases(connection, most=MOST_CASES)
    if ledger.candidate is None or ledger.model is None:
        raise Problem(404, "There is no model beside the one that decides.")
    team, candidate = office.shelf.team(ledger.model), office.shelf.team(ledger.candidate)
    return {"model": team.version, "candidate": candidate.version, **preview_model(ledger, team, candidate, past)}


@models_router.post("/v1/models/{version}/switch", responses=responses(404))
async def switch_model(request: Request, version: ModelVersion, office: InOffice) -> Response:
    """Let another model decide from the next commit on: the one beside, or an earlier one to roll back."""
    known = await run_in_threadpool(_known_model, office, version)
    return plain(await done(office, SwitchModel(known, caller_of(request).person)))


def _known_model(office: Office, version: str) -> ModelChanged:
    """Return the last entry of a model; it is loaded here, so that the switch itself takes no time."""
    with office.database.read() as connection:
        facts = [entry.fact for entry in log.read_log(connection, kinds=_KINDS)]
    known = [fact for fact in facts if isinstance(fact, ModelChanged) and fact.version == version]
    if not known:
        raise Problem(404, "There is no such model; load it first.", model=version)
    office.shelf.team(known[-1])
    return known[-1]
