"""Label Studio: the project in which some experts answer, and what it tells of annotations."""

import hmac
import queue
import secrets
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from sqlalchemy import Connection, delete, insert, select
from starlette.concurrency import run_in_threadpool

from defero.service.api.caller import caller_of, office_of
from defero.service.api.errors import responses
from defero.service.api.outward_schemas import StudioIn, StudioOut, StudioSetOut
from defero.service.api.sending import done, plain
from defero.service.flow.studio import EndStudio, SetStudio
from defero.service.office import Office
from defero.service.outward.label_studio import SECRET, SECRET_HEADER
from defero.service.outward.requesting import check_named
from defero.service.problems import Problem
from defero.service.store.contents import read_addresses
from defero.service.store.saved_views import read_studio
from defero.service.store.tables import SECRETS

router = APIRouter(tags=["Label Studio"])
InOffice = Annotated[Office, Depends(office_of)]
Secret = Annotated[
    str | None, Header(alias=SECRET_HEADER, examples=["..."], description="As `PUT /v1/label-studio` shows it.")
]


@router.get("/v1/label-studio", response_model=StudioOut, responses=responses(404))
def get_studio(office: InOffice) -> dict[str, Any]:
    """Return the project in which experts answer, and whether it can be reached."""
    with office.database.read() as connection:
        studio, addresses = read_studio(connection), read_addresses(connection)
    if studio is None:
        raise Problem(404, "There is no project of Label Studio.")
    return _shown(vars(studio), addresses)


@router.put("/v1/label-studio", response_model=StudioSetOut, responses=responses(404, 409))
async def set_studio(request: Request, body: StudioIn, office: InOffice) -> Response:
    """Let experts answer in Label Studio. The reply has the secret that it sends with what it tells."""
    addresses = {person: email.lower() for person, email in body.people.items() if email is not None}
    if len(set(addresses.values())) < len(addresses):
        raise Problem(422, "people: two of them have the same address.")
    terms = {**body.model_dump(), "people": list(body.people)}
    check_named(body.url)
    secret = await run_in_threadpool(_kept_secret, office)  # before the command, which the webhook may follow at once
    reply = await done(office, SetStudio(f"s{secrets.token_hex(6)}", terms, addresses, caller_of(request).person))
    return plain({**_shown(reply, addresses), "secret": secret.decode()})


@router.delete("/v1/label-studio", responses=responses(404))
async def end_studio(request: Request, office: InOffice) -> Response:
    """Let everybody answer in the inbox again; tasks that wait in Label Studio stay there, and count no more."""
    reply = await done(office, EndStudio(caller_of(request).person))
    await run_in_threadpool(_forget_secret, office)
    return plain(reply)


@router.post("/v1/label-studio/annotations", status_code=202, responses=responses())
def hear_annotation(office: InOffice, body: dict[str, Any], given: Secret = None) -> dict[str, bool]:
    """Hear that something was annotated: the task is then read from Label Studio, whatever else the message says."""
    with office.database.read() as connection:
        secret = _secret(connection)
    if given is None or secret is None or not hmac.compare_digest(secret, given.encode()):
        raise Problem(401, f"Send the secret of the webhook in the header {SECRET_HEADER}.")
    task, annotation = body.get("task"), body.get("annotation")
    number = task.get("id") if isinstance(task, dict) else None
    if number is None and isinstance(annotation, dict):
        number = annotation.get("task")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**53:
        return {"heard": False}
    with suppress(queue.Full):  # the next look at the project finds it
        office.hints.put_nowait(number)
    return {"heard": True}


def _kept_secret(office: Office) -> bytes:
    """Return the secret of the webhook, made where there is none."""
    with office.database.write() as connection:
        secret = _secret(connection)
        if secret is None:
            secret = secrets.token_urlsafe(32).encode()
            connection.execute(insert(SECRETS), {"name": SECRET, "value": secret})
    return secret


def _forget_secret(office: Office) -> None:
    with office.database.write() as connection:
        connection.execute(delete(SECRETS).where(SECRETS.c.name == SECRET))


def _secret(connection: Connection) -> bytes | None:
    """Return the secret of the webhook; it holds until the project ends."""
    value = connection.execute(select(SECRETS.c.value).where(SECRETS.c.name == SECRET)).scalar()
    return None if value is None else bytes(value)


def _shown(studio: dict[str, Any], addresses: dict[str, str]) -> dict[str, Any]:
    return {**studio, "people": {person: addresses.get(person) for person in studio["people"]}}
