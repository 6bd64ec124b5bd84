"""What can be erased: the features and keys of cases, notes, names and addresses of people, and secrets.

With their content, cases become a table that `defero fit` reads, and can be decided again. `SqlDesk` is what the
commands of one transaction read and keep of it, with the idempotency keys of requests.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from defero.service.events import Entry, Row, to_json
from defero.service.store import contents, log
from defero.service.store.log import (
    ADDRESSES,
    CASES,
    CONTENTS,
    IDENTITIES,
    NOTES,
    REQUESTS,
    SECRETS,
    insert_rows,
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


@dataclass(frozen=True)
class Request:
    """A request with an idempotency key that was done: the digest of its content, and the cases that came of it."""

    digest: str
    cases: tuple[str, ...]


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
        self.requests = read_requests(connection, keys)
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

    def keep_request(self, key: str, digest: str, cases: Sequence[str]) -> None:
        """Remember that a request is done."""
        self.requests[key] = self._new_requests[key] = Request(digest, tuple(cases))

    def flush(self) -> None:
        """Write what was kept."""
        contents.write_contents(self.connection, self._contents)
        contents.write_notes(self.connection, self._notes)
        write_requests(self.connection, self._new_requests, now=self.now)
