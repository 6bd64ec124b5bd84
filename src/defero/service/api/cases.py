"""Cases: in, looked at, erased."""

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request, Response

from defero.service.api.caller import caller_of, office_of
from defero.service.api.errors import responses
from defero.service.api.reading import QuickRoute
from defero.service.api.schemas import Case, CasesIn, NewCasesOut
from defero.service.api.sending import done, plain
from defero.service.events.entry import to_json
from defero.service.flow.add_cases import AddCases
from defero.service.flow.change_people import EraseCase
from defero.service.flow.replies import Beliefs, first_step, seen_by_expert, state_reply
from defero.service.office import Office
from defero.service.problems import Problem
from defero.service.store import contents, log
from defero.service.store.saved_views import open_ledger

router = APIRouter(tags=["cases"], route_class=QuickRoute)
InOffice = Annotated[Office, Depends(office_of)]
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
