"""People: who is there, their availability and capacity, their tokens and links; and their page."""

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from defero.service import Problem
from defero.service.access import (
    DEFAULT_DAYS,
    EVERYBODY,
    LEAD,
    PEOPLE,
    WITH_PROGRAMS,
    issue_link,
    issue_token,
    revoke_tokens,
    valid_tokens,
)
from defero.service.flow.settings import AddPerson, ChangePerson, ErasePerson, person_reply
from defero.service.office import Office
from defero.service.store.contents import read_names
from defero.service.store.saved_views import open_ledger
from defero.service.views.policy import ROLES, PersonId
from defero.service.web.forms import Fields
from defero.service.web.requests import InOffice, Routes, caller_of, done, plain
from defero.service.web.schemas import PeopleOut, PersonChangeIn, PersonIn, PersonOut, TokenOut
from defero.service.web.sight import render

router = Routes("people")
Id = Annotated[PersonId, Path(examples=["p3"])]


@router.at("GET /v1/me", EVERYBODY)
def me(request: Request) -> dict[str, str]:
    """Say who calls."""
    caller = caller_of(request)
    return {"person": caller.person, "role": caller.role}


@router.at("GET /v1/people", WITH_PROGRAMS, response_model=PeopleOut)
def people(office: InOffice) -> dict[str, Any]:
    """Return everybody."""
    ledger, names = office.views()
    return {"people": [person_reply(ledger, person, names.get(person, person)) for person in ledger.people]}


@router.at("POST /v1/people", LEAD, 409, response_model=PersonOut, status_code=201)
async def add_person(request: Request, body: PersonIn, office: InOffice) -> Response:
    """Add a person; an expert is asked once a model knows them by this name."""
    command = AddPerson(body.name, body.role, caller_of(request).person, body.capacity)
    return plain(await done(office, command), 201)


@router.at("PATCH /v1/people/{person}", PEOPLE, 404, response_model=PersonOut)
async def change_person(request: Request, person: Id, body: PersonChangeIn, office: InOffice) -> Response:
    """Change availability or capacity; experts change their own availability."""
    caller, change = caller_of(request), body.model_dump(exclude_unset=True)
    if caller.role == "expert" and person != caller.person:
        raise Problem(404, "There is no such person.", person=person)
    if caller.role == "expert" and set(change) - {"available"}:
        raise Problem(403, "An expert may change their availability alone.")
    return plain(await done(office, ChangePerson(person, change, caller.person)))


@router.at("DELETE /v1/people/{person}", LEAD, 404, 409, response_model=PersonOut)
async def erase_person(request: Request, person: Id, office: InOffice) -> Response:
    """Remove a person and erase their name; their questions go to others, their answers stay, their tokens end.

    The last lead cannot be removed.
    """
    result = await done(office, ErasePerson(person, caller_of(request).person))
    office.tokens.forget()
    return plain(result)


@router.at("POST /v1/people/{person}/tokens", LEAD, 404, response_model=TokenOut, status_code=201)
def new_token(
    person: Id, office: InOffice, days: Annotated[float, Query(gt=0, le=3_660)] = DEFAULT_DAYS
) -> dict[str, Any]:
    """Make a new token of a person. It is shown this once."""
    _check_known(office, person)
    now = office.clock()
    with office.database.write() as connection:
        return {"token": issue_token(connection, person, now=now, days=days), "expires": now + 86_400 * days}


@router.at("DELETE /v1/people/{person}/tokens", LEAD, 404)
def revoke(person: Id, office: InOffice) -> dict[str, int]:
    """Make every token of a person invalid, and with them their links and sessions."""
    _check_known(office, person)
    with office.database.write() as connection:
        revoked = revoke_tokens(connection, person, now=office.clock())
    office.tokens.forget()
    return {"revoked": revoked}


def _check_known(office: Office, person: str) -> None:
    if person not in office.views()[0].people:
        raise Problem(404, "There is no such person.", person=person)


pages = Routes()
PAGE = "/console/people"


@pages.at("GET /console/people", LEAD)
def people_shown(request: Request, office: InOffice) -> Response:
    """Show everybody who is in the team."""
    return people_page(request, office)


def not_oneself(request: Request, fields: Fields) -> Fields:
    """Return the form of a page on which nobody removes themselves."""
    if request.path_params["person"] == caller_of(request).person:
        raise Problem(409, "Nobody removes themselves; another lead can.")
    return fields


pages.form("POST /console/people", LEAD, add_person, PAGE)
pages.form("POST /console/people/{person}", LEAD, change_person, PAGE + "#{person}")
pages.form("POST /console/people/{person}/revoke", LEAD, revoke, PAGE + "#{person}")
pages.form("POST /console/people/{person}/remove", LEAD, erase_person, PAGE, read=not_oneself)


@pages.at("POST /console/people/{person}/link", LEAD)
def link_by_form(request: Request, person: Id, office: InOffice) -> Response:
    """Make a new link of a person, or a token of a program. It is shown this once."""
    who = office.views()[0].people.get(person)
    if who is None or who.removed:
        raise Problem(404, "There is no such person.", person=person)
    with office.database.write() as connection:
        if who.role == "machine":
            secret = issue_token(connection, person, now=office.clock())
        else:
            path = issue_link(connection, office.key, person, now=office.clock())
            secret = f"{str(request.base_url).rstrip('/')}{path}"
    return people_page(request, office, made={"person": person, "secret": secret, "days": DEFAULT_DAYS})


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
