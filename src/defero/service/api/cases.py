"""Cases: in, looked at, erased; decisions out with a cursor, and the export that `defero fit` reads."""

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from defero.service.api.errors import responses
from defero.service.api.requests import GuardedRoute, InOffice, caller_of, done, plain
from defero.service.api.schemas import MOST_NUMBER, Case, CasesIn, NewCasesOut
from defero.service.events import Settled
from defero.service.events.facts import to_json
from defero.service.flow.cases import AddCases, EraseCase
from defero.service.flow.steps import Beliefs, decided, first_step, seen_by_expert, state_reply
from defero.service.problems import Problem
from defero.service.store import contents, log
from defero.service.store.contents import csv_lines, read_contents, read_names
from defero.service.store.saved_views import open_ledger

router = APIRouter(tags=["cases"], route_class=GuardedRoute)
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=r"^[!-~]{1,200}$",
        examples=["import-2026-11-16-17"],
        description="A text of your choice. A request that comes again with it does nothing, and gets the same reply.",
    ),
]
CaseId = Annotated[Case, Path(examples=["c12"])]


@router.post("/v1/cases", response_model=NewCasesOut, responses=responses(409))
async def add_cases(
    request: Request, body: CasesIn, office: InOffice, idempotency_key: IdempotencyKey = None
) -> Response:
    """Bring new cases; each gets its answer, or whom to ask."""
    rows, keys = [one.features for one in body.cases], [one.key for one in body.cases]
    team = office.team
    command = AddCases(keys, rows, team.matrix(rows), team.version)
    if idempotency_key is not None:
        command.request = f"{caller_of(request).person}:{idempotency_key}"
        command.digest = hashlib.sha256(to_json([keys, rows]).encode()).hexdigest()
    return plain(await done(office, command))


@router.get("/v1/cases/{case}", responses=responses(404))
def get_case(request: Request, case: CaseId, office: InOffice) -> dict[str, Any]:
    """Say where a case stands, with its features; experts see the cases that they were asked about."""
    caller = caller_of(request)
    with office.database.read() as connection:
        ledger = open_ledger(connection, now=office.clock(), cases=[case])
        names, known = contents.read_names(connection), contents.read_contents(connection, [case])
        state = ledger.cases.get(case)
        if state is None or (caller.role == "expert" and caller.person not in state.was_asked):
            raise Problem(404, "There is no such case.", case=case)
        entries = log.of_cases(connection, [case], kinds=("received", "asked", "observed", "settled"))
    key, row = known.get(case, (None, None))
    reply = {**state_reply(state, names), "key": key, "features": row, "received_at": state.received_at}
    if caller.role == "expert":
        return {**seen_by_expert(reply), "answer": state.answer_of(caller.person)}
    answers = {names.get(person, person): answer for person, answer in (*state.answers, *state.uncounted)}
    believed = Beliefs(ledger.model, names).of(first_step(entries)[0])
    return {**reply, **believed, "answers": answers, "outcome": state.outcome, "erased": state.erased}


@router.get("/v1/cases/{case}/trail", responses=responses(404))
def get_trail(case: CaseId, office: InOffice) -> dict[str, Any]:
    """Return everything that the log has of a case, in order."""
    with office.database.read() as connection:
        entries, notes = log.of_cases(connection, [case]), contents.read_notes(connection, case)
        names = contents.read_names(connection)
    if not entries:
        raise Problem(404, "There is no such case.", case=case)
    lines = [
        {"seq": one.seq, "at": one.at, "kind": one.fact.kind, **vars(one.fact), "note": notes.get(one.seq)}
        for one in entries
    ]
    return {"case": case, "entries": lines, "names": names}


@router.delete("/v1/cases/{case}/content", responses=responses(404))
async def erase_case(request: Request, case: CaseId, office: InOffice) -> Response:
    """Remove the features, the key and the notes of a case; figures stay."""
    return plain(await done(office, EraseCase(case, caller_of(request).person)))


decisions_router = APIRouter(tags=["decisions"], route_class=GuardedRoute)


@decisions_router.get("/v1/decisions", responses=responses())
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


@decisions_router.get(
    "/v1/export.csv",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}, **responses()},
)
def export(office: InOffice) -> StreamingResponse:
    """Return every case with its features, the answers of experts and the outcome, as `defero fit` reads it."""
    return StreamingResponse(csv_lines(office.database, office.team), media_type="text/csv; charset=utf-8")
