"""What can be erased: the features and keys of cases, notes, names and addresses of people, and secrets.

With their content, cases become a table that `defero fit` reads, and can be decided again. `SqlDesk` is what the
commands of one transaction read and keep of it, with the idempotency keys of requests.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from defero.service.events import Entry, to_json
from defero.service.flow.command import Request
from defero.service.flow.team import Row, WorkingTeam
from defero.service.flow.what_if import Past
from defero.service.store import contents, log
from defero.service.store.database import Database
from defero.service.store.log import (
    ADDRESSES,
    CASES,
    CONTENTS,
    IDENTITIES,
    NOTES,
    REQUESTS,
    SECRETS,
    insert_rows,
    last_seq,
    read_log,
    upsert_rows,
)
from defero.service.store.saved_views import read_cases
from defero.service.views.cases import CaseState


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


KEPT_SECONDS = 7 * 86_400.0
"""A key is forgotten after a week."""
MOST_KEPT = 1_000_000
"""Keys; beyond, the oldest are forgotten before their week is over."""
_FORGOTTEN_AT_ONCE = 5_000


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
    too_many = oldest.limit(min(_FORGOTTEN_AT_ONCE, max(0, n_kept - most)))
    expired = oldest.where(REQUESTS.c.at < now - KEPT_SECONDS).limit(_FORGOTTEN_AT_ONCE)
    keys = [row[0] for query in (too_many, expired) for row in connection.execute(query)]
    return connection.execute(delete(REQUESTS).where(REQUESTS.c.key.in_(set(keys)))).rowcount if keys else 0


_AT_ONCE = 1_000


class SqlDesk:
    """What commands read and keep, in one transaction; written by `flush`.

    Parameters
    ----------
    connection : Connection
    now : float
    keys : texts
        Idempotency keys of the round, looked up together.
    names : mapping, optional
        Everybody's name by id, where that is known already.
    """

    def __init__(
        self, connection: Connection, *, now: float, keys: Iterable[str] = (), names: dict[str, str] | None = None
    ) -> None:
        self.connection, self.now = connection, now
        self._requests = read_requests(connection, keys)
        self._new_requests: dict[str, Request] = {}
        self._contents: dict[str, tuple[str | None, Row]] = {}
        self._notes: list[tuple[int, str, str]] = []
        self._names = names

    def states(self, cases: Sequence[str]) -> dict[str, CaseState]:
        """Return where some cases stand."""
        return read_cases(self.connection, cases)

    def rows(self, cases: Sequence[str]) -> dict[str, Row]:
        """Return the features of some cases."""
        known = contents.read_contents(self.connection, cases) if cases else {}
        return {case: row for case, (_, row) in known.items()}

    def keep_rows(self, new: Mapping[str, tuple[str | None, Row]]) -> None:
        """Keep the key and the features of new cases."""
        self._contents.update(new)

    def names(self) -> dict[str, str]:
        """Return everybody's name by id."""
        if self._names is None:
            self._names = contents.read_names(self.connection)
        return self._names

    def set_name(self, person: str, name: str) -> None:
        """Set the name of a person."""
        self.names()[person] = name
        contents.write_names(self.connection, {person: name})

    def set_addresses(self, addresses: Mapping[str, str]) -> None:
        """Replace all e-mail addresses."""
        contents.write_addresses(self.connection, addresses)

    def forget_address(self, person: str) -> None:
        """Remove the e-mail address of a person."""
        contents.forget_address(self.connection, person)

    def keep_note(self, entry: Entry, words: str) -> None:
        """Keep what somebody wrote about a case."""
        assert entry.case is not None
        self._notes.append((entry.seq, entry.case, words))

    def erase_case(self, case: str) -> None:
        """Remove the content of a case."""
        self._contents.pop(case, None)
        self._notes = [note for note in self._notes if note[1] != case]  # of the same round
        contents.erase_case(self.connection, case)

    def first_entries(self, cases: Iterable[str]) -> dict[str, list[Entry]]:
        """Return what the log has of some cases, from the beginning."""
        by_case: dict[str, list[Entry]] = {}
        for entry in log.of_cases(self.connection, cases, kinds=("received", "asked", "observed", "settled")):
            by_case.setdefault(str(entry.case), []).append(entry)
        return by_case

    def history(self, case: str) -> list[Entry]:
        """Return all entries about a case that are in the log."""
        return log.of_cases(self.connection, [case])

    def open_questions(
        self, *, due_before: float | None = None, person: str | None = None, people: Iterable[str] | None = None
    ) -> list[str]:
        """Return the cases whose question is due, or is with a person, or with one of some people."""
        in_order = (CASES.c.asked_at, func.length(CASES.c.case_id), CASES.c.case_id)  # c9 before c10
        query = select(CASES.c.case_id).where(CASES.c.asked.is_not(None)).order_by(*in_order).limit(_AT_ONCE)
        if due_before is not None:
            query = query.where(CASES.c.due <= due_before)
        if person is not None:
            query = query.where(CASES.c.asked == person)
        if people is not None:
            query = query.where(CASES.c.asked.in_(list(people)))
        return [row[0] for row in self.connection.execute(query)]

    def request(self, key: str) -> Request | None:
        """Return the request of an idempotency key."""
        return self._requests.get(key)

    def keep_request(self, key: str, digest: str, cases: Sequence[str]) -> None:
        """Remember that a request is done."""
        self._requests[key] = self._new_requests[key] = Request(digest, tuple(cases))

    def flush(self) -> None:
        """Write what was kept."""
        contents.write_contents(self.connection, self._contents)
        contents.write_notes(self.connection, self._notes)
        write_requests(self.connection, self._new_requests, now=self.now)
