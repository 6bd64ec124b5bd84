"""Requests: who calls and whether they may, what comes in, commands to the writer, and replies as bytes.

A route says who may call it, and a form which route of the API it does.
"""

import asyncio
import hmac
from collections.abc import Callable, Coroutine
from inspect import Signature, iscoroutinefunction, signature
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from sqlalchemy.exc import OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from defero.core.errors import InputError
from defero.service import Problem, checked, database_away
from defero.service.access import (
    ALLOWED,
    CSRF_HEADER,
    OPEN,
    OPEN_PAGES,
    PAGES,
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
from defero.service.web.forms import Fields, form_values
from defero.service.web.schemas import responses

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
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
    if caller.role not in {**ALLOWED, **PAGES}.get(route, frozenset()):
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


async def form_of(request: Request) -> Fields:
    """Return the fields of a form; nothing where the request is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return {}
    try:
        body = (await request.body()).decode()
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise Problem(400, "The form cannot be read.") from error


class Routes(APIRouter):
    """Routes that check their callers; each says who may call it. Those of the API have a tag, pages none."""

    def __init__(self, *tags: str) -> None:
        super().__init__(tags=list(tags), route_class=GuardedRoute)

    def at(self, route: str, roles: frozenset[str], *errors: int, **more: Any) -> Callable[[Endpoint], Endpoint]:
        """Let a function answer a route such as "GET /v1/me" to some roles.

        Parameters
        ----------
        route : str
        roles : names
        *errors : int
            Status of what it refuses, beside what every route can refuse.
        **more
            As `APIRouter.api_route` takes it.
        """
        method, path = route.split(" ")
        (ALLOWED if self.tags else PAGES)[route] = roles
        return self.api_route(path, methods=[method], **{"responses": responses(*errors), **more})

    def form(
        self,
        route: str,
        roles: frozenset[str],
        do: Callable[..., Any],
        then: str | Callable[..., Response],
        *,
        read: Callable[[Request, Fields], Fields] | None = None,
        again: Callable[..., Response] | None = None,
    ) -> None:
        """Let a form do what a route of the API does: its fields are read as the body of that route.

        Parameters
        ----------
        route, roles
            As in `at`.
        do : function of a route
        then : str or callable
            Where the browser goes on to, with members of the reply in braces; or the page that comes next, from the
            request, the office, the values of the form and the `reply`.
        read : callable, optional
            Fields of the form as the API names them, from the request and what was sent.
        again : callable, optional
            The page with a form that was refused: from the request, the office, the values and the `problem`.
        """
        of_do = signature(do).parameters
        schema = of_do["body"].annotation if "body" in of_do else None

        async def by_form(request: Request, **known: Any) -> Response:
            office, values, fields = the_office(request), {}, await form_of(request)
            try:
                if read is not None:
                    fields = await run_in_threadpool(read, request, fields)
                if schema is not None:
                    values = form_values(schema, fields)
                    known["body"] = checked(schema, values)
                given = {**known, "request": request, "office": office}
                given = {name: given[name] for name in of_do}
                reply = await do(**given) if iscoroutinefunction(do) else await run_in_threadpool(do, **given)
            except Problem as problem:
                if again is None:
                    raise
                return await run_in_threadpool(again, request, office, values, problem=problem)
            reply = orjson.loads(reply.body) if isinstance(reply, Response) else reply
            if not isinstance(then, str):
                return await run_in_threadpool(then, request, office, values, reply=reply)
            return RedirectResponse(then.format(**{**known, **reply}), 303)

        in_path = [one for name, one in of_do.items() if name not in ("request", "body", "office")]
        by_form.__signature__ = Signature([*signature(by_form).parameters.values()][:1] + in_path)  # type: ignore[attr-defined]
        self.at(route, roles, response_model=None)(by_form)
