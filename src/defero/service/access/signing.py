"""Signed links and cookie sessions: a token and an end, signed with the key of this database; and CSRF tokens.

A link or session holds a token, of which the database has the hash alone: whoever reads the database, and with it the
key, can sign but has nothing to sign. Revoking the token ends both. Pages set the cookie (`SESSION_COOKIE`) from a
link; every request that changes something by cookie must carry the CSRF token of its session in `CSRF_HEADER`.
"""

import base64
import hashlib
import hmac
import secrets

from sqlalchemy import Connection, insert, select

from defero.service.store.tables import SECRETS

SESSION_COOKIE = "defero_session"
CSRF_HEADER = "x-csrf-token"
_NAME = "signing"


def signing_key(connection: Connection) -> bytes:
    """Return the key that signs for this database; made when it is first asked for, in a writing transaction."""
    value = connection.execute(select(SECRETS.c.value).where(SECRETS.c.name == _NAME)).scalar()
    if value is None:
        value = secrets.token_bytes(32)
        connection.execute(insert(SECRETS), {"name": _NAME, "value": value})
    return bytes(value)


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


def csrf_matches(key: bytes, session: str, given: str | None) -> bool:
    """Whether a request carries the CSRF token of its session."""
    return given is not None and hmac.compare_digest(given.encode(), csrf_token(key, session).encode())


def _mac(key: bytes, text: str) -> str:
    digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
