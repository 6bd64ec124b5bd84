"""The application: every route behind the one check, every error in one shape; with its pages, and signing in and out.

Errors are problem details, application/problem+json (RFC 9457), with no content of a case in them; pages tell them as a
page.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import orjson
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse

from defero import __version__
from defero.service import TITLES, Problem, database_away
from defero.service.access import PEOPLE, SESSION_COOKIE, SESSION_DAYS, end_session, issue_session, opened, token_of
from defero.service.office import Office
from defero.service.web import cases, connections, console, inbox, people, terms
from defero.service.web.requests import Routes, caller_of, check_guarded, the_office
from defero.service.web.schemas import MEDIA, ProblemOut
from defero.service.web.sight import render

_LOG = logging.getLogger("defero.service")
_MOST_ERRORS = 20


def problem_reply(problem: Problem) -> JSONResponse:
    """Return the reply of a problem."""
    again = {"retry-after": "1"}
    headers = {401: {"www-authenticate": "Bearer"}, 429: again, 503: again}.get(problem.status)
    return JSONResponse(problem.to_dict(), problem.status, headers=headers, media_type=MEDIA)


def add_handlers(app: FastAPI) -> None:
    """Give an application the one shape for every error."""

    @app.exception_handler(Problem)
    async def _problem(_: Request, error: Problem) -> JSONResponse:
        return problem_reply(error)

    @app.exception_handler(OperationalError)
    @app.exception_handler(PoolTimeout)
    async def _away(request: Request, error: Exception) -> JSONResponse:
        _LOG.error("no database in %s: %s", getattr(request.scope.get("route"), "path", "?"), type(error).__name__)
        return problem_reply(database_away())

    @app.exception_handler(RequestValidationError)
    async def _wrong(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = [
            {"where": "/".join(map(str, one["loc"])), "what": one["msg"]} for one in error.errors()[:_MOST_ERRORS]
        ]
        status = 400 if any(one["type"] == "json_invalid" for one in error.errors()) else 422
        first = f"{faults[0]['where']}: {faults[0]['what']}." if faults else "The content is wrong."
        return problem_reply(Problem(status, first, errors=faults))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        answer = problem_reply(Problem(error.status_code, str(error.detail)))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def _defect(request: Request, error: Exception) -> JSONResponse:
        _LOG.error("defect in %s: %s", getattr(request.scope.get("route"), "path", "?"), type(error).__name__)
        return problem_reply(Problem(500, "Please report it, with the time of this reply."))


ROUTERS = (
    cases.router,
    inbox.router,
    inbox.outcomes_router,
    cases.decisions_router,
    people.router,
    terms.policy_router,
    console.drift_router,
    terms.models_router,
    connections.hooks_router,
    connections.models_router,
    connections.studio_router,
    console.router,
)
"""One for each resource."""


def make_app(office: Office) -> FastAPI:
    """Return the application on an office; starting it starts the office, stopping it finishes what waits."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        app.state.office.start()
        yield
        app.state.office.close()

    app = FastAPI(
        title="defero",
        version=__version__,
        description="A team at work: cases in, the next step of each, answers, outcomes and decisions out.",
        dependencies=[Depends(check_guarded)],
        docs_url=None,  # their scripts come from elsewhere, which the headers forbid
        redoc_url=None,
        lifespan=running,
    )
    app.state.office = office
    for router in ROUTERS:
        app.include_router(router)
    add_handlers(app)
    _describe(app)
    return app


def _describe(app: FastAPI) -> None:
    """Add to OpenAPI what FastAPI does not know: the token, the shape of errors, and an example of each operation."""
    made, examples = app.openapi, orjson.loads(files("defero.service.web").joinpath("examples.json").read_bytes())

    def openapi() -> dict[str, Any]:
        schema = made()
        parts = schema.setdefault("components", {})
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        parts["schemas"]["ProblemOut"] = ProblemOut.model_json_schema()
        for path, operations in schema["paths"].items():
            for method, operation in operations.items():
                operation["security"] = [] if path == "/health" else [{"token": []}]
                _add_examples(operation, examples[f"{method.upper()} {path}"])
        return schema

    app.openapi = openapi  # type: ignore[method-assign]  # the way that FastAPI documents


def _add_examples(operation: dict[str, Any], example: dict[str, Any]) -> None:
    """Add what was sent and replied when the operation was done once, see `tests/service/example_run.py`."""
    for media in operation.get("requestBody", {}).get("content", {}).values():
        media["example"] = example["body"]
    for status, reply in operation["responses"].items():
        if status.startswith("2"):
            for media in reply.get("content", {}).values():
                media["example"] = example["reply"]


entrance = Routes()
HOME = {"lead": "/console", "expert": "/inbox"}
"""The first page of a role; programs have none."""


@entrance.get("/in/{link}")
def sign_in(request: Request, link: str) -> Response:
    """Set the cookie of a session, and go on to the first page.

    The page goes on by itself: a redirect would still count as coming from the site of the link, and a browser would
    not send a cookie that is SameSite=Strict.
    """
    office = the_office(request)
    session = _session_of(office, link, now=office.clock())
    token = None if session is None else token_of(office.key, session, now=office.clock())
    caller = None if token is None else office.tokens.caller_now(token)
    if session is None or caller is None or caller.role not in HOME:
        raise Problem(401, "This link does not work any more; ask the lead for a new one.")
    reply = render(request, "enter.html", home=HOME[caller.role])
    reply.set_cookie(
        SESSION_COOKIE,
        session,
        max_age=int(86_400 * SESSION_DAYS),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return reply


def _session_of(office: Office, link: str, *, now: float) -> str | None:
    secret = opened(office.key, "link", link, now=now)
    if secret is None:  # nothing is written for a link that is not ours
        return None
    with office.database.write() as connection:
        return issue_session(connection, office.key, secret, now=now)


@entrance.at("GET /", PEOPLE)
def home(request: Request) -> Response:
    """Go to the first page of the caller."""
    return RedirectResponse(HOME[caller_of(request).role], 303)


@entrance.at("POST /out", PEOPLE)
async def sign_out(request: Request) -> Response:
    """End the session; the link still holds until it is revoked."""
    await run_in_threadpool(_end, the_office(request), caller_of(request).token_id)
    reply = render(request, "out.html")
    reply.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
    return reply


def _end(office: Office, token_id: str) -> None:
    with office.database.write() as connection:
        end_session(connection, token_id, now=office.clock())


ASSET_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@entrance.get("/assets/{name}")
def asset(name: str) -> Response:
    """Return a file of `static/`; nothing else has a name here."""
    known = {one.name: one for one in files("defero.service.web").joinpath("static").iterdir()}
    kind = ASSET_KINDS.get(name.rpartition(".")[2])
    if name not in known or kind is None:
        raise Problem(404, "There is no such file.")
    headers = {"cache-control": "max-age=300", "etag": f'"{__version__}"'}
    return Response(known[name].read_bytes(), media_type=f"{kind}; charset=utf-8", headers=headers)


PAGE_ROUTERS = (
    entrance,
    inbox.pages,
    console.pages,
    people.pages,
    cases.pages,
    terms.pages,
    connections.pages,
)
"""One for each page."""


def make_site(office: Office) -> FastAPI:
    """Return the application on an office, with its pages; what goes wrong on a page is told as a page."""
    app = make_app(office)
    for router in PAGE_ROUTERS:
        app.include_router(router, include_in_schema=False)
    for kind in (Problem, HTTPException, RequestValidationError, OperationalError, PoolTimeout):
        app.exception_handlers[kind] = _as_page(app.exception_handlers[kind])
    return app


def _as_page(as_json: Any) -> Any:
    async def handler(request: Request, error: Exception) -> Response:
        reply: Response = await as_json(request, error)
        if request.url.path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
            return reply
        if isinstance(error, Problem | HTTPException):
            detail = str(error.detail)
        elif isinstance(error, RequestValidationError):
            detail = "The address has something that this page does not know."
        else:
            detail = database_away().detail
        title = TITLES.get(reply.status_code, "Something is wrong")
        if reply.status_code == 401:
            title = "You are not signed in"
        return render(request, "problem.html", status=reply.status_code, title=title, detail=detail)

    return handler
