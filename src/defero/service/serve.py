"""Serve: an office behind uvicorn."""

import gc
import logging
from pathlib import Path

import uvicorn

from defero.data.encoders.find import Encoder
from defero.service.api.app import with_shell
from defero.service.office import Office
from defero.service.pages.site import make_site

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
    app = with_shell(make_site(office))
    uvicorn.run(app, host=host, port=port, access_log=False, log_level="warning", server_header=False, lifespan="on")


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
    return Office.open(model, database or default_database(model), models=models, text_encoder=text_encoder)
