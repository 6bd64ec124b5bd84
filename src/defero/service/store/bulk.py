"""Rows into a table: the SQL is made once for each table and database, the rows are tuples in the order of the columns.

SQLAlchemy builds a dictionary of parameters for each row, which took longer than the database needs for the row.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

Rows = Sequence[tuple[Any, ...]]
"""Values in the order of the columns of a table."""


def insert_rows(connection: Connection, table: Table, rows: Rows) -> None:
    """Write new rows; one whose key is taken fails, and with it the transaction."""
    if rows:
        connection.exec_driver_sql(_insert(connection.dialect.name, table), list(rows))


def upsert_rows(connection: Connection, table: Table, rows: Rows, *, add: str | None = None) -> None:
    """Write rows by their primary key; the column `add` is added to what is there, all others replace it."""
    if rows:
        connection.exec_driver_sql(_upsert(connection.dialect.name, table, add), list(rows))


@lru_cache(maxsize=64)
def _insert(backend: str, table: Table) -> str:
    dialect, build = _tools(backend)
    return _in_order(build(table).compile(dialect=dialect), table)


@lru_cache(maxsize=64)
def _upsert(backend: str, table: Table, add: str | None) -> str:
    dialect, build = _tools(backend)
    statement = build(table)
    keys = [column.name for column in table.primary_key]
    changed = {
        column.name: table.c[column.name] + statement.excluded[column.name]
        if column.name == add
        else statement.excluded[column.name]
        for column in table.columns
        if column.name not in keys
    }
    written = statement.on_conflict_do_update(index_elements=keys, set_=changed)
    return _in_order(written.compile(dialect=dialect), table)


def _tools(backend: str) -> tuple[Any, Any]:
    """Return a dialect whose parameters go by their place, and its insert."""
    if backend == "postgresql":
        return postgresql.dialect(paramstyle="format"), postgresql.insert  # type: ignore[no-untyped-call]  # theirs
    return sqlite.dialect(paramstyle="qmark"), sqlite.insert


def _in_order(compiled: Any, table: Table) -> str:
    assert compiled.positiontup == [column.name for column in table.columns]
    return str(compiled)
