"""Links that a person opens in a browser: signed, resting on a token that can be revoked."""

from sqlalchemy import Connection

from defero.service.access.signing import opened, sign
from defero.service.access.tokens import DEFAULT_DAYS, PREFIX, issue_token

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
