"""Idempotency keys: a request that comes again does nothing, and gets the same reply."""

import json
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, func, select

from defero.service.events.entry import to_json
from defero.service.flow.desk import Request
from defero.service.store.bulk import insert_rows
from defero.service.store.tables import REQUESTS

KEPT_SECONDS = 7 * 86_400.0
"""A key is forgotten after a week."""
MOST_KEPT = 1_000_000
"""Keys; beyond, the oldest are forgotten before their week is over."""
_AT_ONCE = 5_000


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


def forget_requests(connection: Connection, *, now: float, most: int = MOST_KEPT) -> int:
    """Forget some keys that are older than a week, or too many; return how many, 0 once there is nothing to forget.

    A few thousand at a time: whoever writes waits for the end of this transaction.
    """
    n_kept = connection.execute(select(func.count()).select_from(REQUESTS)).scalar() or 0
    oldest = select(REQUESTS.c.key).order_by(REQUESTS.c.at)
    too_many = oldest.limit(min(_AT_ONCE, max(0, n_kept - most)))
    expired = oldest.where(REQUESTS.c.at < now - KEPT_SECONDS).limit(_AT_ONCE)
    keys = [row[0] for query in (too_many, expired) for row in connection.execute(query)]
    return connection.execute(delete(REQUESTS).where(REQUESTS.c.key.in_(set(keys)))).rowcount if keys else 0
