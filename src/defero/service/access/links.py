"""Links that a person opens in a browser: signed, resting on a token that can be revoked."""

from sqlalchemy import Connection, select

from defero.service.access.signing import opened, sign
from defero.service.access.tokens import DEFAULT_DAYS, hash_of, issue_token
from defero.service.store.tables import TOKENS

SESSION_DAYS = 7.0
"""How long a browser stays signed in; after that the link is opened again."""
_DAY = 86_400


def issue_link(connection: Connection, key: bytes, person: str, *, now: float, days: float = DEFAULT_DAYS) -> str:
    """Return the path of a new link of a person.

    It rests on a token of its own, of which nobody keeps the secret: revoking the person's tokens ends the link.
    """
    token = issue_token(connection, person, now=now, days=days)
    token_id = connection.execute(select(TOKENS.c.token_id).where(TOKENS.c.hash == hash_of(token))).scalar_one()
    return f"/in/{sign(key, 'link', token_id, expires=now + _DAY * days)}"


def session_of(key: bytes, link: str, *, now: float) -> tuple[str, str] | None:
    """Return the token id of a link and a session for the cookie; None where the link does not hold."""
    token_id = opened(key, "link", link, now=now)
    if token_id is None:
        return None
    return token_id, sign(key, "session", token_id, expires=now + _DAY * SESSION_DAYS)
