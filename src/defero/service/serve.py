"""Serve: an office behind uvicorn, in a shell: a limit of size, strict headers, one line of log for each."""

import gc
import json
import logging
import socket
import time
from pathlib import Path
from typing import Any

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from defero.core.errors import InputError
from defero.data.recipes.text_encoder import Encoder
from defero.service import Problem
from defero.service.office import Office
from defero.service.web.app import make_site

MOST_BYTES = 8 * 1024 * 1024
"""Of one request."""
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
"""Of every reply; a page that may be cached sets its own cache-control."""
LOG = logging.getLogger("defero.service")


class Shell:
    """Wraps an application.

    Parameters
    ----------
    app : ASGI application
    most_bytes : int
        A larger request is refused before it is read.
    """

    def __init__(self, app: ASGIApp, *, most_bytes: int = MOST_BYTES) -> None:
        self.app, self.most_bytes = app, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, guard = time.perf_counter(), _Guard(receive, send, self.most_bytes)
        try:
            if guard.too_large_by(scope):
                await guard.refuse()
            else:
                await self.app(scope, guard.receive, guard.send)
        except Exception as error:  # the server would log it with its message, which may hold content of a case
            if not guard.began:
                LOG.error("defect in %s: %s", _route(scope), type(error).__name__)
                await guard.reply(Problem(500, "Please report it, with the time of this reply."))
        finally:
            spent = 1000 * (time.perf_counter() - started)
            LOG.info("%s %s %d %.1f ms", scope["method"], _route(scope), guard.status, spent)


class _Guard:
    """Counts the bytes of one request, and dresses its reply; a request that is too large gets 413 in place of it."""

    def __init__(self, receive: Receive, send: Send, most_bytes: int) -> None:
        self._receive, self._send, self.most_bytes = receive, send, most_bytes
        self.status, self.n_bytes, self.refused, self.began = 500, 0, False, False

    def too_large_by(self, scope: Scope) -> bool:
        """Whether the header of the request says so already."""
        length = dict(scope["headers"]).get(b"content-length", b"")
        return length.isdigit() and int(length) > self.most_bytes

    async def receive(self) -> Message:
        """Return a piece of the request."""
        message = await self._receive()
        self.n_bytes += len(message.get("body", b""))
        if self.n_bytes > self.most_bytes and not self.refused:
            await self.refuse()
            raise OSError("the request is too large")
        return message

    async def send(self, message: Message) -> None:
        """Pass on a piece of the reply, with our headers."""
        if self.refused:
            return
        if message["type"] == "http.response.start":
            self.status, self.began = message["status"], True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def refuse(self) -> None:
        """Reply that the request is too large; nothing else is sent after that."""
        await self.reply(Problem(413, f"A request has at most {self.most_bytes} bytes; send several."))
        self.refused = True

    async def reply(self, problem: Problem) -> None:
        """Send a problem as the whole reply."""
        content = json.dumps(problem.to_dict()).encode()
        headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(content)).encode())]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": content})


def _route(scope: Scope) -> str:
    """Return the route, not the path: a path may hold a signed link, and a query anything."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", "unknown route"))


STOP_SECONDS = 20
"""How long requests that are under way may take once the service is to stop; systemd kills after 90."""
LEAD_DAYS = 1.0
"""How long the link of the lead holds that is printed at the start."""


def default_database(model: Path) -> str:
    """Return where cases are kept by default: a file beside the model folder.

    >>> default_database(Path("defero-demo/model"))
    'defero-demo/model.sqlite'
    """
    return str(model.parent / f"{model.name}.sqlite")


def run(office: Office, *, host: str, port: int) -> None:
    """Answer requests until the process is asked to stop."""
    _settle_memory()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    # Our own line for each request has the route and no content; uvicorn's would have paths and queries.
    app = Shell(make_site(office))
    uvicorn.run(
        app,
        host=host,
        port=port,
        access_log=False,
        log_level="warning",
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=STOP_SECONDS,
    )


def _settle_memory() -> None:
    """Leave what is loaded now out of garbage collection, and collect less often.

    A batch of cases makes tens of thousands of objects at once; looking through all of them, and all modules, again and
    again took a fifth of the time of a batch.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def open_office(
    model: Path, database: str | None, *, models: Path | None = None, text_encoder: Encoder = None
) -> Office:
    """Return the office of a model, on its own file unless a database is named."""
    try:
        return Office.open(model, database or default_database(model), models=models, text_encoder=text_encoder)
    except Problem as problem:  # the model that the lead switched to cannot be loaded
        raise InputError(f"{problem.detail} The log says that {problem.more or 'it'} decides.") from problem


def check_free(host: str, port: int) -> None:
    """Raise where nobody can listen on a port, before a database is made and links are shown."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            raise InputError(
                f"{port} on {host} cannot be used ({error.strerror}); is defero running already? Pass another one.",
                argument="port",
            ) from error


def address_of(host: str, port: int) -> str:
    """Return the address that a browser on this machine opens.

    >>> address_of("0.0.0.0", 8000), address_of("::1", 8000)
    ('http://127.0.0.1:8000', 'http://[::1]:8000')
    """
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
