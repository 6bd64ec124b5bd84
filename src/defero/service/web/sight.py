"""A template filled and sent: what every page knows, how numbers and times read, and what panels are drawn from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.responses import HTMLResponse

from defero.service.access import SESSION_COOKIE, Caller, csrf_token
from defero.service.office import Office
from defero.service.store.contents import read_names
from defero.service.store.log import CASES, TALLIES
from defero.service.store.saved_views import open_ledger
from defero.service.views import Ledger
from defero.service.views.policy import Person
from defero.service.views.promises import MODEL, drift_rows
from defero.service.views.tallies import TEAM, Counts, Period, PersonFigures, Tally, person_figures
from defero.service.web import charts
from defero.service.web.forms import field_name, scaled, text_at
from defero.service.web.requests import the_office

NOTHING = "–"
"""Stands where there is no number."""


def percent(share: float | None) -> str:
    """Return a share in percent; one that is nearly all or nothing is not rounded to it.

    >>> percent(0.8349), percent(None), percent(1.0), percent(0.998), percent(0.99997), percent(0.0004)
    ('83 %', '–', '100 %', '99.8 %', '> 99.9 %', '< 0.1 %')
    """
    if share is None:
        return NOTHING
    if 0.995 <= share < 1:
        return "> 99.9 %" if share >= 0.9995 else f"{100 * share:.1f} %"
    if 0 < share < 0.005:
        return "< 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %"


def money(amount: float | None) -> str:
    """Return an amount in the unit of the policy; small ones with two digits that say something.

    >>> money(1234.5), money(0.0), money(0.00248)
    ('1,234.50', '0.00', '0.0025')
    """
    if amount is None:
        return NOTHING
    return f"{amount:.2g}" if 0 < abs(amount) < 0.01 else f"{amount:,.2f}"


def number(value: object) -> str:
    """Return a value of a cell; numbers without digits that say nothing.

    >>> number(1234567.0), number(0.1 + 0.2), number(None), number("arm"), number(True)
    ('1,234,567', '0.3', '–', 'arm', 'true')
    """
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if value.is_integer() else f"{value:.6g}"
    return str(value)


def duration(seconds: float | None) -> str:
    """Return a length of time in its largest unit.

    >>> duration(42), duration(170), duration(7_200), duration(200_000), duration(None)
    ('42 s', '3 min', '2 h', '2 days', '–')
    """
    if seconds is None:
        return NOTHING
    for size, name in ((172_800, "days"), (7_200, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / {'days': 86_400, 'h': 3_600, 'min': 60}[name]:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"


def ago(at: float | None, now: float) -> str:
    """Return how long ago a time was."""
    return NOTHING if at is None else f"{duration(now - at)} ago"


def moment(at: float | None) -> str:
    """Return a time (UTC).

    >>> moment(0.0)
    '1970-01-01 00:00:00'
    """
    return NOTHING if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


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
    loader=PackageLoader("defero.service.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(
    ago=ago,
    duration=duration,
    moment=moment,
    money=money,
    percent=percent,
    number=number,
)
_TEMPLATES.globals.update(charts=charts, field_name=field_name, scaled=scaled, text_at=text_at)


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


@dataclass(frozen=True)
class Waiting:
    """Questions that wait for somebody: how many, and since when the oldest."""

    n: int
    oldest: float | None


@dataclass(frozen=True, eq=False)
class Sight:
    """What a panel may use.

    Attributes
    ----------
    connection : Connection
        For whatever else a panel reads.
    now : float
    period, before : Period
        The days that are shown, and as many before them.
    counts : tallies of both
    by_person : {person: tallies}
        The same, apart for each person: a panel looks at one after the other.
    ledger : Ledger
        People, policy, model and questions of today.
    names : {person: name}
    waiting : {person: Waiting}
    """

    connection: Connection
    now: float
    period: Period
    before: Period
    counts: Counts
    by_person: Mapping[str, Counts]
    ledger: Ledger
    names: Mapping[str, str]
    waiting: Mapping[str, Waiting]

    @classmethod
    def read(cls, connection: Connection, *, now: float, n_days: int) -> "Sight":
        """Read everything that the panels share."""
        period = Period.ending(at=now, n_days=n_days)
        before = period.before()
        rows = connection.execute(select(TALLIES).where(TALLIES.c.day.between(before.first, period.last)))
        counts = {(row.day, row.person, row.name): row.amount for row in rows}
        by_person: dict[str, dict[Tally, int]] = {}
        for tally, amount in counts.items():
            by_person.setdefault(tally[1], {})[tally] = amount
        open_questions = select(CASES.c.asked, func.count(), func.min(CASES.c.asked_at)).where(
            CASES.c.asked.is_not(None)
        )
        waiting = {
            who: Waiting(n, oldest) for who, n, oldest in connection.execute(open_questions.group_by(CASES.c.asked))
        }
        return cls(
            connection,
            now,
            period,
            before,
            counts,
            by_person,
            open_ledger(connection, now=now),
            read_names(connection),
            waiting,
        )

    def of(self, person: str = TEAM) -> Counts:
        """Return the tallies of a person, or of the team."""
        return self.by_person.get(person, {})

    def did(self, person: str) -> PersonFigures:
        """Return what a person did in the period."""
        return person_figures(self.of(person), self.period, person)

    def name(self, person: str) -> str:
        """Return the name of a person."""
        return self.names.get(person, person)

    def drift_rows(self) -> list[dict[str, Any]]:
        """Return how everybody keeps their promises, as the API has it, with names as people read them."""
        return drift_rows(self.ledger.drift, {**self.names, MODEL: "the model"})

    def experts(self) -> list[Person]:
        """Return the experts who are in the team, in the order in which they joined."""
        return [one for one in self.ledger.people.values() if one.role == "expert" and not one.removed]
