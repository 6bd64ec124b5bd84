"""Webhooks: where the log is sent on to."""

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from sqlalchemy import delete, insert

from defero.service.api.caller import caller_of, office_of
from defero.service.api.errors import responses
from defero.service.api.schemas import HookIn
from defero.service.api.sending import done, plain
from defero.service.flow.hooks import EndHook, SetHook
from defero.service.office import Office
from defero.service.outward.webhooks import secret_name
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
    hook, secret = f"w{secrets.token_hex(6)}", secrets.token_urlsafe(32)
    with office.database.write() as connection:
        connection.execute(insert(SECRETS), {"name": secret_name(hook), "value": secret.encode()})
    reply = await done(office, SetHook(hook, body.url, tuple(body.kinds), caller_of(request).person))
    return plain({**reply, "secret": secret}, 201)


@router.delete("/v1/webhooks/{hook}", responses=responses(404))
async def end_hook(request: Request, hook: HookId, office: InOffice) -> Response:
    """End a webhook."""
    reply = await done(office, EndHook(hook, caller_of(request).person))
    with office.database.write() as connection:
        connection.execute(delete(SECRETS).where(SECRETS.c.name == secret_name(hook)))
    return plain(reply)
