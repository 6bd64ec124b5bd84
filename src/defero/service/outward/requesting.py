"""Requests to other servers: one try, no redirects, a limit of time and of size. Nothing of them is logged.

Webhooks send entries of the log on, signed, in order, and again until they are taken. How far a webhook has come is in
the log itself, so that a kill loses nothing. A delivery that was taken but not recorded is sent again: receivers know
it by its id.
"""

import hashlib
import hmac
import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from defero.service import Problem
from defero.service.events import HookFailed, HookSent, to_json_bytes
from defero.service.flow.command import Command
from defero.service.flow.connections import RecordEvent
from defero.service.store.contents import read_secret
from defero.service.store.database import Database, Turn
from defero.service.store.log import read_log
from defero.service.store.saved_views import read_hooks
from defero.service.views.connections import LONGEST_WAIT, Hook

MOST_BYTES = 2**24
"""Of a reply; a longer one counts as none."""
OUTWARD_HOSTS = "DEFERO_OUTWARD_HOSTS"
"""Environment variable: the only hosts, with or without a port, that requests go to."""
_METADATA = frozenset({"fd00:ec2::254", "100.100.100.200"})
"""Where clouds tell the secrets of a machine, beside link-local addresses."""


@dataclass(frozen=True)
class Reply:
    """What a server replied.

    Attributes
    ----------
    status : int
        HTTP status; 0 where nobody replied in time.
    body : bytes
    headers : mapping
        Names in small letters.
    too_long : bool
        It was longer than `MOST_BYTES`, and counts as none.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    too_long: bool = False

    @property
    def ok(self) -> bool:
        """Whether the server took the request."""
        return 200 <= self.status < 300


Send = Callable[[str, str, bytes | None, Mapping[str, str], float], Reply]
"""From method, URL, body, headers and seconds to the reply."""


def send(method: str, url: str, body: bytes | None, headers: Mapping[str, str], seconds: float) -> Reply:
    """Make one request; the whole of it, also a reply that trickles in, takes at most some seconds."""
    parts = urlsplit(url)
    if not is_named(url):
        return Reply(0)
    build = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = build(str(parts.hostname), parts.port, timeout=max(seconds, 0.001))
    late = threading.Event()
    end = threading.Timer(seconds, _cut, (connection, late))
    end.daemon = True
    end.start()
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.connect()
        if not may_be_sent_to(connection.sock.getpeername()[0]):  # by the address, whatever name led to it
            return Reply(0)
        connection.request(method, target, body, dict(headers))
        response = connection.getresponse()
        content = response.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            return Reply(0, too_long=True)
        if response.length or late.is_set():  # not all of it
            return Reply(0)
        return Reply(response.status, content, {name.lower(): value for name, value in response.getheaders()})
    except (OSError, HTTPException, ValueError):  # a host name such as "a..b" is a ValueError
        return Reply(0)
    finally:
        end.cancel()
        connection.close()


def may_be_sent_to(address: str) -> bool:
    """Whether requests may go to an IP address: not to link-local ones, where clouds tell the secrets of a machine.

    >>> may_be_sent_to("127.0.0.1"), may_be_sent_to("10.0.0.7"), may_be_sent_to("169.254.169.254")
    (True, True, False)
    >>> may_be_sent_to("fe80::1%eth0"), may_be_sent_to("::ffff:169.254.169.254"), may_be_sent_to("fd00:ec2::254")
    (False, False, False)
    """
    one = ip_address(address.partition("%")[0])
    one = getattr(one, "ipv4_mapped", None) or one
    return not (one.is_link_local or one.is_multicast or one.is_unspecified or str(one) in _METADATA)


def is_named(url: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a URL's host is one of `DEFERO_OUTWARD_HOSTS`, where the operator has named any.

    >>> is_named("https://llm.example/v1", {}), is_named("https://llm.example/v1", {OUTWARD_HOSTS: "a.example"})
    (True, False)
    >>> is_named("http://a.example:8080/x", {OUTWARD_HOSTS: "b.example, a.example:8080"})
    True
    """
    named = {one.strip().lower() for one in environ.get(OUTWARD_HOSTS, "").split(",") if one.strip()}
    parts = urlsplit(url)
    return not named or bool(named & {str(parts.hostname), f"{parts.hostname}:{parts.port}"})


def check_named(url: str) -> None:
    """Raise `Problem` where the operator has not named the host of a URL."""
    if url and not is_named(url):
        raise Problem(
            422, f"url: requests go to the hosts of {OUTWARD_HOSTS} alone, which whoever runs the service sets."
        )


def _cut(connection: HTTPConnection, late: threading.Event) -> None:
    """End a connection from another thread: whoever reads from it reads no further."""
    late.set()
    held = connection.sock
    if held is not None:
        with suppress(OSError):
            held.shutdown(socket.SHUT_RDWR)


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
        body = to_json_bytes({"hook": hook.hook, "events": [{"case": one.case, **one.to_dict()} for one in entries]})
        headers = {
            "Content-Type": "application/json",
            "Defero-Delivery": f"{hook.hook}-{entries[0].seq}-{entries[-1].seq}",
            "Defero-Signature": signature(secret, int(now), body),
        }
        status = self.post(hook.url, body, headers)
        if 200 <= status < 300:
            self.do(RecordEvent(HookSent(hook=hook.hook, upto=entries[-1].seq)))
            return True
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(hook.failures, 20))
        self.do(RecordEvent(HookFailed(hook=hook.hook, status=status, retry_at=now + wait)))
        return False


def post_once(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Make one request; redirects are not followed. Return the status, 0 where nobody replied."""
    return send("POST", url, body, headers, _SECONDS).status
