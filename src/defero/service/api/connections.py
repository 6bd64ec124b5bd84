"""Connections: webhooks, experts that are language models, and the project of Label Studio in which experts answer."""

import os
import queue
import secrets
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from defero.service.api.errors import responses
from defero.service.api.requests import GuardedRoute, InOffice, caller_of, done, plain
from defero.service.api.schemas import (
    HookIn,
    LanguageModelIn,
    LanguageModelOut,
    LanguageModelsOut,
    PersonId,
    StudioIn,
    StudioOut,
    StudioSetOut,
)
from defero.service.flow.connections import EndHook, EndLanguageModel, EndStudio, SetHook, SetLanguageModel, SetStudio
from defero.service.office import Office
from defero.service.outward.label_studio import SECRET, SECRET_HEADER
from defero.service.outward.language_models import PromptError, names_in
from defero.service.outward.requesting import check_named
from defero.service.outward.webhooks import secret_name
from defero.service.problems import Problem
from defero.service.store.contents import forget_secret, read_addresses, read_secret, write_secret
from defero.service.store.saved_views import open_ledger, read_language_models, read_studio
from defero.service.views.connections import LanguageModel

hooks_router = APIRouter(tags=["webhooks"], route_class=GuardedRoute)
HookId = Annotated[str, Path(pattern=r"^w[0-9a-f]{12}$", examples=["w0123456789ab"])]


@hooks_router.get("/v1/webhooks", responses=responses())
def get_hooks(office: InOffice) -> dict[str, Any]:
    """Return every webhook, how far it has come, and whether it fails."""
    with office.database.read() as connection:
        hooks = open_ledger(connection, now=office.clock()).hooks
    return {"webhooks": [vars(one) for one in hooks.values()]}


@hooks_router.post("/v1/webhooks", status_code=201, responses=responses(409))
async def add_hook(request: Request, body: HookIn, office: InOffice) -> Response:
    """Send on what happens from now on. The secret that signs it is shown this once."""
    check_named(body.url)
    hook, secret = f"w{secrets.token_hex(6)}", secrets.token_urlsafe(32)
    await run_in_threadpool(_keep_hook_secret, office, hook, secret)
    try:
        reply = await done(office, SetHook(hook, body.url, tuple(body.kinds), caller_of(request).person))
    except Problem:
        await run_in_threadpool(_forget, office, secret_name(hook))
        raise
    return plain({**reply, "secret": secret}, 201)


@hooks_router.delete("/v1/webhooks/{hook}", responses=responses(404))
async def end_hook(request: Request, hook: HookId, office: InOffice) -> Response:
    """End a webhook."""
    reply = await done(office, EndHook(hook, caller_of(request).person))
    await run_in_threadpool(_forget, office, secret_name(hook))
    return plain(reply)


def _keep_hook_secret(office: Office, hook: str, secret: str) -> None:
    with office.database.write() as connection:
        write_secret(connection, secret_name(hook), secret.encode())


def _forget(office: Office, name: str) -> None:
    with office.database.write() as connection:
        forget_secret(connection, name)


models_router = APIRouter(tags=["language models"], route_class=GuardedRoute)
Id = Annotated[PersonId, Path(examples=["p3"])]


@models_router.get("/v1/language-models", response_model=LanguageModelsOut, responses=responses())
def get_language_models(office: InOffice) -> dict[str, Any]:
    """Return the experts that are language models, and whether their calls fail."""
    with office.database.read() as connection:
        models = read_language_models(connection)
    return {"language_models": [_model_shown(one, now=office.clock()) for one in models.values()]}


@models_router.put("/v1/language-models/{person}", response_model=LanguageModelOut, responses=responses(404, 409))
async def set_language_model(request: Request, person: Id, body: LanguageModelIn, office: InOffice) -> Response:
    """Let a language model answer the questions of an expert. The API key stays in the environment."""
    check_named(body.url)
    try:
        names_in(body.prompt)
    except PromptError as error:
        raise Problem(422, str(error)) from error
    reply = await done(office, SetLanguageModel(person, body.model_dump(), caller_of(request).person))
    return plain(_model_shown(LanguageModel.from_dict(reply), now=office.clock()))


@models_router.delete("/v1/language-models/{person}", responses=responses(404))
async def end_language_model(request: Request, person: Id, office: InOffice) -> Response:
    """Let a person answer the questions of an expert again."""
    return plain(await done(office, EndLanguageModel(person, caller_of(request).person)))


def _model_shown(model: LanguageModel, *, now: float) -> dict[str, Any]:
    """Return a language model with what it has cost today and whether its key is there; never the key."""
    members = {name: value for name, value in vars(model).items() if name in LanguageModelOut.model_fields}
    key_is_set = not model.key_variable or bool(os.environ.get(model.key_variable))
    return {**members, "paid_today": model.paid_today(now), "key_is_set": key_is_set}


studio_router = APIRouter(tags=["Label Studio"], route_class=GuardedRoute)
SecretHeader = Annotated[
    str | None, Header(alias=SECRET_HEADER, examples=["..."], description="As `PUT /v1/label-studio` shows it.")
]


@studio_router.get("/v1/label-studio", response_model=StudioOut, responses=responses(404))
def get_studio(office: InOffice) -> dict[str, Any]:
    """Return the project in which experts answer, and whether it can be reached."""
    with office.database.read() as connection:
        studio, addresses = read_studio(connection), read_addresses(connection)
    if studio is None:
        raise Problem(404, "There is no project of Label Studio.")
    return _studio_shown(vars(studio), addresses)


@studio_router.put("/v1/label-studio", response_model=StudioSetOut, responses=responses(404, 409))
async def set_studio(request: Request, body: StudioIn, office: InOffice) -> Response:
    """Let experts answer in Label Studio. The reply has the secret that it sends with what it tells."""
    addresses = {person: email.lower() for person, email in body.people.items() if email is not None}
    if len(set(addresses.values())) < len(addresses):
        raise Problem(422, "people: two of them have the same address.")
    terms = {**body.model_dump(), "people": list(body.people)}
    check_named(body.url)
    secret = await run_in_threadpool(_kept_secret, office)  # before the command, which the webhook may follow at once
    reply = await done(office, SetStudio(f"s{secrets.token_hex(6)}", terms, addresses, caller_of(request).person))
    return plain({**_studio_shown(reply, addresses), "secret": secret.decode()})


@studio_router.delete("/v1/label-studio", responses=responses(404))
async def end_studio(request: Request, office: InOffice) -> Response:
    """Let everybody answer in the inbox again; tasks that wait in Label Studio stay there, and count no more."""
    reply = await done(office, EndStudio(caller_of(request).person))
    await run_in_threadpool(_forget, office, SECRET)
    return plain(reply)


@studio_router.post("/v1/label-studio/annotations", status_code=202, responses=responses())
def hear_annotation(office: InOffice, body: dict[str, Any], _: SecretHeader = None) -> dict[str, bool]:
    """Hear that something was annotated: the task is then read from Label Studio, whatever else the message says."""
    task, annotation = body.get("task"), body.get("annotation")
    number = task.get("id") if isinstance(task, dict) else None
    if number is None and isinstance(annotation, dict):
        number = annotation.get("task")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**53:
        return {"heard": False}
    with suppress(queue.Full):  # the next look at the project finds it
        office.hints.put_nowait(number)
    return {"heard": True}


def _kept_secret(office: Office) -> bytes:
    """Return the secret of the webhook, made where there is none; it holds until the project ends."""
    with office.database.write() as connection:
        return read_secret(connection, SECRET) or write_secret(connection, SECRET, secrets.token_urlsafe(32).encode())


def _studio_shown(studio: dict[str, Any], addresses: dict[str, str]) -> dict[str, Any]:
    return {**studio, "people": {person: addresses.get(person) for person in studio["people"]}}
