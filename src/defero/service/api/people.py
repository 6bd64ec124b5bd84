"""People: who is there, their availability and capacity, and their tokens."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from defero.service.access.tokens import DEFAULT_DAYS, issue_token, revoke_tokens
from defero.service.api.errors import responses
from defero.service.api.requests import GuardedRoute, InOffice, caller_of, done, plain
from defero.service.api.schemas import PeopleOut, PersonChangeIn, PersonId, PersonIn, PersonOut, TokenOut
from defero.service.flow.people import AddPerson, ChangePerson, ErasePerson, person_reply
from defero.service.office import Office
from defero.service.problems import Problem
from defero.service.store.contents import read_names
from defero.service.store.saved_views import open_ledger

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
    with office.database.read() as connection:
        ledger, names = open_ledger(connection, now=office.clock()), read_names(connection)
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
    if office.person_named(person) != person:
        raise Problem(404, "There is no such person.", person=person)
