"""What can be erased: the features and keys of cases, notes, and the names of people."""

import json
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select

from defero.service.events.entry import to_json
from defero.service.flow.team import Row
from defero.service.store.tables import CONTENTS, IDENTITIES, NOTES
from defero.service.store.upsert import upsert


def write_contents(connection: Connection, contents: Mapping[str, tuple[str | None, Row]]) -> None:
    """Keep the key and the features of new cases."""
    if contents:
        rows = [{"case_id": case, "key": key, "features": to_json(row)} for case, (key, row) in contents.items()]
        connection.execute(insert(CONTENTS), rows)


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
    if notes:
        connection.execute(insert(NOTES), [{"seq": seq, "case_id": case, "text": words} for seq, case, words in notes])


def read_notes(connection: Connection, case: str) -> dict[int, str]:
    """Return what people wrote about a case, by the number of the entry."""
    query = select(NOTES.c.seq, NOTES.c.text).where(NOTES.c.case_id == case)
    return dict(connection.execute(query).all())


def read_names(connection: Connection) -> dict[str, str]:
    """Return everybody's name by id."""
    return dict(connection.execute(select(IDENTITIES.c.person, IDENTITIES.c.name)).all())


def write_names(connection: Connection, names: Mapping[str, str]) -> None:
    """Set the names of people."""
    upsert(connection, IDENTITIES, [{"person": person, "name": name} for person, name in names.items()])
