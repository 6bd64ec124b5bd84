"""Every error in one shape: problem details, application/problem+json (RFC 9457). No content of a case is in it."""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from defero.service.problems import TITLES, Problem, database_away

MEDIA = "application/problem+json"
_LOG = logging.getLogger("defero.service")
_MOST_ERRORS = 20


class ProblemOut(BaseModel):
    """What is wrong, and what to do."""

    model_config = ConfigDict(extra="allow")
    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no such case."])


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of errors; every route can refuse a caller, a size or a content."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemOut"}}
    return {
        status: {"description": TITLES[status], "content": {MEDIA: schema}}
        for status in sorted({400, 401, 403, 413, 422, 429, 503, *statuses})
    }


def reply(problem: Problem) -> JSONResponse:
    """Return the reply of a problem."""
    again = {"retry-after": "1"}
    headers = {401: {"www-authenticate": "Bearer"}, 429: again, 503: again}.get(problem.status)
    return JSONResponse(problem.to_dict(), problem.status, headers=headers, media_type=MEDIA)


def add_handlers(app: FastAPI) -> None:
    """Give an application the one shape for every error."""

    @app.exception_handler(Problem)
    async def _problem(_: Request, error: Problem) -> JSONResponse:
        return reply(error)

    @app.exception_handler(OperationalError)
    @app.exception_handler(PoolTimeout)
    async def _away(request: Request, error: Exception) -> JSONResponse:
        _LOG.error("no database in %s: %s", getattr(request.scope.get("route"), "path", "?"), type(error).__name__)
        return reply(database_away())

    @app.exception_handler(RequestValidationError)
    async def _wrong(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = [
            {"where": "/".join(map(str, one["loc"])), "what": one["msg"]} for one in error.errors()[:_MOST_ERRORS]
        ]
        status = 400 if any(one["type"] == "json_invalid" for one in error.errors()) else 422
        first = f"{faults[0]['where']}: {faults[0]['what']}." if faults else "The content is wrong."
        return reply(Problem(status, first, errors=faults))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        answer = reply(Problem(error.status_code, str(error.detail)))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def _defect(request: Request, error: Exception) -> JSONResponse:
        _LOG.error("defect in %s: %s", getattr(request.scope.get("route"), "path", "?"), type(error).__name__)
        return reply(Problem(500, "Please report it, with the time of this reply."))
