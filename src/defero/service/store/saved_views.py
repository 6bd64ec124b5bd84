"""The views in their tables: opened as a `Ledger` for a transaction, written back, and rebuilt from the log."""

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import orjson
from sqlalchemy import Connection, delete, select

from defero.service.events import ModelChanged, ModelLoaded
from defero.service.events.entry import to_json
from defero.service.store import log
from defero.service.store.bulk import upsert_rows
from defero.service.store.tables import CASES, PEOPLE, SETTINGS, TALLIES, VIEWS
from defero.service.views.cases import CaseState
from defero.service.views.drift import DriftBook
from defero.service.views.hooks import Hook
from defero.service.views.language_models import LanguageModel
from defero.service.views.ledger import Ledger
from defero.service.views.people import Person
from defero.service.views.policy import Policy
from defero.service.views.studio import Studio
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
    settings = dict(connection.execute(select(SETTINGS.c.name, SETTINGS.c.state)).all())
    if "policy" in settings:
        saved = json.loads(settings["policy"])
        ledger.policy = Policy.from_dict(saved["policy"], version=saved["version"])
    if "model" in settings:
        ledger.model = ModelChanged(**_model(settings["model"]))
    if settings.get("candidate", "null") != "null":
        ledger.candidate = ModelLoaded(**_model(settings["candidate"]))
    if "hooks" in settings:
        ledger.hooks = _hooks(settings["hooks"])
    if "language_models" in settings:
        ledger.language_models = _language_models(settings["language_models"])
    if settings.get("studio", "null") != "null":
        ledger.studio = Studio.from_dict(json.loads(settings["studio"]))
    if "drift" in settings:
        ledger.drift = DriftBook(orjson.loads(settings["drift"]))
    asked = select(TALLIES.c.person, TALLIES.c.amount).where(TALLIES.c.day == day_of(now), TALLIES.c.name == "asked")
    ledger.asked_today.update(dict(connection.execute(asked).all()))
    return ledger


def read_people(connection: Connection) -> dict[str, Person]:
    """Return everybody by id, in the order in which they joined."""
    rows = connection.execute(select(PEOPLE.c.person, PEOPLE.c.state)).all()
    people = {person: Person(**json.loads(state)) for person, state in rows}
    return dict(sorted(people.items(), key=lambda item: int(item[0][1:])))


def read_language_models(connection: Connection) -> dict[str, LanguageModel]:
    """Return the experts whose questions a language model answers."""
    saved = connection.execute(select(SETTINGS.c.state).where(SETTINGS.c.name == "language_models")).scalar()
    return {} if saved is None else _language_models(saved)


def read_hooks(connection: Connection) -> dict[str, Hook]:
    """Return the webhooks."""
    saved = connection.execute(select(SETTINGS.c.state).where(SETTINGS.c.name == "hooks")).scalar()
    return {} if saved is None else _hooks(saved)


def read_studio(connection: Connection) -> Studio | None:
    """Return the project of Label Studio in which experts answer."""
    saved = connection.execute(select(SETTINGS.c.state).where(SETTINGS.c.name == "studio")).scalar()
    return None if saved in (None, "null") else Studio.from_dict(json.loads(saved))


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
    settings = []
    if "policy" in ledger.touched_settings:
        policy = {"policy": ledger.policy.to_dict(), "version": ledger.policy.version}
        settings.append(("policy", to_json(policy)))
    if "model" in ledger.touched_settings and ledger.model is not None:
        settings.append(("model", to_json(vars(ledger.model))))
    if "candidate" in ledger.touched_settings:
        beside = None if ledger.candidate is None else vars(ledger.candidate)
        settings.append(("candidate", to_json(beside)))
    if "hooks" in ledger.touched_settings:
        hooks = {hook: vars(one) for hook, one in ledger.hooks.items()}
        settings.append(("hooks", to_json(hooks)))
    if "language_models" in ledger.touched_settings:
        models = {person: vars(one) for person, one in ledger.language_models.items()}
        settings.append(("language_models", to_json(models)))
    if "studio" in ledger.touched_settings:
        studio = None if ledger.studio is None else vars(ledger.studio)
        settings.append(("studio", to_json(studio)))
    if "drift" in ledger.touched_settings:
        settings.append(("drift", to_json(ledger.drift.plain())))
    upsert_rows(connection, SETTINGS, settings)
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


def _hooks(saved: str) -> dict[str, Hook]:
    return {hook: Hook.from_dict(one) for hook, one in json.loads(saved).items()}


def _language_models(saved: str) -> dict[str, LanguageModel]:
    return {person: LanguageModel.from_dict(one) for person, one in json.loads(saved).items()}


def _model(saved: str) -> dict[str, Any]:
    values = json.loads(saved)
    known = {one.name: values[one.name] for one in fields(ModelChanged) if one.name in values}
    return {**known, "classes": tuple(known["classes"]), "experts": tuple(known["experts"])}
