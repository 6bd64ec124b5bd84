"""What comes in and goes out: JSON and forms of requests, commands to the writer, replies as bytes."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import parse_qsl

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from sqlalchemy.exc import OperationalError

from defero.core.errors import InputError
from defero.service.events.entry import to_json_bytes
from defero.service.flow.command import Command
from defero.service.office import Office
from defero.service.problems import Problem, database_away


class _Read(Request):
    """A request whose JSON is decoded by orjson, which also refuses NaN and texts that cannot be written again."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class QuickRoute(APIRoute):
    """A route for large requests; give it to a router as `route_class`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, on a request that is decoded by orjson."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            return await handle(_Read(request.scope, request.receive))

        return handler


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
