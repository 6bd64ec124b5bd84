"""People: who is there, their availability and capacity, their tokens and links; and their page."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.responses import RedirectResponse

from defero.service import Problem, checked
from defero.service.access import DEFAULT_DAYS, issue_link, issue_token, revoke_tokens, valid_tokens
from defero.service.flow.settings import AddPerson, ChangePerson, ErasePerson, person_reply
from defero.service.office import Office
from defero.service.store.contents import read_names
from defero.service.store.saved_views import open_ledger
from defero.service.views.policy import ROLES, PersonId
from defero.service.web.requests import GuardedRoute, InOffice, caller_of, done, form_of, needed, plain, whole
from defero.service.web.schemas import PeopleOut, PersonChangeIn, PersonIn, PersonOut, TokenOut, responses
from defero.service.web.sight import render

router = APIRouter(tags=["people"], route_class=GuardedRoute)
Id = Annotated[PersonId, Path(examples=["p3"])]


@router.get("/v1/me", responses=responses())
def me(request: Request) -> dict[str, str]:
    """Say who calls."""
    caller = caller_of(request)
    return {"person": caller.person, "role": caller.role}


@router.get("/v1/people", response_model=PeopleOut, responses=responses())
def people(office: InOffice) -> dict[str, Any]:
    """Return everybody."""
    ledger, names = office.views()
    shown = [
        person_reply(one, names.get(person, person), ledger.asked_today[person])
        for person, one in ledger.people.items()
    ]
    return {"people": shown}


@router.post("/v1/people", response_model=PersonOut, status_code=201, responses=responses(409))
async def add_person(request: Request, body: PersonIn, office: InOffice) -> Response:
    """Add a person; an expert is asked once a model knows them by this name."""
    command = AddPerson(body.name, body.role, caller_of(request).person, body.capacity)
    return plain(await done(office, command), 201)


@router.patch("/v1/people/{person}", response_model=PersonOut, responses=responses(404))
async def change_person(request: Request, person: Id, body: PersonChangeIn, office: InOffice) -> Response:
    """Change availability or capacity; experts change their own availability."""
    caller, change = caller_of(request), body.model_dump(exclude_unset=True)
    if caller.role == "expert" and person != caller.person:
        raise Problem(404, "There is no such person.", person=person)
    if caller.role == "expert" and set(change) - {"available"}:
        raise Problem(403, "An expert may change their availability alone.")
    return plain(await done(office, ChangePerson(person, change, caller.person)))


@router.delete("/v1/people/{person}", response_model=PersonOut, responses=responses(404, 409))
async def erase_person(request: Request, person: Id, office: InOffice) -> Response:
    """Remove a person and erase their name; their questions go to others, their answers stay, their tokens end.

    The last lead cannot be removed.
    """
    result = await done(office, ErasePerson(person, caller_of(request).person))
    office.tokens.forget()
    return plain(result)


@router.post("/v1/people/{person}/tokens", response_model=TokenOut, status_code=201, responses=responses(404))
def new_token(
    person: Id, office: InOffice, days: Annotated[float, Query(gt=0, le=3_660)] = DEFAULT_DAYS
) -> dict[str, Any]:
    """Make a new token of a person. It is shown this once."""
    _check_known(office, person)
    now = office.clock()
    with office.database.write() as connection:
        return {"token": issue_token(connection, person, now=now, days=days), "expires": now + 86_400 * days}


@router.delete("/v1/people/{person}/tokens", responses=responses(404))
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


pages = APIRouter(route_class=GuardedRoute)
PAGE = "/console/people"


@pages.get(PAGE)
def people_shown(request: Request, office: InOffice) -> Response:
    """Show everybody who is in the team."""
    return people_page(request, office)


@pages.post(PAGE)
async def add_by_form(request: Request, office: InOffice) -> Response:
    """Add somebody."""
    form = await form_of(request)
    values = {"name": needed(form, "name").strip(), "role": needed(form, "role"), "capacity": capacity_in(form)}
    await add_person(request, checked(PersonIn, values), office)
    return RedirectResponse(PAGE, 303)


@pages.post(PAGE + "/{person}")
async def change_by_form(request: Request, person: Id, office: InOffice) -> Response:
    """Change availability and capacity."""
    form = await form_of(request)
    change = {"available": "available" in form, "capacity": capacity_in(form)}
    await change_person(request, person, checked(PersonChangeIn, change), office)
    return RedirectResponse(f"{PAGE}#{person}", 303)


@pages.post(PAGE + "/{person}/link")
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


@pages.post(PAGE + "/{person}/revoke")
def revoke_by_form(person: Id, office: InOffice) -> Response:
    """End every link, session and token of a person."""
    revoke(person, office)
    return RedirectResponse(f"{PAGE}#{person}", 303)


@pages.post(PAGE + "/{person}/remove")
async def remove_by_form(request: Request, person: Id, office: InOffice) -> Response:
    """Remove a person and erase their name; their questions go to others."""
    if person == caller_of(request).person:
        raise Problem(409, "Nobody removes themselves; another lead can.")
    await erase_person(request, person, office)
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


def capacity_in(form: dict[str, str]) -> Any:
    """Return the questions a day that a form says; blank: no limit."""
    return whole(form["capacity"]) if form.get("capacity", "").strip() else None
