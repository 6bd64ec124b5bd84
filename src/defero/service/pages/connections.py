"""The connections of the console: language models, Label Studio and webhooks; what they do and cost, how they fail."""

import os
import re
from collections.abc import Iterable
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from defero.data.tables.cells import text_of
from defero.service.api import connections as api
from defero.service.api.requests import GuardedRoute, InOffice, form_of, needed
from defero.service.office import Office
from defero.service.pages.forms import (
    NUMBERS,
    Fields,
    hook_of,
    model_fields_of,
    model_of,
    studio_fields_of,
    studio_of,
)
from defero.service.pages.sight import Sight, Waiting, render
from defero.service.problems import Problem
from defero.service.store.contents import read_addresses
from defero.service.views.connections import KINDS, LanguageModel
from defero.service.views.kept import MILLION
from defero.service.views.policy import Person
from defero.service.views.tallies import Period, ratio, sums_of

router = APIRouter(route_class=GuardedRoute)
PAGE = "/console/connections"
N_DAYS = 30
Done = Annotated[str | None, Query(pattern="^(model|studio|hook)(_ended)?$")]


@router.get(PAGE)
def connections(request: Request, office: InOffice, done: Done = None) -> Response:
    """Show what is connected, how it goes, and the forms to change it."""
    return connections_page(request, office, done=done)


@router.post(PAGE + "/language-models")
async def set_model(request: Request, office: InOffice) -> Response:
    """Let a language model answer the questions of an expert; a form that is wrong comes back."""
    fields = await form_of(request)
    try:
        body = model_of(fields, [text_of(value) for value in office.team.class_values])
        await api.set_language_model(request, _person(needed(fields, "person")), body, office)
    except Problem as problem:
        sent = {"kind": "model", "fields": fields}
        return await run_in_threadpool(connections_page, request, office, sent=sent, problem=problem)
    return RedirectResponse(f"{PAGE}?done=model", 303)


@router.post(PAGE + "/language-models/{person}/end")
async def end_model(request: Request, person: api.Id, office: InOffice) -> Response:
    """Let a person answer again."""
    await api.end_language_model(request, person, office)
    return RedirectResponse(f"{PAGE}?done=model_ended", 303)


@router.post(PAGE + "/label-studio")
async def set_studio(request: Request, office: InOffice) -> Response:
    """Let experts answer in Label Studio; a form that is wrong comes back."""
    fields = await form_of(request)
    try:
        await api.set_studio(request, studio_of(fields), office)
    except Problem as problem:
        sent = {"kind": "studio", "fields": fields}
        return await run_in_threadpool(connections_page, request, office, sent=sent, problem=problem)
    return RedirectResponse(f"{PAGE}?done=studio", 303)


@router.post(PAGE + "/label-studio/end")
async def end_studio(request: Request, office: InOffice) -> Response:
    """Let everybody answer in the inbox again."""
    await api.end_studio(request, office)
    return RedirectResponse(f"{PAGE}?done=studio_ended", 303)


@router.post(PAGE + "/webhooks")
async def add_hook(request: Request, office: InOffice) -> Response:
    """Set up a webhook; its secret is shown this once."""
    fields = await form_of(request)
    try:
        reply = await api.add_hook(request, hook_of(fields), office)
    except Problem as problem:
        sent = {"kind": "hook", "fields": fields}
        return await run_in_threadpool(connections_page, request, office, sent=sent, problem=problem)
    return await run_in_threadpool(connections_page, request, office, made=bytes(reply.body))


@router.post(PAGE + "/webhooks/{hook}/end")
async def end_hook(request: Request, hook: api.HookId, office: InOffice) -> Response:
    """End a webhook."""
    await api.end_hook(request, hook, office)
    return RedirectResponse(f"{PAGE}?done=hook_ended", 303)


def connections_page(
    request: Request,
    office: Office,
    *,
    done: str | None = None,
    sent: dict[str, Any] | None = None,
    problem: Problem | None = None,
    made: bytes | None = None,
) -> Response:
    """Return the page: what is connected, a form as it was sent, and a secret that was just made."""
    with office.database.read() as connection:
        sight, addresses = Sight.read(connection, now=office.clock(), n_days=N_DAYS), read_addresses(connection)
    ledger = sight.ledger
    studio = ledger.studio
    known: Fields = {"key_variable": "DEFERO_KEY_LABEL_STUDIO"}
    if studio is not None:
        known = studio_fields_of(studio, addresses)
    kind, fields = (None, {}) if sent is None else (sent["kind"], sent["fields"])
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
        studio_fields=fields if kind == "studio" else known,
        hooks=list(ledger.hooks.values()),
        kinds=KINDS,
        hook_fields=fields if kind == "hook" else {"kind_settled": "yes"},
        model_fields=fields if kind == "model" else {},
        numbers=NUMBERS,
        n_days=N_DAYS,
        done=done,
        kind=kind,
        problem=problem,
        made=None if made is None else orjson.loads(made),
        log_end=ledger.seq,
    )


def model_row(sight: Sight, model: LanguageModel) -> dict[str, Any]:
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
        "fields": model_fields_of(model),
    }


def _is_free(sight: Sight, one: Person) -> bool:
    """Whether a language model can be set for an expert: they are none yet, and do not answer in Label Studio."""
    studio = sight.ledger.studio
    return one.person not in sight.ledger.language_models and (studio is None or one.person not in studio.people)


def _together(sight: Sight, people: Iterable[str]) -> Waiting:
    waiting = [sight.waiting[one] for one in people if one in sight.waiting]
    oldest = [one.oldest for one in waiting if one.oldest is not None]
    return Waiting(sum(one.n for one in waiting), min(oldest, default=None))


def _person(person: str) -> str:
    if not re.fullmatch(r"p[1-9][0-9]{0,17}", person):
        raise Problem(422, "person: choose an expert.")
    return person
