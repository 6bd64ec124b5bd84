"""Connections: webhooks, experts that are language models, and the project of Label Studio; and their page."""

import os
import queue
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

from fastapi import Header, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from defero.service import Problem
from defero.service.access import LEAD
from defero.service.flow.connections import EndHook, EndLanguageModel, EndStudio, SetHook, SetLanguageModel, SetStudio
from defero.service.office import Office
from defero.service.outward.label_studio import SECRET, SECRET_HEADER
from defero.service.outward.language_models import PromptError, names_in
from defero.service.outward.requesting import check_named, secret_name
from defero.service.store.contents import forget_secret, read_addresses, read_secret, write_secret
from defero.service.store.saved_views import read_studio
from defero.service.views.connections import KINDS, CalledModel, HookIn, LanguageModelIn, StudioIn
from defero.service.views.policy import Person, PersonId
from defero.service.views.promises import MILLION
from defero.service.views.tallies import Period, ratio, sums_of
from defero.service.web.forms import Fields
from defero.service.web.requests import InOffice, Routes, caller_of, done, plain
from defero.service.web.schemas import LanguageModelOut, LanguageModelsOut, StudioOut, StudioSetOut, responses
from defero.service.web.sight import Sight, Waiting, render

hooks_router = Routes("webhooks")
HookId = Annotated[str, Path(pattern=r"^w[0-9a-f]{12}$", examples=["w0123456789ab"])]


@hooks_router.at("GET /v1/webhooks", LEAD)
def get_hooks(office: InOffice) -> dict[str, Any]:
    """Return every webhook, how far it has come, and whether it fails."""
    hooks = office.views()[0].hooks
    return {"webhooks": [vars(one) for one in hooks.values()]}


@hooks_router.at("POST /v1/webhooks", LEAD, 409, status_code=201)
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


@hooks_router.at("DELETE /v1/webhooks/{hook}", LEAD, 404)
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


models_router = Routes("language models")
Id = Annotated[PersonId, Path(examples=["p3"])]


@models_router.at("GET /v1/language-models", LEAD, response_model=LanguageModelsOut)
def get_language_models(office: InOffice) -> dict[str, Any]:
    """Return the experts that are language models, and whether their calls fail."""
    models = office.views()[0].language_models
    return {"language_models": [_model_shown(one, now=office.clock()) for one in models.values()]}


@models_router.at("PUT /v1/language-models/{person}", LEAD, 404, 409, response_model=LanguageModelOut)
async def set_language_model(request: Request, person: Id, body: LanguageModelIn, office: InOffice) -> Response:
    """Let a language model answer the questions of an expert. The API key stays in the environment."""
    check_named(body.url)
    try:
        names_in(body.prompt)
    except PromptError as error:
        raise Problem(422, str(error)) from error
    reply = await done(office, SetLanguageModel(person, body.model_dump(), caller_of(request).person))
    return plain(_model_shown(CalledModel(**reply), now=office.clock()))


@models_router.at("DELETE /v1/language-models/{person}", LEAD, 404)
async def end_language_model(request: Request, person: Id, office: InOffice) -> Response:
    """Let a person answer the questions of an expert again."""
    return plain(await done(office, EndLanguageModel(person, caller_of(request).person)))


def _model_shown(model: CalledModel, *, now: float) -> dict[str, Any]:
    """Return a language model with what it has cost today and whether its key is there; never the key."""
    members = {name: value for name, value in vars(model).items() if name in LanguageModelOut.model_fields}
    key_is_set = not model.key_variable or bool(os.environ.get(model.key_variable))
    return {**members, "paid_today": model.paid_today(now), "key_is_set": key_is_set}


studio_router = Routes("Label Studio")
SecretHeader = Annotated[
    str | None, Header(alias=SECRET_HEADER, examples=["..."], description="As `PUT /v1/label-studio` shows it.")
]


@studio_router.at("GET /v1/label-studio", LEAD, 404, response_model=StudioOut)
def get_studio(office: InOffice) -> dict[str, Any]:
    """Return the project in which experts answer, and whether it can be reached."""
    with office.database.read() as connection:
        studio, addresses = read_studio(connection), read_addresses(connection)
    if studio is None:
        raise Problem(404, "There is no project of Label Studio.")
    return _studio_shown(vars(studio), addresses)


@studio_router.at("PUT /v1/label-studio", LEAD, 404, 409, response_model=StudioSetOut)
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


@studio_router.at("DELETE /v1/label-studio", LEAD, 404)
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


pages = Routes()
PAGE = "/console/connections"
N_DAYS = 30
Done = Annotated[str | None, Query(pattern="^(model|studio|hook)(_ended)?$")]


@pages.at("GET /console/connections", LEAD)
def connections_shown(request: Request, office: InOffice, done: Done = None) -> Response:
    """Show what is connected, how it goes, and the forms to change it."""
    return connections_page(request, office, done=done)


def connections_page(
    request: Request,
    office: Office,
    values: Mapping[str, Any] | None = None,
    *,
    kind: str | None = None,
    done: str | None = None,
    problem: Problem | None = None,
    reply: Mapping[str, Any] | None = None,
) -> Response:
    """Return the page: what is connected, a form of a `kind` as it was sent, and a secret that was just made."""
    with office.database.read() as connection:
        sight, addresses = Sight.read(connection, now=office.clock(), n_days=N_DAYS), read_addresses(connection)
    ledger = sight.ledger
    studio = ledger.studio
    sent = {} if problem is None or values is None else {kind: values}
    return render(
        request,
        "connections.html",
        status=200 if problem is None else problem.status,
        models=[model_row(sight, one) for one in ledger.language_models.values()],
        free=[(one.person, sight.name(one.person)) for one in sight.experts() if _is_free(sight, one)],
        experts=[
            (one.person, sight.name(one.person)) for one in sight.experts() if one.person not in ledger.language_models
        ],
        studio=studio,
        studio_people=[] if studio is None else [sight.name(one) for one in studio.people],
        studio_waiting=_together(sight, () if studio is None else studio.people),
        studio_key=studio is None or bool(os.environ.get(studio.key_variable)),
        studio_values=sent.get("studio") or ({} if studio is None else _studio_shown(vars(studio), addresses)),
        hooks=list(ledger.hooks.values()),
        kinds=KINDS,
        hook_values=sent.get("hook") or {"kinds": ["settled"]},
        model_values=sent.get("model", {}),
        n_days=N_DAYS,
        done=done,
        kind=kind,
        problem=problem,
        made=reply,
        log_end=ledger.seq,
    )


def read_studio_form(request: Request, fields: Fields) -> Fields:
    """Return the form with those people alone who are ticked."""
    return {
        name: text for name, text in fields.items() if name.partition("/")[0] != "people" or f"in/{name[7:]}" in fields
    }


class LanguageModelForm(LanguageModelIn):
    """A language model, and the expert whose questions it answers."""

    person: PersonId


async def connect_model(request: Request, body: LanguageModelForm, office: InOffice) -> Response:
    """Let a language model answer the questions of an expert."""
    terms = LanguageModelIn.model_construct(**body.model_dump(exclude={"person"}))
    return await set_language_model(request, body.person, terms, office)


_MODEL, _STUDIO, _HOOK = (partial(connections_page, kind=one) for one in ("model", "studio", "hook"))
_DONE = PAGE + "?done="
pages.form("POST /console/connections/language-models", LEAD, connect_model, _DONE + "model", again=_MODEL)
pages.form("POST /console/connections/language-models/{person}/end", LEAD, end_language_model, _DONE + "model_ended")
pages.form(
    "POST /console/connections/label-studio", LEAD, set_studio, _DONE + "studio", read=read_studio_form, again=_STUDIO
)
pages.form("POST /console/connections/label-studio/end", LEAD, end_studio, _DONE + "studio_ended")
pages.form("POST /console/connections/webhooks", LEAD, add_hook, _HOOK, again=_HOOK)
pages.form("POST /console/connections/webhooks/{hook}/end", LEAD, end_hook, _DONE + "hook_ended")


def model_row(sight: Sight, model: CalledModel) -> dict[str, Any]:
    """Return a language model with its calls, its price, and what waits for it."""
    person = model.person
    today = Period(sight.period.last, sight.period.last)
    did, now = (sums_of(sight.of(person), days, person) for days in (sight.period, today))
    n_calls, n_failed = did.get("calls", 0), did.get("calls_failed", 0)
    return {
        "model": model,
        "name": sight.name(person),
        "calls": n_calls,
        "failed": n_failed,
        "paid": did.get("paid", 0) / MILLION,
        "paid_today": now.get("paid", 0) / MILLION,
        "seconds": ratio(did.get("called_for", 0) / 1000, n_calls - n_failed),
        "is_spent": not model.can_pay(sight.ledger.now),
        "waiting": sight.waiting.get(person, Waiting(0, None)),
        "key_is_set": not model.key_variable or bool(os.environ.get(model.key_variable)),
        "terms": model.model_dump(),
    }


def _is_free(sight: Sight, one: Person) -> bool:
    """Whether a language model can be set for an expert: they are none yet, and do not answer in Label Studio."""
    studio = sight.ledger.studio
    return one.person not in sight.ledger.language_models and (studio is None or one.person not in studio.people)


def _together(sight: Sight, people: Iterable[str]) -> Waiting:
    waiting = [sight.waiting[one] for one in people if one in sight.waiting]
    oldest = [one.oldest for one in waiting if one.oldest is not None]
    return Waiting(sum(one.n for one in waiting), min(oldest, default=None))
