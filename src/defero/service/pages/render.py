"""A template filled and sent: what every page knows, and the filters of the templates."""

from typing import Any

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.responses import HTMLResponse

from defero.service.access.signing import SESSION_COOKIE, csrf_token
from defero.service.access.tokens import Caller
from defero.service.api.caller import the_office
from defero.service.office import Office
from defero.service.pages import charts, words
from defero.service.store.contents import read_names

NAV = {
    "expert": [("/inbox", "Inbox")],
    "lead": [
        ("/console", "Console"),
        ("/console/cases", "Cases"),
        ("/console/people", "People"),
        ("/console/policy", "Policy"),
        ("/console/models", "Models"),
        ("/console/connections", "Connections"),
    ],
}
"""Links at the top of every page, by role."""

_TEMPLATES = Environment(
    loader=PackageLoader("defero.service.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(
    ago=words.ago,
    duration=words.duration,
    moment=words.moment,
    money=words.money,
    percent=words.percent,
    number=words.number,
)
_TEMPLATES.globals.update(charts=charts)


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page; the caller, their links and the CSRF token of their session are known to every template."""
    office, caller = the_office(request), caller_or_none(request)
    session = request.cookies.get(SESSION_COOKIE, "")
    known: dict[str, Any] = {
        "nav": [],
        "caller": None,
        "caller_name": "",
        "path": request.url.path,
        "now": office.clock(),
    }
    if caller is not None:
        known |= {"nav": NAV.get(caller.role, []), "caller": caller, "caller_name": _name(office, caller)}
    known["csrf"] = csrf_token(office.key, session)
    return HTMLResponse(_TEMPLATES.get_template(template).render(**known, **values), status)


def _name(office: Office, caller: Caller) -> str:
    """Return the caller's name; none where the database is away, so that the page can say so."""
    try:
        with office.database.read() as connection:
            return read_names(connection).get(caller.person, "")
    except (OperationalError, PoolTimeout):
        return ""


def caller_or_none(request: Request) -> Caller | None:
    """Return who opens a page, if they are signed in."""
    return getattr(request.state, "caller", None)
