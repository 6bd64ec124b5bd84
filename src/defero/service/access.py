"""Access: which role may call which route and how often; tokens, signed links, cookie sessions and CSRF tokens.

A route that does not say who may call it is closed; `GuardedRoute` enforces it. Tokens are shown once and kept as a
hash. A link or session holds a token of its own, of which the database has the hash alone: whoever reads the database,
and with it the key, can sign but has nothing to sign. Revoking the tokens of a person ends them all. Pages set the
cookie (`SESSION_COOKIE`) from a link; every request that changes something by cookie must carry the CSRF token of its
session in `CSRF_HEADER`.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from defero.service.store.contents import read_secret, write_secret
from defero.service.store.database import Database
from defero.service.store.log import TOKENS
from defero.service.store.saved_views import read_people

LEAD, EXPERT = frozenset({"lead"}), frozenset({"expert"})
WITH_PROGRAMS, PEOPLE = LEAD | {"machine"}, LEAD | EXPERT
EVERYBODY = PEOPLE | WITH_PROGRAMS

OPEN = frozenset({"GET /health", "GET /openapi.json"})
"""Routes without a token; they tell nothing of cases or people."""
OPEN_PAGES = frozenset({"GET /in/{link}", "GET /assets/{name}"})
"""Pages without a session: the signed link that makes one, and the style of the pages."""
WITH_SECRET = {"POST /v1/label-studio/annotations": ("Defero-Secret", "label_studio")}
"""Routes that other servers call with a secret: the header that holds it, and its name in the database."""

ALLOWED: dict[str, frozenset[str]] = {}
"""Roles by method and route, as each route of `web/` says.

Experts see and change what is theirs alone: their questions, cases they were asked about, their own availability; for
anything else they get the reply of a thing that does not exist."""
PAGES: dict[str, frozenset[str]] = {}
"""The same of the pages that people open in a browser."""


RATES: Mapping[str, tuple[float, float]] = {
    "machine": (2_000.0, 4_000.0),
    "lead": (50.0, 200.0),
    "expert": (20.0, 100.0),
    "nobody": (5.0, 50.0),
}
"""Requests a second, and the most at once, by role; whoever shows no valid token counts by address."""
_MOST_CALLERS = 10_000


class RateLimit:
    """Counts requests by caller.

    >>> limit = RateLimit({"expert": (1.0, 2.0)}, clock=lambda: 0.0)
    >>> [limit.allows("t1", "expert") for _ in range(3)]
    [True, True, False]
    """

    def __init__(
        self, rates: Mapping[str, tuple[float, float]] = RATES, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rates, self.clock = rates, clock
        self._left: dict[str, tuple[float, float]] = {}

    def allows(self, who: str, role: str) -> bool:
        """Whether a caller may make one more request now."""
        rate, most = self.rates[role]
        now = self.clock()
        left, before = self._left.get(who, (most, now))
        left = min(most, left + (now - before) * rate)
        if who not in self._left and len(self._left) >= _MOST_CALLERS:
            self._left.clear()  # a flood of addresses: everybody begins again
        self._left[who] = (left - 1 if left >= 1 else left, now)
        return left >= 1


PREFIX = "defero_"
"""Begins every token, so that scanners of leaked secrets can know it."""
DEFAULT_DAYS = 90.0
REMEMBERED_SECONDS = 1.0
"""A token that another process revokes works for so long at most."""
KEPT_SECONDS = 30 * 86_400.0
"""A token that ended is kept for so long."""
_MOST_REMEMBERED = 10_000
_DAY = 86_400
_SESSION = "session-"
_IS_SESSION = TOKENS.c.token_id.startswith(_SESSION)


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


def issue_token(connection: Connection, person: str, *, now: float, days: float = DEFAULT_DAYS, mark: str = "") -> str:
    """Return a new token of a person; it cannot be shown again. Its id begins with `mark`."""
    token = PREFIX + secrets.token_urlsafe(32)
    row = {"token_id": mark + secrets.token_hex(8), "hash": hash_of(token), "person": person, "created": now}
    connection.execute(insert(TOKENS), {**row, "expires": now + _DAY * days})
    return token


def revoke_tokens(connection: Connection, person: str, *, now: float) -> int:
    """Make every token of a person invalid; return how many there were."""
    valid = (TOKENS.c.person == person) & TOKENS.c.revoked.is_(None) & (TOKENS.c.expires > now)
    return connection.execute(update(TOKENS).where(valid).values(revoked=now)).rowcount


def valid_tokens(connection: Connection, *, now: float) -> dict[str, list[float]]:
    """Return until when each person's valid tokens and links hold."""
    valid = TOKENS.c.revoked.is_(None) & (TOKENS.c.expires > now) & ~_IS_SESSION
    query = select(TOKENS.c.person, TOKENS.c.expires).where(valid)
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


SESSION_COOKIE = "defero_session"
CSRF_HEADER = "x-csrf-token"
_NAME = "signing"


def signing_key(connection: Connection) -> bytes:
    """Return the key that signs for this database; made when it is first asked for, in a writing transaction."""
    return read_secret(connection, _NAME) or write_secret(connection, _NAME, secrets.token_bytes(32))


def sign(key: bytes, purpose: str, token: str, *, expires: float) -> str:
    """Return a signed text for a link or a cookie that holds until a time.

    >>> signed = sign(b"k", "session", "ab12", expires=100.0)
    >>> opened(b"k", "session", signed, now=50.0), opened(b"k", "session", signed, now=150.0)
    ('ab12', None)
    >>> opened(b"k", "link", signed, now=50.0), opened(b"other", "session", signed, now=50.0)
    (None, None)
    """
    content = f"{token}.{int(expires)}"
    return f"{content}.{_mac(key, f'{purpose}:{content}')}"


def opened(key: bytes, purpose: str, signed: str, *, now: float) -> str | None:
    """Return the token of a signed text; None where the signature is not ours or its time is over."""
    content, _, mac = signed.rpartition(".")
    token, _, expires = content.partition(".")
    if not hmac.compare_digest(mac.encode(), _mac(key, f"{purpose}:{content}").encode()):
        return None
    return token if expires.isdecimal() and now < int(expires) else None


def csrf_token(key: bytes, session: str) -> str:
    """Return the token that forms and scripts of a session send back."""
    return _mac(key, f"csrf:{session}")


def csrf_matches(key: bytes, session: str, token: str | None) -> bool:
    """Whether a request carries the CSRF token of its session."""
    return token is not None and hmac.compare_digest(token.encode(), csrf_token(key, session).encode())


def _mac(key: bytes, text: str) -> str:
    digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


SESSION_DAYS = 7.0
"""How long a browser stays signed in; after that the link is opened again."""


def issue_link(connection: Connection, key: bytes, person: str, *, now: float, days: float = DEFAULT_DAYS) -> str:
    """Return the path of a new link of a person."""
    secret = issue_token(connection, person, now=now, days=days).removeprefix(PREFIX)
    return f"/in/{sign(key, 'link', secret, expires=now + _DAY * days)}"


def issue_session(connection: Connection, key: bytes, secret: str, *, now: float) -> str | None:
    """Return a session for the cookie, from what a link holds; None where the link was revoked or is over.

    It ends after a week, with the link, or when its person signs out.
    """
    valid = (TOKENS.c.hash == hash_of(PREFIX + secret)) & TOKENS.c.revoked.is_(None) & (TOKENS.c.expires > now)
    row = connection.execute(select(TOKENS).where(valid)).first()
    if row is None:
        return None
    expires = min(row.expires, now + _DAY * SESSION_DAYS)
    token = issue_token(connection, row.person, now=now, days=(expires - now) / _DAY, mark=_SESSION)
    return sign(key, "session", token.removeprefix(PREFIX), expires=expires)


def end_session(connection: Connection, token_id: str, *, now: float) -> None:
    """Make a session invalid; tokens of other kinds stay."""
    connection.execute(update(TOKENS).where(TOKENS.c.token_id == token_id, _IS_SESSION).values(revoked=now))


def token_of(key: bytes, session: str, *, now: float) -> str | None:
    """Return the token of a session; None where it does not hold."""
    secret = opened(key, "session", session, now=now)
    return None if secret is None else PREFIX + secret
