"""What can be erased: the features and keys of cases, notes, names and addresses of people, and secrets."""

import json
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select

from defero.service.events.entry import to_json
from defero.service.flow.team import Row
from defero.service.store.tables import ADDRESSES, CONTENTS, IDENTITIES, NOTES, SECRETS, insert_rows, upsert_rows


def write_contents(connection: Connection, contents: Mapping[str, tuple[str | None, Row]]) -> None:
    """Keep the key and the features of new cases."""
    insert_rows(connection, CONTENTS, [(case, key, to_json(row)) for case, (key, row) in contents.items()])


def read_contents(connection: Connection, cases: Iterable[str]) -> dict[str, tuple[str | None, Row]]:
    """Return the key and the features of some cases; those that were erased are left out."""
    query = select(CONTENTS.c.case_id, CONTENTS.c.key, CONTENTS.c.features).where(CONTENTS.c.case_id.in_(list(cases)))
    return {case: (key, json.loads(features)) for case, key, features in connection.execute(query)}


def erase_case(connection: Connection, case: str) -> None:
    """Remove the features, the key and the notes of a case."""
    for table in (CONTENTS, NOTES):
        connection.execute(delete(table).where(table.c.case_id == case))


def write_notes(connection: Connection, notes: Sequence[tuple[int, str, str]]) -> None:
    """Keep what people wrote: the number of the entry, the case, the text."""
    insert_rows(connection, NOTES, notes)


def read_notes(connection: Connection, case: str) -> dict[int, str]:
    """Return what people wrote about a case, by the number of the entry."""
    query = select(NOTES.c.seq, NOTES.c.text).where(NOTES.c.case_id == case)
    return dict(connection.execute(query).all())


def read_names(connection: Connection) -> dict[str, str]:
    """Return everybody's name by id."""
    return dict(connection.execute(select(IDENTITIES.c.person, IDENTITIES.c.name)).all())


def write_names(connection: Connection, names: Mapping[str, str]) -> None:
    """Set the names of people."""
    upsert_rows(connection, IDENTITIES, list(names.items()))


def read_addresses(connection: Connection) -> dict[str, str]:
    """Return e-mail addresses by person."""
    return dict(connection.execute(select(ADDRESSES.c.person, ADDRESSES.c.email)).all())


def write_addresses(connection: Connection, addresses: Mapping[str, str]) -> None:
    """Replace all e-mail addresses."""
    connection.execute(delete(ADDRESSES))
    insert_rows(connection, ADDRESSES, list(addresses.items()))


def forget_address(connection: Connection, person: str) -> None:
    """Remove the e-mail address of a person."""
    connection.execute(delete(ADDRESSES).where(ADDRESSES.c.person == person))


def read_secret(connection: Connection, name: str) -> bytes | None:
    """Return a secret of the service; None where there is none of this name."""
    value = connection.execute(select(SECRETS.c.value).where(SECRETS.c.name == name)).scalar()
    return None if value is None else bytes(value)


def write_secret(connection: Connection, name: str, value: bytes) -> bytes:
    """Keep a new secret, and return it."""
    connection.execute(insert(SECRETS), {"name": name, "value": value})
    return value


def forget_secret(connection: Connection, name: str) -> None:
    """Remove a secret."""
    connection.execute(delete(SECRETS).where(SECRETS.c.name == name))
