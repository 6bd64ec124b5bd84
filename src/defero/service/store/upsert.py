"""Insert rows, or replace those whose key is taken; the same words for SQLite and PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, add: str | None = None) -> None:
    """Write rows by their primary key; the column `add` is added to what is there, all others replace it."""
    if not rows:
        return
    build: Any = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = build(table)
    keys = [column.name for column in table.primary_key]
    changed = {
        column.name: table.c[column.name] + statement.excluded[column.name]
        if column.name == add
        else statement.excluded[column.name]
        for column in table.columns
        if column.name not in keys
    }
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), list(rows))
