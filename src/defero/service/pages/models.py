"""The models of the console: the one that decides, one beside it, their comparison, and the switch."""

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError
from starlette.responses import RedirectResponse

from defero.service.api import terms as api
from defero.service.api.caller import InOffice
from defero.service.api.schemas import ModelIn
from defero.service.api.sending import form_of, needed
from defero.service.events import Compared, ModelChanged
from defero.service.pages.render import render
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.store.contents import read_names
from defero.service.store.saved_views import open_ledger

router = APIRouter()
PAGE = "/console/models"
MOST_COMPARED = 1_000
MOST_EXAMPLES = 10
Compare = Annotated[Literal["yes"] | None, Query()]


@router.get(PAGE)
def models(request: Request, office: InOffice, compare: Compare = None) -> Response:
    """Show the model that decides and the one beside it; `compare`: decide the last cases by both."""
    with office.database.read() as connection:
        ledger, names = open_ledger(connection, now=office.clock()), read_names(connection)
        entries = list(log.read_log(connection, kinds=("model_loaded", "model_changed")))
        facts = [one.fact for one in log.last_of_kinds(connection, kinds=("compared",), limit=MOST_COMPARED)]
    comparison = api.compare(office) if compare and ledger.candidate is not None else None
    if comparison is not None:
        comparison["examples"] = comparison["examples"][:MOST_EXAMPLES]
    history = [{"at": one.at, "kind": one.fact.kind, "fact": one.fact} for one in reversed(entries)]
    return render(
        request,
        "models.html",
        model=ledger.model,
        candidate=ledger.candidate,
        agreement=agreement(facts, ledger.candidate),
        comparison=comparison,
        earlier=earlier(history, ledger.model),
        history=history,
        names=names,
        folders=folders(office.shelf.directory),
        with_folder=office.shelf.directory is not None,
    )


@router.post(PAGE)
async def load(request: Request, office: InOffice) -> Response:
    """Load a model beside the one that decides."""
    folder = needed(await form_of(request), "folder")
    try:
        body = ModelIn(folder=folder)
    except ValidationError as error:
        raise Problem(422, "folder: must be the name of a folder in the folder of models.") from error
    await api.load_model(request, body, office)
    return RedirectResponse(PAGE, 303)


@router.post(PAGE + "/{version}/switch")
async def switch(request: Request, version: api.ModelVersion, office: InOffice) -> Response:
    """Let another model decide from the next commit on."""
    await api.switch_model(request, version, office)
    return RedirectResponse(PAGE, 303)


def agreement(facts: list[Any], candidate: ModelChanged | None) -> dict[str, int] | None:
    """Return how often both models agreed on new cases since the candidate was loaded."""
    if candidate is None:
        return None
    own = [fact for fact in facts if isinstance(fact, Compared) and fact.model == candidate.version]
    return {
        "n": len(own),
        "same_label": sum(fact.same_label for fact in own),
        "same_step": sum(fact.same_step for fact in own),
        "asks": sum(fact.asks is not None for fact in own),
    }


def earlier(history: list[dict[str, Any]], model: ModelChanged | None) -> list[ModelChanged]:
    """Return the models that decided before, the last one first, each once."""
    seen: dict[str, ModelChanged] = {}
    for line in history:
        if line["kind"] == "model_changed" and (model is None or line["fact"].version != model.version):
            seen.setdefault(line["fact"].version, line["fact"])
    return list(seen.values())


def folders(directory: Path | None) -> list[str]:
    """Return the model folders that can be loaded."""
    if directory is None or not directory.is_dir():
        return []
    return sorted(one.name for one in directory.iterdir() if (one / "model.json").is_file() and not one.is_symlink())
