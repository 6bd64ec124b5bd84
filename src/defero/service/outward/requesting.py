"""Requests to other servers: one try, no redirects, a limit of time and of size. Nothing of them is logged."""

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from urllib.parse import urlsplit

from defero.service.problems import Problem

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
