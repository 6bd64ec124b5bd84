"""From a request to the writer, and from a reply to bytes."""

import asyncio
from typing import Any

from fastapi import Response
from sqlalchemy.exc import OperationalError

from defero.core.errors import InputError
from defero.service.events.entry import to_json_bytes
from defero.service.flow.command import Command
from defero.service.office import Office
from defero.service.problems import Problem, database_away

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
