"""The application with its pages: the API, the inbox and the console behind the same door."""

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from defero.service.api.app import make_app
from defero.service.office import Office
from defero.service.pages import (
    assets,
    cases,
    connections,
    console,
    drift,
    inbox,
    inbox_actions,
    models,
    people,
    policy,
    session,
)
from defero.service.pages.render import render
from defero.service.problems import TITLES, Problem, database_away

ROUTERS = (
    session.router,
    assets.router,
    inbox.router,
    inbox_actions.router,
    console.router,
    people.router,
    cases.router,
    drift.router,
    policy.router,
    models.router,
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
