"""Requests to other servers: one try, no redirects, a limit of time and of size. Nothing of them is logged."""

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

MOST_BYTES = 2**22
"""Of a reply; a longer one counts as none."""


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
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the server took the request."""
        return 200 <= self.status < 300


Send = Callable[[str, str, bytes | None, Mapping[str, str], float], Reply]
"""From method, URL, body, headers and seconds to the reply."""


def send(method: str, url: str, body: bytes | None, headers: Mapping[str, str], seconds: float) -> Reply:
    """Make one request; the whole of it, also a reply that trickles in, takes at most some seconds."""
    parts = urlsplit(url)
    build = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = build(str(parts.hostname), parts.port, timeout=max(seconds, 0.001))
    late = threading.Event()
    end = threading.Timer(seconds, _cut, (connection, late))
    end.daemon = True
    end.start()
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body, dict(headers))
        response = connection.getresponse()
        content = response.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES or response.length or late.is_set():  # too long, or not all of it
            return Reply(0)
        return Reply(response.status, content, {name.lower(): value for name, value in response.getheaders()})
    except (OSError, HTTPException, ValueError):  # a host name such as "a..b" is a ValueError
        return Reply(0)
    finally:
        end.cancel()
        connection.close()


def _cut(connection: HTTPConnection, late: threading.Event) -> None:
    """End a connection from another thread: whoever reads from it reads no further."""
    late.set()
    held = connection.sock
    if held is not None:
        with suppress(OSError):
            held.shutdown(socket.SHUT_RDWR)
