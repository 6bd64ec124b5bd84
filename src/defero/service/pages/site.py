"""The application with its pages: the API, the inbox and the console behind the same door; signing in and out."""

from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from defero import __version__
from defero.service.access.tokens import SESSION_COOKIE, SESSION_DAYS, end_session, issue_session, opened, token_of
from defero.service.api.app import make_app
from defero.service.api.requests import GuardedRoute, caller_of, the_office
from defero.service.office import Office
from defero.service.pages import cases, connections, console, inbox, people, policy
from defero.service.pages.sight import render
from defero.service.problems import TITLES, Problem, database_away

entrance = APIRouter(route_class=GuardedRoute)
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


@entrance.get("/")
def home(request: Request) -> Response:
    """Go to the first page of the caller."""
    return RedirectResponse(HOME[caller_of(request).role], 303)


@entrance.post("/out")
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
    known = {one.name: one for one in files("defero.service.pages").joinpath("static").iterdir()}
    kind = ASSET_KINDS.get(name.rpartition(".")[2])
    if name not in known or kind is None:
        raise Problem(404, "There is no such file.")
    headers = {"cache-control": "max-age=300", "etag": f'"{__version__}"'}
    return Response(known[name].read_bytes(), media_type=f"{kind}; charset=utf-8", headers=headers)


ROUTERS = (
    entrance,
    inbox.router,
    console.router,
    people.router,
    cases.router,
    policy.router,
    connections.router,
)
"""One for each page."""


def make_site(office: Office) -> FastAPI:
    """Return the application on an office, with its pages; what goes wrong on a page is told as a page."""
    app = make_app(office)
    for router in ROUTERS:
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
