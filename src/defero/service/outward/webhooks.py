"""Webhooks: entries of the log are sent on, signed, in order, and again until they are taken.

How far a webhook has come is in the log itself, so that a kill loses nothing. A delivery that was taken but not
recorded is sent again: receivers know it by its id.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any

from defero.service.events import Entry, HookFailed, HookSent
from defero.service.events.facts import to_json_bytes
from defero.service.flow.command import Command
from defero.service.flow.connections import RecordDelivery
from defero.service.outward.requesting import send
from defero.service.store.contents import read_secret
from defero.service.store.database import Database, Turn
from defero.service.store.log import read_log
from defero.service.store.saved_views import read_hooks
from defero.service.views.connections import LONGEST_WAIT, Hook

MOST_ENTRIES = 100
"""Of one delivery."""
FIRST_WAIT = 2.0
"""Seconds until a delivery that failed is tried again; twice as long after each further failure."""
_SECONDS = 10.0
_TURN = 0x6465666572_71

Post = Callable[[str, bytes, Mapping[str, str]], int]
"""From URL, body and headers to the HTTP status; 0 where nobody replied."""


def signature(secret: bytes, at: int, body: bytes) -> str:
    """Return the header `Defero-Signature`: the time, and HMAC-SHA256 of "time.body".

    >>> signature(b"secret", 100, b"{}")[:15]
    't=100,v1=8e1a45'
    """
    mac = hmac.new(secret, f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={mac}"


def secret_name(hook: str) -> str:
    """Return the name of a webhook's secret in its table."""
    return f"webhook {hook}"


class Courier:
    """Sends what waits for each webhook; of several server processes one at a time does.

    Parameters
    ----------
    database : Database
    do : callable
        Does a command and returns its reply once it is on disk.
    clock : callable
    post : callable
        Makes the request.
    stopped : callable
        Whether to begin no further delivery.
    """

    def __init__(
        self,
        database: Database,
        do: Callable[[Command], Any],
        *,
        clock: Callable[[], float],
        post: Post | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.database, self.do, self.clock, self.post = database, do, clock, post or post_once
        self.stopped, self._turn = stopped, Turn(database, _TURN)

    def deliver(self) -> int:
        """Send one delivery to each webhook for which something waits; return how many were taken."""
        now, taken = self.clock(), 0
        with self.database.read() as connection:
            hooks = read_hooks(connection)
        if not hooks:
            self._turn.give_back()
        elif self._turn.held():
            for hook in hooks.values():
                if hook.is_due(now) and not self.stopped():
                    taken += self._send(hook, now)
        return taken

    def close(self) -> None:
        """Let another process go on."""
        self._turn.give_back()

    def _send(self, hook: Hook, now: float) -> bool:
        with self.database.read() as connection:
            entries = list(read_log(connection, after=hook.upto, kinds=hook.kinds, limit=MOST_ENTRIES))
            secret = read_secret(connection, secret_name(hook.hook))
        if not entries or secret is None:
            return False
        body = to_json_bytes({"hook": hook.hook, "events": [_event(one) for one in entries]})
        headers = {
            "Content-Type": "application/json",
            "Defero-Delivery": f"{hook.hook}-{entries[0].seq}-{entries[-1].seq}",
            "Defero-Signature": signature(secret, int(now), body),
        }
        status = self.post(hook.url, body, headers)
        if 200 <= status < 300:
            self.do(RecordDelivery(HookSent(hook=hook.hook, upto=entries[-1].seq)))
            return True
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(hook.failures, 20))
        self.do(RecordDelivery(HookFailed(hook=hook.hook, status=status, retry_at=now + wait)))
        return False


def _event(entry: Entry) -> dict[str, Any]:
    return {"seq": entry.seq, "at": entry.at, "case": entry.case, "kind": entry.fact.kind, **vars(entry.fact)}


def post_once(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Make one request; redirects are not followed. Return the status, 0 where nobody replied."""
    return send("POST", url, body, headers, _SECONDS).status
