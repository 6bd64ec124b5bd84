"""Tokens: random, shown once, kept as a hash, expiring and revocable."""

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from defero.service.store.database import Database
from defero.service.store.saved_views import read_people
from defero.service.store.tables import TOKENS

PREFIX = "defero_"
"""Begins every token, so that scanners of leaked secrets can know it."""
DEFAULT_DAYS = 90.0
REMEMBERED_SECONDS = 1.0
"""A token that another process revokes works for so long at most."""
KEPT_SECONDS = 30 * 86_400.0
"""A token that ended is kept for so long."""
_MOST_REMEMBERED = 10_000


@dataclass(frozen=True)
class Caller:
    """Who makes a request.

    Attributes
    ----------
    person : str
    role : "lead", "expert" or "machine"
    token_id : str
        Which of their tokens it is.
    """

    person: str
    role: str
    token_id: str


def hash_of(token: str) -> str:
    """Return what is stored of a token. 256 random bits need no salt and no slow hash: nobody can guess them."""
    return hashlib.sha256(token.encode()).hexdigest()


def issue_token(connection: Connection, person: str, *, now: float, days: float = DEFAULT_DAYS) -> str:
    """Return a new token of a person; it cannot be shown again."""
    token = PREFIX + secrets.token_urlsafe(32)
    row = {"token_id": secrets.token_hex(8), "hash": hash_of(token), "person": person, "created": now}
    connection.execute(insert(TOKENS), {**row, "expires": now + 86_400 * days})
    return token


def revoke_tokens(connection: Connection, person: str, *, now: float) -> int:
    """Make every token of a person invalid; return how many there were."""
    valid = (TOKENS.c.person == person) & TOKENS.c.revoked.is_(None) & (TOKENS.c.expires > now)
    return connection.execute(update(TOKENS).where(valid).values(revoked=now)).rowcount


def valid_tokens(connection: Connection, *, now: float) -> dict[str, list[float]]:
    """Return until when each person's valid tokens hold."""
    query = select(TOKENS.c.person, TOKENS.c.expires).where(TOKENS.c.revoked.is_(None), TOKENS.c.expires > now)
    by_person: dict[str, list[float]] = {}
    for person, expires in connection.execute(query):
        by_person.setdefault(person, []).append(expires)
    return by_person


def forget_tokens(connection: Connection, *, now: float) -> int:
    """Remove tokens that ended a month ago; return how many there were."""
    long_ago = now - KEPT_SECONDS
    ended = (TOKENS.c.expires < long_ago) | (TOKENS.c.revoked < long_ago)
    return connection.execute(delete(TOKENS).where(ended)).rowcount


class TokenBook:
    """Looks tokens up, and remembers what it saw for a second."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.database, self.clock = database, clock
        self._seen: dict[str, tuple[float, Caller | None]] = {}

    def caller(self, token: str) -> Caller | None:
        """Return who has this token; None where it is unknown, expired or revoked, or the person left."""
        now, key = self.clock(), hash_of(token)
        known = self._seen.get(key)  # once: another thread may forget everything in between
        if known is not None and _holds(known[0], now):
            return known[1]
        if len(self._seen) >= _MOST_REMEMBERED:
            self._seen.clear()
        caller = self._look_up(key, now)
        self._seen[key] = (now + REMEMBERED_SECONDS, caller)
        return caller

    def remembers(self, token: str) -> bool:
        """Whether the token was looked up within the last second."""
        known = self._seen.get(hash_of(token))
        return known is not None and _holds(known[0], self.clock())

    def caller_now(self, token: str) -> Caller | None:
        """Return who has this token, looked up anew; sessions are few, and end at once when they are revoked."""
        return self._look_up(hash_of(token), self.clock())

    def forget(self) -> None:
        """Look everything up again, after a change of this process."""
        self._seen.clear()

    def _look_up(self, key: str, now: float) -> Caller | None:
        with self.database.read() as connection:
            row = connection.execute(select(TOKENS).where(TOKENS.c.hash == key)).first()
            if row is None or row.revoked is not None or row.expires <= now:
                return None
            person = read_people(connection).get(row.person)
        if person is None or person.removed:
            return None
        return Caller(person.person, person.role, row.token_id)


def _holds(until: float, now: float) -> bool:
    """Whether something is remembered still; a clock that was put back does not make it hold longer."""
    return now < until <= now + REMEMBERED_SECONDS
