"""Decisions out, with a cursor; and the export of the log that `defero fit` reads."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import StreamingResponse

from defero.service.api.caller import office_of
from defero.service.api.errors import responses
from defero.service.api.schemas import MOST_NUMBER
from defero.service.events import Settled
from defero.service.flow.replies import decided
from defero.service.office import Office
from defero.service.store import log
from defero.service.store.contents import read_contents, read_names
from defero.service.store.export import csv_lines

router = APIRouter(tags=["decisions"])
InOffice = Annotated[Office, Depends(office_of)]


@router.get("/v1/decisions", responses=responses())
def decisions(
    office: InOffice,
    after: Annotated[
        int, Query(ge=0, le=MOST_NUMBER, description="`next` of the reply before; 0: from the start.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> dict[str, Any]:
    """Return the answers of settled cases in the order in which they were settled."""
    with office.database.read() as connection:
        entries = list(log.read_log(connection, after=after, kinds=("settled",), limit=limit))
        known, names = read_contents(connection, [str(one.case) for one in entries]), read_names(connection)
    settled = [(one, one.fact) for one in entries if isinstance(one.fact, Settled)]
    shown = [
        {
            "seq": one.seq,
            "case": one.case,
            "key": known.get(str(one.case), (None, None))[0],
            "at": one.at,
            **decided(fact, names),
        }
        for one, fact in settled
    ]
    return {"decisions": shown, "next": entries[-1].seq if entries else after}


@router.get(
    "/v1/export.csv",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}, **responses()},
)
def export(office: InOffice) -> StreamingResponse:
    """Return every case with its features, the answers of experts and the outcome, as `defero fit` reads it."""
    return StreamingResponse(csv_lines(office.database, office.team), media_type="text/csv; charset=utf-8")
