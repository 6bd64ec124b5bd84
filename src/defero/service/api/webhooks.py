"""Webhooks: where the log is sent on to."""

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from sqlalchemy import delete, insert
from starlette.concurrency import run_in_threadpool

from defero.service.api.caller import caller_of, office_of
from defero.service.api.errors import responses
from defero.service.api.schemas import HookIn
from defero.service.api.sending import done, plain
from defero.service.flow.hooks import EndHook, SetHook
from defero.service.office import Office
from defero.service.outward.requesting import check_named
from defero.service.outward.webhooks import secret_name
from defero.service.problems import Problem
from defero.service.store.saved_views import open_ledger
from defero.service.store.tables import SECRETS

router = APIRouter(tags=["webhooks"])
InOffice = Annotated[Office, Depends(office_of)]
HookId = Annotated[str, Path(pattern=r"^w[0-9a-f]{12}$", examples=["w0123456789ab"])]


@router.get("/v1/webhooks", responses=responses())
def get_hooks(office: InOffice) -> dict[str, Any]:
    """Return every webhook, how far it has come, and whether it fails."""
    with office.database.read() as connection:
        hooks = open_ledger(connection, now=office.clock()).hooks
    return {"webhooks": [vars(one) for one in hooks.values()]}


@router.post("/v1/webhooks", status_code=201, responses=responses(409))
async def add_hook(request: Request, body: HookIn, office: InOffice) -> Response:
    """Send on what happens from now on. The secret that signs it is shown this once."""
    check_named(body.url)
    hook, secret = f"w{secrets.token_hex(6)}", secrets.token_urlsafe(32)
    await run_in_threadpool(_keep_secret, office, hook, secret)
    try:
        reply = await done(office, SetHook(hook, body.url, tuple(body.kinds), caller_of(request).person))
    except Problem:
        await run_in_threadpool(_forget_secret, office, hook)
        raise
    return plain({**reply, "secret": secret}, 201)


@router.delete("/v1/webhooks/{hook}", responses=responses(404))
async def end_hook(request: Request, hook: HookId, office: InOffice) -> Response:
    """End a webhook."""
    reply = await done(office, EndHook(hook, caller_of(request).person))
    await run_in_threadpool(_forget_secret, office, hook)
    return plain(reply)


def _keep_secret(office: Office, hook: str, secret: str) -> None:
    with office.database.write() as connection:
        connection.execute(insert(SECRETS), {"name": secret_name(hook), "value": secret.encode()})


def _forget_secret(office: Office, hook: str) -> None:
    with office.database.write() as connection:
        connection.execute(delete(SECRETS).where(SECRETS.c.name == secret_name(hook)))
