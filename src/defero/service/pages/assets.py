"""The style and the scripts of the pages, from our own host."""

from importlib.resources import files

from fastapi import APIRouter, Response

from defero import __version__
from defero.service.problems import Problem

router = APIRouter()
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@router.get("/assets/{name}")
def asset(name: str) -> Response:
    """Return a file of `static/`; nothing else has a name here."""
    known = {one.name: one for one in files("defero.service.pages").joinpath("static").iterdir()}
    kind = KINDS.get(name.rpartition(".")[2])
    if name not in known or kind is None:
        raise Problem(404, "There is no such file.")
    headers = {"cache-control": "max-age=300", "etag": f'"{__version__}"'}
    return Response(known[name].read_bytes(), media_type=f"{kind}; charset=utf-8", headers=headers)
