"""Requests: who calls and whether they may, what comes in, commands to the writer, and replies as bytes.

Forms of the pages are read as the models that the API takes.
"""

import asyncio
import hmac
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import parse_qsl

import orjson
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from sqlalchemy.exc import OperationalError
from starlette.concurrency import run_in_threadpool

from defero.core.errors import InputError
from defero.data.tables.cells import text_of
from defero.service import Problem, checked, database_away
from defero.service.access import (
    CSRF_HEADER,
    OPEN,
    OPEN_PAGES,
    PAGES,
    ROUTES,
    SESSION_COOKIE,
    WITH_SECRET,
    Caller,
    csrf_matches,
    token_of,
)
from defero.service.events import to_json_bytes
from defero.service.flow.command import Command
from defero.service.office import Office
from defero.service.store.contents import read_secret
from defero.service.views.connections import CalledModel, HookIn, LanguageModelIn, Studio, StudioIn
from defero.service.views.policy import Policy, PolicyIn

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


async def office_of(request: Request) -> Office:
    """Return the office behind an application; a dependency that is no coroutine would cost a thread each time."""
    return the_office(request)


InOffice = Annotated[Office, Depends(office_of)]
"""The office, as a parameter of a route."""


def the_office(request: Request) -> Office:
    """Return the office behind an application."""
    office: Office = request.app.state.office
    return office


def caller_of(request: Request) -> Caller:
    """Return who makes a request, as `check_access` found out."""
    caller: Caller = request.state.caller
    return caller


async def check_access(request: Request) -> None:
    """Let a request through, or raise 401, 403 or 429. Nothing that a stranger sends is read."""
    office, route = the_office(request), f"{request.method} {getattr(request.scope.get('route'), 'path', '')}"
    caller, request.state.is_checked = await _known(request, office), True
    address = request.client.host if request.client is not None else "unknown"
    who, role = (f"address {address}", "nobody") if caller is None else (caller.token_id, caller.role)
    if route in OPEN or route in OPEN_PAGES:
        return
    if route in WITH_SECRET:
        if not office.rates.allows(f"address {address}", "machine"):
            raise Problem(429, "Too many requests; wait a second.")
        await run_in_threadpool(_check_secret, request, office, *WITH_SECRET[route])
        return
    if not office.rates.allows(who, role):
        raise Problem(429, "Too many requests; wait a second.")
    if caller is None:
        if route in PAGES:
            raise Problem(401, "Open your link again, or ask the lead for a new one.")
        raise Problem(401, "Send a valid token: 'Authorization: Bearer defero_...'.")
    if caller.role not in ROUTES.get(route, frozenset()):
        raise Problem(403, f"The role {caller.role} may not do this.")
    _check_query(request)
    request.state.caller = caller


def _check_secret(request: Request, office: Office, header: str, name: str) -> None:
    """Raise where a request does not carry the secret of this name."""
    with office.database.read() as connection:
        known = read_secret(connection, name)
    if known is None or not hmac.compare_digest(known, request.headers.get(header, "").encode()):
        raise Problem(401, f"Send the secret of the webhook in the header {header}.")


def _check_query(request: Request) -> None:
    """Raise where the query names what the route does not know: a misspelt name would silently do nothing."""
    if request.query_params:
        known = {one.alias for one in request.scope["route"].dependant.query_params}
        unknown = sorted(set(request.query_params) - known)
        if unknown:
            raise Problem(422, f"This route knows these names in its query: {', '.join(sorted(known)) or 'none'}.")


async def _known(request: Request, office: Office) -> Caller | None:
    """Return whose token or session a request carries; a session must also carry its CSRF token to change something."""
    kind, _, token_text = request.headers.get("authorization", "").partition(" ")
    if token_text:
        if kind.lower() != "bearer":
            return None
        if office.tokens.remembers(token_text):
            return office.tokens.caller(token_text)
        return await run_in_threadpool(office.tokens.caller, token_text)
    session = request.cookies.get(SESSION_COOKIE)
    token = None if session is None else token_of(office.key, session, now=office.clock())
    if session is None or token is None:
        return None
    caller = await run_in_threadpool(office.tokens.caller_now, token)
    if caller is None or request.method in SAFE or csrf_matches(office.key, session, await _csrf_given(request)):
        return caller
    raise Problem(403, "The CSRF token of this session is missing; load the page again.")


async def _csrf_given(request: Request) -> str | None:
    """Return the CSRF token of a request: in a header from scripts, in a field from forms."""
    token = request.headers.get(CSRF_HEADER)
    return token if token is not None else (await form_of(request)).get(CSRF_FIELD)


class _JsonRequest(Request):
    """A request whose JSON is decoded by orjson, which also refuses NaN and texts that cannot be written again."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class GuardedRoute(APIRoute):
    """A route that checks its caller before it reads the body; every router has it as its `route_class`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, behind the check, on a request that is decoded by orjson."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            request = _JsonRequest(request.scope, request.receive)
            await check_access(request)
            return await handle(request)

        return handler


async def check_guarded(request: Request) -> None:
    """Close every route of another class: it was not checked."""
    if not getattr(request.state, "is_checked", False):
        raise Problem(403, "This route is closed.")


MOST_WAITING = 2_000
"""Commands in the queue; beyond, a client is asked to come again."""
MOST_WAITING_CASES = 50_000
"""Cases of these commands: a queue of large requests must not fill the memory."""


async def done(office: Office, command: Command) -> Any:
    """Return the reply of a command once it is on disk."""
    writer = office.writer
    if writer.waiting >= MOST_WAITING or writer.waiting_cases >= MOST_WAITING_CASES:
        raise Problem(503, "Too much waits to be written; try again in a second.")
    try:
        return await asyncio.wrap_future(writer.submit(command))
    except InputError as error:  # what only the model itself can see
        raise Problem(422, str(error)) from error
    except OperationalError as error:
        raise database_away() from error


def plain(value: Any, status: int = 200) -> Response:
    """Return plain values as JSON, without another walk through them."""
    return Response(to_json_bytes(value), status, media_type="application/json")


FORM = "application/x-www-form-urlencoded"
CSRF_FIELD = "csrf"
_MOST_FIELDS = 5_000
"""A policy has two fields for each expert."""


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form; nothing where the request is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return {}
    try:
        body = (await request.body()).decode()
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise Problem(400, "The form cannot be read.") from error


def needed(form: dict[str, str], name: str) -> str:
    """Return a field of a form; raises `Problem` where it is missing."""
    if name not in form:
        raise Problem(422, f"{name}: is missing in the form.")
    return form[name]


Fields = dict[str, str]
MOST_CLASSES = 8
"""With more, the cost matrix is not in the form, and stays as it is."""
EMPTY_RULES = 2
"""Empty lines below the rules that are there; a preview adds new ones."""
UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_PLAIN = ("asking", "on_drift", "mode", "shadow_answer")
_RULE = ("do", "person", "label", "column", "equals")


def fields_of(policy: Policy, classes: Sequence[str]) -> Fields:
    """Return what the form shows of a policy.

    >>> fields = fields_of(Policy(fees={"p1": 2.5}, answer_within=7_200.0), ["ill", "well"])
    >>> fields["fee_p1"], fields["answer_within"], fields["answer_unit"]
    ('2.5', '2', 'hours')
    """
    fields = {name: str(getattr(policy, name)) for name in _PLAIN}
    fields |= {"error_cost": text_of(policy.error_cost), "panel_size": str(policy.panel_size)}
    fields["explore"] = f"{100 * policy.explore:.10g}"
    within = policy.answer_within
    unit = next((unit for unit, size in UNITS.items() if within is not None and within % size == 0), "seconds")
    fields["answer_unit"] = "hours" if within is None else unit
    fields["answer_within"] = "" if within is None else text_of(within / UNITS[unit])
    fields |= {f"fee_{person}": text_of(fee) for person, fee in policy.fees.items()}
    fields |= {f"capacity_{person}": str(most) for person, most in policy.capacity.items()}
    if len(classes) <= MOST_CLASSES:
        place = {label: k for k, label in enumerate(classes)}
        for truth, row in (policy.cost_matrix or {}).items():
            for answer, cost in row.items():
                fields[f"cost_{place[text_of(truth)]}_{place[text_of(answer)]}"] = text_of(cost)
    for line, rule in enumerate(policy.rules):
        fields |= {f"rule{line}_{name}": text_of(value) for name in _RULE if (value := getattr(rule, name)) is not None}
    return fields


def n_rules(fields: Mapping[str, str]) -> int:
    """Return how many lines for rules the form has: those that are filled in, and some empty ones."""
    places = [re.fullmatch("rule([0-9]+)_do", name) for name, value in fields.items() if value]
    return max((int(place[1]) for place in places if place), default=-1) + 1 + EMPTY_RULES


def policy_of(fields: Mapping[str, str], classes: Sequence[str], current: Policy) -> dict[str, Any]:
    """Return the policy that a form says, as the API takes it; raises `Problem` where a field cannot be read."""
    values: dict[str, Any] = {**_filled(fields, (*_PLAIN, "error_cost")), "rules": _rules(fields)}
    values |= {"fees": _by_name(fields, "fee_"), "panel_size": whole(fields.get("panel_size") or "3")}
    values["capacity"] = {person: whole(most) for person, most in _by_name(fields, "capacity_").items()}
    numbers = {name: _number(text, name) for name, text in _filled(fields, ("answer_within", "explore")).items()}
    unit = UNITS.get(fields.get("answer_unit", "seconds"), 1)
    values["answer_within"] = numbers["answer_within"] * unit if "answer_within" in numbers else None
    values["explore"] = numbers.get("explore", 0.0) / 100
    values["cost_matrix"] = _matrix(fields, classes) if len(classes) <= MOST_CLASSES else current.cost_matrix
    return checked(PolicyIn, values).model_dump()


def _filled(fields: Mapping[str, str], names: Iterable[str]) -> Fields:
    """Return the fields of some names that are not blank."""
    return {name: fields[name].strip() for name in names if fields.get(name, "").strip()}


def _by_name(fields: Mapping[str, str], start: str) -> Fields:
    """Return the fields whose names begin with a text and that are not blank, by the rest of their names."""
    return {name[len(start) :]: text for name, text in _filled(fields, fields).items() if name.startswith(start)}


def whole(text: str) -> Any:
    """Return a field as a whole number; one that is none as it is, so that the check of the model says so.

    >>> whole("40"), whole("2.5"), whole("inf"), whole("x")
    (40, 2.5, inf, 'x')
    """
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def _matrix(fields: Mapping[str, str], classes: Sequence[str]) -> dict[str, dict[str, str]] | None:
    costs = _by_name(fields, "cost_")
    matrix = {
        truth: {answer: costs[f"{i}_{j}"] for j, answer in enumerate(classes) if f"{i}_{j}" in costs}
        for i, truth in enumerate(classes)
    }
    return {truth: row for truth, row in matrix.items() if row} or None


def _rules(fields: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rules; a line without a choice is none."""
    lines = [_by_name(fields, f"rule{place}_") for place in range(n_rules(fields))]
    for line in lines:
        if line.get("do") == "ask":
            line.pop("person", None)  # the line has a field for it, which means nothing here
    return [{name: line[name] for name in _RULE if name in line} for line in lines if "do" in line]


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise Problem(422, f"{name}: must be a number such as 2.5, got {text[:40]!r}.") from error


NUMBERS = ("per_call", "per_million_in", "per_million_out", "timeout", "within", "per_minute", "most_per_day")
_TEXTS = ("url", "model", "prompt", "key_variable")
_STUDIO_TEXTS = ("url", "key_variable", "title", "control", "callback", "unknown")


def model_fields_of(model: CalledModel) -> Fields:
    """Return what the form shows of a language model.

    >>> model_fields_of(CalledModel(person="p1", url="https://a.example/v1", model="m", per_call=0.002))["per_call"]
    '0.002'
    """
    fields = {name: str(getattr(model, name)) for name in _TEXTS}
    fields |= {name: text_of(value) for name in NUMBERS if (value := getattr(model, name)) is not None}
    fields["classes"] = ", ".join(text_of(label) for label in model.classes)
    fields["options"] = orjson.dumps(model.options).decode() if model.options else ""
    return {"person": model.person, **fields}


def model_of(fields: Mapping[str, str], classes: Sequence[str]) -> LanguageModelIn:
    """Return the language model that a form says; blank numbers get their defaults."""
    values: dict[str, Any] = {"url": "", "model": "", **_filled(fields, (*_TEXTS, *NUMBERS, "options"))}
    values["classes"] = [label.strip() for label in fields.get("classes", "").split(",") if label.strip()]
    strange = [label for label in values["classes"] if label not in classes]
    if strange:
        raise Problem(422, f"classes: {strange[0][:40]!r} is no class; separate them by commas.")
    if "per_minute" in values:
        values["per_minute"] = whole(values["per_minute"])
    if "options" in values:
        try:
            values["options"] = orjson.loads(values["options"])
        except orjson.JSONDecodeError as error:
            raise Problem(422, 'options: must be JSON such as {"temperature": 0}.') from error
    return checked(LanguageModelIn, values)


def studio_fields_of(studio: Studio, addresses: Mapping[str, str]) -> Fields:
    """Return what the form shows of a project of Label Studio."""
    fields = {name: str(getattr(studio, name)) for name in _STUDIO_TEXTS}
    fields |= {"poll": text_of(studio.poll), "project": "" if studio.project is None else str(studio.project)}
    fields |= {f"in_{person}": "yes" for person in studio.people}
    return fields | {f"email_{person}": email for person, email in addresses.items()}


def studio_of(fields: Mapping[str, str]) -> StudioIn:
    """Return the project that a form says: whoever is ticked answers there.

    >>> fields = {"url": "https://a.example", "in_p1": "yes", "email_p1": "ann@a.example", "email_p2": "b@a.example"}
    >>> studio_of(fields).people
    {'p1': 'ann@a.example'}
    """
    values: dict[str, Any] = _filled(fields, (*_STUDIO_TEXTS, "poll", "project"))
    emails = _by_name(fields, "email_")
    values["people"] = {person: emails.get(person) for person in _by_name(fields, "in_")}
    if not values["people"]:
        raise Problem(422, "people: tick at least one expert who answers there.")
    if "project" in values:
        if not values["project"].isdecimal():
            raise Problem(422, "project: must be the number of a project, or blank.")
        values["project"] = int(values["project"])
    return checked(StudioIn, values)


def hook_of(fields: Mapping[str, str]) -> HookIn:
    """Return the webhook that a form says."""
    kinds = list(_by_name(fields, "kind_"))
    if not kinds:
        raise Problem(422, "kinds: tick at least one.")
    return checked(HookIn, {"url": fields.get("url", "").strip(), "kinds": kinds})
