"""The views in their tables: opened as a `Ledger` for a transaction, written back, and rebuilt from the log."""

import json
from collections.abc import Iterable
from typing import Any

import orjson
from sqlalchemy import Connection, delete, select

from defero.service.events import to_json
from defero.service.store import log
from defero.service.store.log import CASES, PEOPLE, SETTINGS, TALLIES, VIEWS, upsert_rows
from defero.service.views import SETTINGS as SAVED
from defero.service.views import Ledger
from defero.service.views.cases import CaseState
from defero.service.views.connections import CalledModel, Hook, Studio
from defero.service.views.policy import Person
from defero.service.views.tallies import day_of


def open_ledger(
    connection: Connection, *, now: float, cases: Iterable[str] = (), before: Ledger | None = None
) -> Ledger:
    """Return the views that a transaction needs: everybody, the policy, the model, and the cases named.

    Where nothing was written and no day has begun since the ledger `before`, only the cases are read.
    """
    seq = log.last_seq(connection)
    ledger = None if before is None or before.seq != seq else before.following(now)
    if ledger is None:
        ledger = _read_ledger(connection, seq, now)
    ledger.cases.update(read_cases(connection, cases))
    return ledger


def _read_ledger(connection: Connection, seq: int, now: float) -> Ledger:
    ledger = Ledger(seq, now, people=read_people(connection))
    for name, state in connection.execute(select(SETTINGS.c.name, SETTINGS.c.state)):
        if (value := _setting(name, state)) is not None:
            setattr(ledger, name, value)
    questions = select(TALLIES.c.person, TALLIES.c.amount).where(
        TALLIES.c.day == day_of(now), TALLIES.c.name == "asked"
    )
    ledger.asked_today.update(dict(connection.execute(questions).all()))
    return ledger


def read_people(connection: Connection) -> dict[str, Person]:
    """Return everybody by id, in the order in which they joined."""
    rows = connection.execute(select(PEOPLE.c.person, PEOPLE.c.state)).all()
    people = {person: Person(**json.loads(state)) for person, state in rows}
    return dict(sorted(people.items(), key=lambda item: int(item[0][1:])))


def read_language_models(connection: Connection) -> dict[str, CalledModel]:
    """Return the experts whose questions a language model answers."""
    return _read_setting(connection, "language_models") or {}


def read_hooks(connection: Connection) -> dict[str, Hook]:
    """Return the webhooks."""
    return _read_setting(connection, "hooks") or {}


def read_studio(connection: Connection) -> Studio | None:
    """Return the project of Label Studio in which experts answer."""
    return _read_setting(connection, "studio")


def read_cases(connection: Connection, cases: Iterable[str]) -> dict[str, CaseState]:
    """Return where some cases stand; those that do not exist are left out."""
    wanted = list(dict.fromkeys(cases))
    if not wanted:
        return {}
    rows = connection.execute(select(CASES.c.case_id, CASES.c.state).where(CASES.c.case_id.in_(wanted)))
    return {case: CaseState.from_dict(json.loads(state)) for case, state in rows}


def save_ledger(connection: Connection, ledger: Ledger) -> None:
    """Append the new entries, and bring the views up to them."""
    log.append(connection, ledger.entries)
    write_views(connection, ledger)


def write_views(connection: Connection, ledger: Ledger) -> None:
    """Write the views that changed."""
    upsert_rows(connection, CASES, [_case_row(ledger.cases[case]) for case in sorted(ledger.touched_cases)])
    people = [(one, to_json(vars(ledger.people[one]))) for one in sorted(ledger.touched_people)]
    upsert_rows(connection, PEOPLE, people)
    settings = ledger.settings(ledger.touched_settings)
    upsert_rows(connection, SETTINGS, [(name, to_json(value)) for name, value in settings.items()])
    rows = [(*tally, amount) for tally, amount in sorted(ledger.counts.items())]
    upsert_rows(connection, TALLIES, rows, add="amount")


def fold_log(connection: Connection) -> Ledger:
    """Return all views as the log alone gives them."""
    ledger = Ledger()
    for entry in log.read_log(connection):
        ledger.apply(entry)
    return ledger


def read_views(connection: Connection) -> Ledger:
    """Return all views as their tables have them."""
    ledger = open_ledger(connection, now=0.0)
    for case, state in connection.execute(select(CASES.c.case_id, CASES.c.state)):
        ledger.cases[case] = CaseState.from_dict(json.loads(state))
    for row in connection.execute(select(TALLIES)):
        ledger.counts[row.day, row.person, row.name] = row.amount
    return ledger


def rebuild(connection: Connection) -> None:
    """Empty the tables of the views and fill them from the log."""
    for table in VIEWS:
        connection.execute(delete(table))
    write_views(connection, fold_log(connection))


def _case_row(state: CaseState) -> tuple[object, ...]:
    """Return the values of `CASES`, in the order of its columns."""
    times = (state.asked_at, state.due, state.settled_at)
    return (state.case, state.received_at, state.asked, *times, state.erased, to_json(state.to_dict()))


def _setting(name: str, state: str) -> Any:
    saved = orjson.loads(state)
    return None if saved is None else SAVED[name].read(saved)


def _read_setting(connection: Connection, name: str) -> Any:
    state = connection.execute(select(SETTINGS.c.state).where(SETTINGS.c.name == name)).scalar()
    return None if state is None else _setting(name, state)
