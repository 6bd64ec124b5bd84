"""People from the command line: beside a running service, on its database."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from defero.core.errors import InputError
from defero.core.wording import did_you_mean
from defero.service.access.tokens import issue_link, issue_token, revoke_tokens, signing_key, valid_tokens
from defero.service.events import PersonChanged
from defero.service.office import SYSTEM
from defero.service.store.contents import read_names, write_names
from defero.service.store.database import Database, database_url, migrate
from defero.service.store.saved_views import open_ledger, read_people, save_ledger
from defero.service.views.policy import ROLES


def add_with_token(database: str, name: str, role: str, *, days: float, now: float) -> tuple[str, str]:
    """Return the id and a new token of a person, who is added if they are new."""
    if role not in ROLES:
        raise InputError(f"must be one of {', '.join(ROLES)}, got {role!r}.", argument="role")
    if not name.strip() or not name.isprintable() or len(name) > 200:
        raise InputError(f"must be a text of 1 to 200 printable characters, got {name!r:.40}.", argument="name")
    where = Database.connect(database)
    migrate(where)
    with where.write() as connection:
        ledger, person = open_ledger(connection, now=now), _person(connection, name)
        if person is None:
            person = f"p{1 + max((int(one[1:]) for one in ledger.people), default=0)}"
            write_names(connection, {person: name})
            ledger.add(PersonChanged(person=person, change={"role": role}, by=SYSTEM))
            save_ledger(connection, ledger)
        elif ledger.people[person].role != role:
            raise InputError(f"{name} is {ledger.people[person].role} already; choose another name.", argument="name")
        elif ledger.people[person].removed:
            raise InputError(f"{name} left the team; choose another name.", argument="name")
        token = issue_token(connection, person, now=now, days=days)
    where.close()
    return person, token


def link_of(database: str, person: str, *, days: float, now: float) -> str:
    """Return the path of a new link of a person, which opens their pages in a browser."""
    where = Database.connect(database)
    with where.write() as connection:
        path = issue_link(connection, signing_key(connection), person, now=now, days=days)
    where.close()
    return path


def people_with_tokens(database: str, *, now: float) -> list[dict[str, Any]]:
    """Return everybody, with the number of their valid tokens."""
    _check_there(database)
    where = Database.connect(database)
    migrate(where)
    with where.read() as connection:
        people, names, tokens = read_people(connection), read_names(connection), valid_tokens(connection, now=now)
    where.close()
    return [
        {**vars(one), "name": names.get(person, person), "tokens": len(tokens.get(person, ()))}
        for person, one in people.items()
    ]


def revoke_all(database: str, name: str, *, now: float) -> int:
    """Make every token of a person, by name or id, invalid; return how many there were."""
    _check_there(database)
    where = Database.connect(database)
    migrate(where)
    with where.write() as connection:
        person = _person(connection, name)
        if person is None:
            offer = did_you_mean(name, read_names(connection).values())
            raise InputError(f": there is nobody called {name!r}{offer}", argument="name")
        revoked = revoke_tokens(connection, person, now=now)
    where.close()
    return revoked


def _check_there(database: str) -> None:
    """Raise where there is no such file: a misspelt name would make an empty database."""
    url = database_url(database)
    file = url.database if url.get_backend_name() == "sqlite" else None
    if file is not None and not file.startswith("file:") and not Path(file).exists():
        raise InputError(f": there is no file {file}; `defero serve` prints where cases are kept.", argument="database")


def _person(connection: Connection, name: str) -> str | None:
    names = read_names(connection)
    return name if name in names else next((person for person, known in names.items() if known == name), None)
