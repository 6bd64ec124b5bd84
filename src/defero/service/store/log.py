"""The log: entries in, entries out."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Select, select

from defero.service.events import Entry
from defero.service.store.tables import EVENTS, insert_rows

_COLUMNS = (EVENTS.c.seq, EVENTS.c.at, EVENTS.c.case_id, EVENTS.c.kind, EVENTS.c.body)
_AT_ONCE = 2_000
_LAST = f"SELECT max({EVENTS.c.seq.name}) FROM {EVENTS.name}"


def append(connection: Connection, entries: Sequence[Entry]) -> None:
    """Write entries at the end; a number that is taken already fails, and with it the transaction."""
    rows = [(one.seq, one.at, one.fact.kind, one.case, one.person, one.body()) for one in entries]
    insert_rows(connection, EVENTS, rows)


def last_seq(connection: Connection) -> int:
    """Return the number of the last entry; 0 where there is none."""
    return int(connection.exec_driver_sql(_LAST).scalar() or 0)


def read_log(
    connection: Connection, *, after: int = 0, kinds: Sequence[str] | None = None, limit: int | None = None
) -> Iterator[Entry]:
    """Yield entries in their order, from the one after a number on, a few thousand at a time."""
    left = float("inf") if limit is None else limit
    while left > 0:
        size = int(min(left, _AT_ONCE))
        query = select(*_COLUMNS).where(EVENTS.c.seq > after).order_by(EVENTS.c.seq).limit(size)
        if kinds is not None:
            query = query.where(EVENTS.c.kind.in_(kinds))
        piece = _entries(connection, query)
        yield from piece
        if len(piece) < size:
            return
        after, left = piece[-1].seq, left - size


def of_cases(connection: Connection, cases: Iterable[str], *, kinds: Sequence[str] | None = None) -> list[Entry]:
    """Return the entries about some cases, in their order."""
    query = select(*_COLUMNS).where(EVENTS.c.case_id.in_(list(cases))).order_by(EVENTS.c.seq)
    return _entries(connection, query if kinds is None else query.where(EVENTS.c.kind.in_(kinds)))


def last_of_kinds(connection: Connection, *, kinds: Sequence[str], limit: int) -> list[Entry]:
    """Return the last entries of some kinds, in their order."""
    query = select(*_COLUMNS).where(EVENTS.c.kind.in_(kinds)).order_by(EVENTS.c.seq.desc()).limit(limit)
    return _entries(connection, query)[::-1]


def _entries(connection: Connection, query: Select[Any]) -> list[Entry]:
    return [Entry.read(*row) for row in connection.execute(query).all()]
