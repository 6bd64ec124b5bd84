"""Models: the one that decides, one beside it that is compared, and the switch between them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from defero.service.api.caller import caller_of, office_of
from defero.service.api.errors import responses
from defero.service.api.schemas import ModelIn
from defero.service.api.sending import done, plain
from defero.service.events import ModelChanged
from defero.service.flow.models import LoadModel, SwitchModel
from defero.service.flow.preview import MOST_CASES, preview_model
from defero.service.office import Office
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.store.past import last_cases
from defero.service.store.saved_views import open_ledger

router = APIRouter(tags=["models"])
InOffice = Annotated[Office, Depends(office_of)]
Version = Annotated[str, Path(pattern=r"^[0-9a-z_-]{1,40}$", examples=["9f2b6c01d3aa"])]
_KINDS = ("model_loaded", "model_changed")


@router.get("/v1/models", responses=responses())
def get_models(office: InOffice) -> dict[str, Any]:
    """Return the model that decides, the one beside it, and everything that was loaded or switched."""
    with office.database.read() as connection:
        ledger, entries = open_ledger(connection, now=office.clock()), list(log.read_log(connection, kinds=_KINDS))
    history = [{"seq": one.seq, "at": one.at, "kind": one.fact.kind, **vars(one.fact)} for one in entries]
    shown = {"model": ledger.model, "candidate": ledger.candidate}
    return {**{name: None if one is None else vars(one) for name, one in shown.items()}, "history": history}


@router.post("/v1/models", responses=responses(404, 409))
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


@router.get("/v1/models/comparison", responses=responses(404))
def compare(office: InOffice) -> dict[str, Any]:
    """Decide the last 1,000 cases by both models: who would be asked, load, expected cost, right answers."""
    with office.database.read() as connection:
        ledger, past = open_ledger(connection, now=office.clock()), last_cases(connection, most=MOST_CASES)
    if ledger.candidate is None or ledger.model is None:
        raise Problem(404, "There is no model beside the one that decides.")
    team, candidate = office.shelf.team(ledger.model), office.shelf.team(ledger.candidate)
    return {"model": team.version, "candidate": candidate.version, **preview_model(ledger, team, candidate, past)}


@router.post("/v1/models/{version}/switch", responses=responses(404))
async def switch_model(request: Request, version: Version, office: InOffice) -> Response:
    """Let another model decide from the next commit on: the one beside, or an earlier one to roll back."""
    known = await run_in_threadpool(_known, office, version)
    return plain(await done(office, SwitchModel(known, caller_of(request).person)))


def _known(office: Office, version: str) -> ModelChanged:
    """Return the last entry of a model; it is loaded here, so that the switch itself takes no time."""
    with office.database.read() as connection:
        facts = [entry.fact for entry in log.read_log(connection, kinds=_KINDS)]
    known = [fact for fact in facts if isinstance(fact, ModelChanged) and fact.version == version]
    if not known:
        raise Problem(404, "There is no such model; load it first.", model=version)
    office.shelf.team(known[-1])
    return known[-1]
