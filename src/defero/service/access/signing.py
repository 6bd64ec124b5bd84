"""Signed links and cookie sessions: a token and an end, signed with the key of this database; and CSRF tokens.

A link or session holds a token, of which the database has the hash alone: whoever reads the database, and with it the
key, can sign but has nothing to sign. Revoking the token ends both. Pages set the cookie (`SESSION_COOKIE`) from a
link; every request that changes something by cookie must carry the CSRF token of its session in `CSRF_HEADER`.
"""

import base64
import hashlib
import hmac
import secrets

from sqlalchemy import Connection

from defero.service.access.tokens import DEFAULT_DAYS, PREFIX, issue_token
from defero.service.store.contents import read_secret, write_secret

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
_DAY = 86_400


def issue_link(connection: Connection, key: bytes, person: str, *, now: float, days: float = DEFAULT_DAYS) -> str:
    """Return the path of a new link of a person.

    It holds a token of its own: revoking the person's tokens ends the link.
    """
    secret = issue_token(connection, person, now=now, days=days).removeprefix(PREFIX)
    return f"/in/{sign(key, 'link', secret, expires=now + _DAY * days)}"


def session_of(key: bytes, link: str, *, now: float) -> tuple[str, str] | None:
    """Return the token of a link and a session for the cookie; None where the link does not hold."""
    secret = opened(key, "link", link, now=now)
    if secret is None:
        return None
    return PREFIX + secret, sign(key, "session", secret, expires=now + _DAY * SESSION_DAYS)


def token_of(key: bytes, session: str, *, now: float) -> str | None:
    """Return the token of a session; None where it does not hold."""
    secret = opened(key, "session", session, now=now)
    return None if secret is None else PREFIX + secret
