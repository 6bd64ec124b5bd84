"""What can be erased: the features and keys of cases, notes, names and addresses of people, and secrets.

With their content, cases become a table that `defero fit` reads, and can be decided again.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from defero.service.events.facts import to_json
from defero.service.flow.team import Row, WorkingTeam
from defero.service.flow.what_if import Past
from defero.service.store import log
from defero.service.store.database import Database
from defero.service.store.log import (
    ADDRESSES,
    CONTENTS,
    IDENTITIES,
    NOTES,
    SECRETS,
    insert_rows,
    last_seq,
    read_log,
    upsert_rows,
)
from defero.service.store.saved_views import read_cases


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


_AT_ONCE = 500


def csv_lines(database: Database, team: WorkingTeam) -> Iterator[str]:
    """Yield the lines of the table. Erased cases are left out; a case without an outcome has a blank there.

    An answer that came too late to count is an answer all the same, and is in the table. Each piece is read for
    itself: a client that reads slowly holds no connection.
    """
    with database.read() as connection:
        names, features = read_names(connection), _feature_names(team, connection)
        last = last_seq(connection)
    experts = [names.get(person, person) for person in team.people]
    taken = {*features, *experts}
    yield _line([_free("case", taken), *features, *experts, _free("outcome", taken)])
    after = 0
    while True:
        with database.read() as connection:
            entries = list(read_log(connection, after=after, kinds=("received",), limit=_AT_ONCE))
            cases = [str(entry.case) for entry in entries if entry.seq <= last]
            lines = list(_rows(connection, team, features, cases))
        yield from lines
        if len(cases) < _AT_ONCE:
            return
        after = entries[-1].seq


def _rows(connection: Connection, team: WorkingTeam, features: list[str], cases: list[str]) -> Iterator[str]:
    states, known = read_cases(connection, cases), read_contents(connection, cases)
    for case in cases:
        if case not in known:
            continue
        row, state = known[case][1], states[case]
        cells = [row.get(name) for name in features] if isinstance(row, Mapping) else list(row)
        yield _line([case, *cells, *(state.answer_of(person) for person in team.people), state.outcome])


def _feature_names(team: WorkingTeam, connection: Connection) -> list[str]:
    """Return the columns of the model; x0, x1, ... for one that was fitted on an array."""
    router = team.router
    if router.recipe is not None and router.facts.columns is not None:
        return list(router.recipe.inputs)
    first = connection.execute(select(CONTENTS.c.features).limit(1)).scalar()
    return [f"x{place}" for place in range(0 if first is None else len(json.loads(first)))]


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no feature and no expert has."""
    return name if name not in taken else _free(f"{name}_", taken)


def _line(cells: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["" if cell is None else cell for cell in cells])
    return text.getvalue()


def last_cases(connection: Connection, *, most: int) -> list[Past]:
    """Return the last cases that were not erased, the oldest first."""
    cases = [str(entry.case) for entry in log.last_of_kinds(connection, kinds=("received",), limit=most)]
    states, contents = read_cases(connection, cases), read_contents(connection, cases)
    return [Past(states[case], contents[case][1]) for case in cases if case in contents]
