"""The tables, and the log: entries in, entries out.

`events` is the truth; `cases`, `people`, `settings` and `tallies` are views of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    LargeBinary,
    MetaData,
    Select,
    String,
    Table,
    Text,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from defero.service.events import Entry

METADATA = MetaData()
_ID, _NAME = String(40), String(200)

EVENTS = Table(
    "events",
    METADATA,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("case_id", _ID),
    Column("person", _ID),
    Column("body", Text, nullable=False),
    Index("events_by_case", "case_id", "seq"),
    Index("events_by_kind", "kind", "seq"),
    Index("events_by_person", "person", "seq"),
)
"""Append-only: triggers refuse every change and deletion."""

CONTENTS = Table(
    "contents",
    METADATA,
    Column("case_id", _ID, primary_key=True),
    Column("key", _NAME),
    Column("features", Text, nullable=False),
)
"""What may be personal about a case, and can be erased: the client's own key and the features as JSON."""

NOTES = Table(
    "notes",
    METADATA,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("case_id", _ID, nullable=False, index=True),
    Column("text", Text, nullable=False),
)
"""What people wrote about a case, by the entry that it belongs to; erased with the case."""

IDENTITIES = Table(
    "identities",
    METADATA,
    Column("person", _ID, primary_key=True),
    Column("name", _NAME, nullable=False, unique=True),
)
"""Names of people; replaced when somebody is erased."""

ADDRESSES = Table(
    "addresses",
    METADATA,
    Column("person", _ID, primary_key=True),
    Column("email", _NAME, nullable=False, unique=True),
)
"""E-mail addresses, by which answers in other tools are somebody's; removed when they are erased."""

REQUESTS = Table(
    "requests",
    METADATA,
    Column("key", String(320), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("at", Double, nullable=False),
    Column("cases", Text, nullable=False),
    Index("requests_by_time", "at"),
)
"""Idempotency keys: whose, of what content, and which cases came of it."""

TOKENS = Table(
    "tokens",
    METADATA,
    Column("token_id", _ID, primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("person", _ID, nullable=False, index=True),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("revoked", Double),
)
"""Tokens as SHA-256 of 256 random bits; the token itself is shown once and never stored."""

SECRETS = Table(
    "secrets", METADATA, Column("name", _ID, primary_key=True), Column("value", LargeBinary, nullable=False)
)
"""The key that signs sessions and links."""

CASES = Table(
    "cases",
    METADATA,
    Column("case_id", _ID, primary_key=True),
    Column("received_at", Double, nullable=False),
    Column("asked", _ID),
    Column("asked_at", Double),
    Column("due", Double),
    Column("settled_at", Double),
    Column("erased", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    Index("cases_by_question", "asked", "asked_at"),
    Index("cases_by_due", "due"),
)
"""View: `views.cases.CaseState` as JSON, and the columns that queues look for."""

PEOPLE = Table("people", METADATA, Column("person", _ID, primary_key=True), Column("state", Text, nullable=False))
"""View: `views.people.Person` as JSON."""

SETTINGS = Table("settings", METADATA, Column("name", _ID, primary_key=True), Column("state", Text, nullable=False))
"""View: the last `PolicyChanged` and `ModelChanged`, and how promises are kept (`views.drift`)."""

TALLIES = Table(
    "tallies",
    METADATA,
    Column("day", String(10), primary_key=True),
    Column("person", _ID, primary_key=True),
    Column("name", _ID, primary_key=True),
    Column("amount", BigInteger, nullable=False),
)
"""View: `views.tallies`."""

VIEWS = (CASES, PEOPLE, SETTINGS, TALLIES)
"""What `rebuild` empties and writes again."""


Rows = Sequence[tuple[Any, ...]]
"""Values in the order of the columns of a table."""


def insert_rows(connection: Connection, table: Table, rows: Rows) -> None:
    """Write new rows; one whose key is taken fails, and with it the transaction."""
    if rows:
        connection.exec_driver_sql(_statement(connection.dialect.name, table), list(rows))


def upsert_rows(connection: Connection, table: Table, rows: Rows, *, add: str | None = None) -> None:
    """Write rows by their primary key; the column `add` is added to what is there, all others replace it."""
    if rows:
        connection.exec_driver_sql(_statement(connection.dialect.name, table, replace=True, add=add), list(rows))


@lru_cache(maxsize=64)
def _statement(backend: str, table: Table, *, replace: bool = False, add: str | None = None) -> str:
    """Return an insert whose parameters go by their place, in the order of the columns."""
    theirs: Any = postgresql if backend == "postgresql" else sqlite
    style = "format" if backend == "postgresql" else "qmark"
    statement = theirs.insert(table)
    keys = [column.name for column in table.primary_key]
    changed = {
        column.name: table.c[column.name] + statement.excluded[column.name]
        if column.name == add
        else statement.excluded[column.name]
        for column in table.columns
        if column.name not in keys
    }
    if replace:
        statement = statement.on_conflict_do_update(index_elements=keys, set_=changed)
    compiled = statement.compile(dialect=theirs.dialect(paramstyle=style))
    assert compiled.positiontup == [column.name for column in table.columns]
    return str(compiled)


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
