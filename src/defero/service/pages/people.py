"""The people of the console: add, change, link, revoke, remove."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.responses import RedirectResponse

from defero.service.access.tokens import DEFAULT_DAYS, issue_link, issue_token, valid_tokens
from defero.service.api import people as api
from defero.service.api.requests import GuardedRoute, InOffice, caller_of, done, form_of, needed
from defero.service.api.schemas import MOST_NUMBER, PersonId
from defero.service.flow.people import AddPerson, ChangePerson
from defero.service.office import Office
from defero.service.pages.sight import render
from defero.service.problems import Problem
from defero.service.store.contents import read_names
from defero.service.store.saved_views import open_ledger
from defero.service.views.policy import ROLES

router = APIRouter(route_class=GuardedRoute)
Id = Annotated[PersonId, Path()]
PAGE = "/console/people"


@router.get(PAGE)
def people(request: Request, office: InOffice) -> Response:
    """Show everybody who is in the team."""
    return people_page(request, office)


@router.post(PAGE)
async def add_person(request: Request, office: InOffice) -> Response:
    """Add somebody."""
    form = await form_of(request)
    name = needed(form, "name").strip()
    if not name.isprintable() or not 1 <= len(name) <= 200:
        raise Problem(422, "name: must have 1 to 200 printable characters.")
    capacity = capacity_of(form.get("capacity", ""))
    await done(office, AddPerson(name, needed(form, "role"), caller_of(request).person, capacity))
    return RedirectResponse(PAGE, 303)


@router.post(PAGE + "/{person}")
async def change_person(request: Request, person: Id, office: InOffice) -> Response:
    """Change availability and capacity."""
    form = await form_of(request)
    change = {"available": "available" in form, "capacity": capacity_of(form.get("capacity", ""))}
    await done(office, ChangePerson(person, change, caller_of(request).person))
    return RedirectResponse(f"{PAGE}#{person}", 303)


@router.post(PAGE + "/{person}/link")
def new_link(request: Request, person: Id, office: InOffice) -> Response:
    """Make a new link of a person, or a token of a program. It is shown this once."""
    with office.database.read() as connection:
        who = open_ledger(connection, now=office.clock()).people.get(person)
    if who is None or who.removed:
        raise Problem(404, "There is no such person.", person=person)
    with office.database.write() as connection:
        if who.role == "machine":
            secret = issue_token(connection, person, now=office.clock())
        else:
            path = issue_link(connection, office.key, person, now=office.clock())
            secret = f"{str(request.base_url).rstrip('/')}{path}"
    return people_page(request, office, made={"person": person, "secret": secret, "days": DEFAULT_DAYS})


@router.post(PAGE + "/{person}/revoke")
def revoke(person: Id, office: InOffice) -> Response:
    """End every link, session and token of a person."""
    api.revoke(person, office)
    return RedirectResponse(f"{PAGE}#{person}", 303)


@router.post(PAGE + "/{person}/remove")
async def remove(request: Request, person: Id, office: InOffice) -> Response:
    """Remove a person and erase their name; their questions go to others."""
    if person == caller_of(request).person:
        raise Problem(409, "Nobody removes themselves; another lead can.")
    await api.erase_person(request, person, office)
    return RedirectResponse(PAGE, 303)


def people_page(request: Request, office: Office, made: dict[str, Any] | None = None) -> Response:
    """Return the page, with a link that was just made."""
    with office.database.read() as connection:
        ledger, names = open_ledger(connection, now=office.clock()), read_names(connection)
        tokens = valid_tokens(connection, now=office.clock())
    in_model = set(office.team.people)
    rows = [
        {
            "person": one,
            "name": names.get(one.person, one.person),
            "n_tokens": len(tokens.get(one.person, ())),
            "asked_today": ledger.asked_today[one.person],
            "in_model": one.person in in_model,
        }
        for one in ledger.people.values()
        if not one.removed
    ]
    made_for = None if made is None else names.get(made["person"], "")
    return render(request, "people.html", rows=rows, made=made, made_for=made_for, roles=ROLES)


def capacity_of(text: str) -> int | None:
    """Return the questions a day that a field says; blank: no limit."""
    if not text.strip():
        return None
    if not text.strip().isdecimal() or int(text) > MOST_NUMBER:
        raise Problem(422, "capacity: must be a whole number of questions a day, or blank for no limit.")
    return int(text)
