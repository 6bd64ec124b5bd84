"""The application: every route behind the one check, every error in one shape, inside the shell."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import orjson
from fastapi import Depends, FastAPI

from defero import __version__
from defero.service.api import answers, cases, connections, people, terms, watching
from defero.service.api.errors import ProblemOut, add_handlers
from defero.service.api.requests import check_guarded
from defero.service.office import Office

ROUTERS = (
    cases.router,
    answers.router,
    answers.outcomes_router,
    cases.decisions_router,
    people.router,
    terms.policy_router,
    watching.drift_router,
    terms.models_router,
    connections.hooks_router,
    connections.models_router,
    connections.studio_router,
    watching.router,
)
"""One for each resource."""


def make_app(office: Office) -> FastAPI:
    """Return the application on an office; starting it starts the office, stopping it finishes what waits."""

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        office.start()
        yield
        office.close()

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
    made, examples = app.openapi, orjson.loads(files("defero.service.api").joinpath("examples.json").read_bytes())

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
