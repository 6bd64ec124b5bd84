"""Serve: an office behind uvicorn."""

import gc
import logging
import socket
from pathlib import Path

import uvicorn

from defero.core.errors import InputError
from defero.data.recipes.text_encoder import Encoder
from defero.service.access.shell import Shell
from defero.service.office import Office
from defero.service.pages.site import make_site
from defero.service.problems import Problem

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
