"""Language models: experts whose questions go to an OpenAI-compatible server."""

import os
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response

from defero.service.api.caller import caller_of, office_of
from defero.service.api.errors import responses
from defero.service.api.outward_schemas import LanguageModelIn, LanguageModelOut, LanguageModelsOut
from defero.service.api.schemas import PersonId
from defero.service.api.sending import done, plain
from defero.service.flow.language_models import EndLanguageModel, SetLanguageModel
from defero.service.office import Office
from defero.service.outward.chat import PromptError, names_in
from defero.service.outward.requesting import check_named
from defero.service.problems import Problem
from defero.service.store.saved_views import read_language_models
from defero.service.views.language_models import LanguageModel

router = APIRouter(tags=["language models"])
InOffice = Annotated[Office, Depends(office_of)]
Id = Annotated[PersonId, Path(examples=["p3"])]


@router.get("/v1/language-models", response_model=LanguageModelsOut, responses=responses())
def get_language_models(office: InOffice) -> dict[str, Any]:
    """Return the experts that are language models, and whether their calls fail."""
    with office.database.read() as connection:
        models = read_language_models(connection)
    return {"language_models": [_shown(one, now=office.clock()) for one in models.values()]}


@router.put("/v1/language-models/{person}", response_model=LanguageModelOut, responses=responses(404, 409))
async def set_language_model(request: Request, person: Id, body: LanguageModelIn, office: InOffice) -> Response:
    """Let a language model answer the questions of an expert. The API key stays in the environment."""
    check_named(body.url)
    try:
        names_in(body.prompt)
    except PromptError as error:
        raise Problem(422, str(error)) from error
    reply = await done(office, SetLanguageModel(person, body.model_dump(), caller_of(request).person))
    return plain(_shown(LanguageModel.from_dict(reply), now=office.clock()))


@router.delete("/v1/language-models/{person}", responses=responses(404))
async def end_language_model(request: Request, person: Id, office: InOffice) -> Response:
    """Let a person answer the questions of an expert again."""
    return plain(await done(office, EndLanguageModel(person, caller_of(request).person)))


def _shown(model: LanguageModel, *, now: float) -> dict[str, Any]:
    """Return a language model with what it has cost today and whether its key is there; never the key."""
    members = {name: value for name, value in vars(model).items() if name in LanguageModelOut.model_fields}
    key_is_set = not model.key_variable or bool(os.environ.get(model.key_variable))
    return {**members, "paid_today": model.paid_today(now), "key_is_set": key_is_set}
