"""Idempotency keys: a request that comes again does nothing, and gets the same reply."""

import json
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, select

from defero.service.events.entry import to_json
from defero.service.flow.desk import Request
from defero.service.store.bulk import insert_rows
from defero.service.store.tables import REQUESTS

KEPT_SECONDS = 7 * 86_400.0
"""A key is forgotten after a week."""


def read_requests(connection: Connection, keys: Iterable[str]) -> dict[str, Request]:
    """Return the requests of some keys that were done before."""
    wanted = list(keys)
    if not wanted:
        return {}
    query = select(REQUESTS.c.key, REQUESTS.c.digest, REQUESTS.c.cases).where(REQUESTS.c.key.in_(wanted))
    return {key: Request(digest, tuple(json.loads(cases))) for key, digest, cases in connection.execute(query)}


def write_requests(connection: Connection, done: Mapping[str, Request], *, now: float) -> None:
    """Remember requests that are done now."""
    rows = [(key, one.digest, now, to_json(one.cases)) for key, one in done.items()]
    insert_rows(connection, REQUESTS, rows)


def forget_requests(connection: Connection, *, now: float) -> None:
    """Forget keys that are older than a week."""
    connection.execute(delete(REQUESTS).where(REQUESTS.c.at < now - KEPT_SECONDS))
