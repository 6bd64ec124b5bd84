"""Cases: in, looked at, erased; decisions out with a cursor, the export that `defero fit` reads; and their pages."""

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

from fastapi import Header, Path, Query, Request, Response
from sqlalchemy import Connection, func, select
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from defero.service import Problem
from defero.service.access import EVERYBODY, LEAD, WITH_PROGRAMS
from defero.service.events import Row, Settled, to_json
from defero.service.flow.cases import AddCases, EraseCase
from defero.service.flow.team import WorkingTeam, csv_lines
from defero.service.office import Office
from defero.service.store import contents, log
from defero.service.store.contents import read_contents, read_names, read_notes
from defero.service.store.log import CASES, CONTENTS
from defero.service.store.saved_views import open_ledger, read_cases
from defero.service.views.cases import Beliefs, decided, first_step, seen_by_expert, state_reply
from defero.service.views.policy import MOST_NUMBER, Strict
from defero.service.web.charts import lines_of, shown
from defero.service.web.requests import InOffice, Routes, caller_of, done, plain
from defero.service.web.schemas import MOST_CASES, Case, CasesIn, NewCasesOut, responses
from defero.service.web.sight import render

router = Routes("cases")
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=r"^[!-~]{1,200}$",
        examples=["import-2026-11-16-17"],
        description="A text of your choice. A request that comes again with it does nothing, and gets the same reply.",
    ),
]
CaseId = Annotated[Case, Path(examples=["c12"])]


@router.at("POST /v1/cases", WITH_PROGRAMS, 409, response_model=NewCasesOut)
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


@router.at("GET /v1/cases/{case}", EVERYBODY, 404)
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
        return {**seen_by_expert(reply), "answer": state.all_answers.get(caller.person)}
    answers = {names.get(person, person): answer for person, answer in (*state.answers, *state.uncounted)}
    believed = Beliefs(ledger.model, names).of(first_step(entries)[0])
    return {**reply, **believed, "answers": answers, "outcome": state.outcome, "erased": state.erased}


@router.at("GET /v1/cases/{case}/trail", LEAD, 404)
def get_trail(case: CaseId, office: InOffice) -> dict[str, Any]:
    """Return everything that the log has of a case, in order."""
    with office.database.read() as connection:
        entries, notes = log.of_cases(connection, [case]), contents.read_notes(connection, case)
        names = contents.read_names(connection)
    if not entries:
        raise Problem(404, "There is no such case.", case=case)
    lines = [{**one.to_dict(), "note": notes.get(one.seq)} for one in entries]
    return {"case": case, "entries": lines, "names": names}


@router.at("DELETE /v1/cases/{case}/content", LEAD, 404)
async def erase_case(request: Request, case: CaseId, office: InOffice) -> Response:
    """Remove the features, the key and the notes of a case; figures stay."""
    return plain(await done(office, EraseCase(case, caller_of(request).person)))


decisions_router = Routes("decisions")


@decisions_router.at("GET /v1/decisions", WITH_PROGRAMS)
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
    shown = [
        {
            "seq": one.seq,
            "case": one.case,
            "key": known.get(str(one.case), (None, None))[0],
            "at": one.at,
            **decided(one.fact, names),
        }
        for one in entries
        if isinstance(one.fact, Settled)
    ]
    return {"decisions": shown, "next": entries[-1].seq if entries else after}


@decisions_router.at(
    "GET /v1/export.csv",
    LEAD,
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}, **responses()},
)
def export(office: InOffice) -> StreamingResponse:
    """Return every case with its features, the answers of experts and the outcome, as `defero fit` reads it."""
    return StreamingResponse(csv_lines(office.database, office.team), media_type="text/csv; charset=utf-8")


pages = Routes()
PAGE = "/console/cases"
MOST_LISTED = 50
IN_ORDER = (CASES.c.received_at, func.length(CASES.c.case_id), CASES.c.case_id)
"""As they came: c9 before c10."""


@pages.at("GET /console/cases", LEAD)
def cases_shown(
    request: Request,
    office: InOffice,
    find: Annotated[str, Query(max_length=200)] = "",
    added: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show the last cases, or those of an id or a key."""
    return cases_page(request, office, {}, find=find, added=added)


def cases_page(
    request: Request,
    office: Office,
    values: Mapping[str, Any],
    *,
    find: str = "",
    added: int | None = None,
    problem: Problem | None = None,
) -> Response:
    """Return the page; a table that was refused comes back with what is wrong."""
    with office.database.read() as connection:
        ids = _found(connection, find.strip())
        states, known, names = read_cases(connection, ids), read_contents(connection, ids), read_names(connection)
    rows = [
        {
            "state": states[one],
            "name": known.get(one, (None, None))[0] or one,
            "asked": names.get(states[one].asked or ""),
        }
        for one in ids
        if one in states
    ]
    columns = office.team.router.recipe.inputs if office.team.router.recipe is not None else ()
    return render(
        request,
        "cases.html",
        status=200 if problem is None else problem.status,
        rows=rows,
        find=find,
        added=added,
        columns=columns,
        most=MOST_CASES,
        table=values.get("table", ""),
        problem=problem,
    )


class TableIn(Strict):
    """Cases as the text of a table."""

    table: str = ""


async def add_table(body: TableIn, office: InOffice) -> dict[str, int]:
    """Bring the cases of a table; columns that the model does not need are left out."""
    team = office.team
    rows = await run_in_threadpool(rows_of, body.table, team)
    matrix = await run_in_threadpool(team.matrix, rows)
    await done(office, AddCases([None] * len(rows), rows, matrix, team.version))
    return {"added": len(rows)}


pages.form("POST /console/cases", LEAD, add_table, PAGE + "?added={added}", again=cases_page)


@pages.at("GET /console/cases/{case}", LEAD)
def case_page(request: Request, case: Annotated[Case, Path()], office: InOffice) -> Response:
    """Show where a case stands, and everything that happened to it."""
    with office.database.read() as connection:
        ledger = open_ledger(connection, now=office.clock(), cases=[case])
        if case not in ledger.cases:
            raise Problem(404, "There is no such case.", case=case)
        entries, notes, names = log.of_cases(connection, [case]), read_notes(connection, case), read_names(connection)
        key, row = read_contents(connection, [case]).get(case, (None, {}))
    return render(
        request,
        "case.html",
        state=ledger.cases[case],
        name=key or case,
        shown=shown(row),
        lines=lines_of(entries, notes, names),
        believed=Beliefs(ledger.model, names).of(first_step(entries)[0]),
    )


def rows_of(table: str, team: WorkingTeam) -> list[Row]:
    """Return the cases of a table as text: numbers as numbers, blanks as null; at most a thousand."""
    recipe = team.router.recipe
    reader = csv.DictReader(io.StringIO(table.strip("\ufeff \n")))
    columns = list(_header(reader)) if recipe is None else list(recipe.inputs)
    absent = sorted(set(columns) - set(_header(reader)))
    if absent:
        raise Problem(422, f"The first line must name the columns of the model; missing: {', '.join(absent[:10])}.")
    try:
        lines = list(islice(reader, MOST_CASES + 1))
    except csv.Error as error:  # a quote that is never closed, a cell of a megabyte
        raise Problem(422, f"Line {reader.line_num} cannot be read: {error}.") from error
    if len(lines) > MOST_CASES:
        raise Problem(422, f"At most {MOST_CASES:,} cases at once.")
    rows: list[Row] = []
    for line in lines:
        cells: dict[str, Any] = {name: _value(line[name]) for name in columns}
        if recipe is None and any(not isinstance(cell, float) for cell in cells.values()):
            raise Problem(422, f"Case {len(rows) + 1}: every value must be a number, the model was fitted on an array.")
        rows.append(cells if recipe is not None else list(cells.values()))
    if not rows:
        raise Problem(422, "The table has no case below its first line.")
    return rows


def _header(reader: "csv.DictReader[str]") -> Sequence[str]:
    try:
        return reader.fieldnames or ()
    except csv.Error as error:
        raise Problem(422, f"The first line cannot be read: {error}.") from error


def _value(cell: str | None) -> Any:
    if cell is None or not cell.strip():
        return None
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if number - number == 0 else None  # inf and nan are no numbers of JSON


def _found(connection: Connection, find: str) -> list[str]:
    """Return the ids of the last cases, or of those with an id or a key."""
    if not find:
        query = select(CASES.c.case_id).order_by(*(one.desc() for one in IN_ORDER))
        return [row[0] for row in connection.execute(query.limit(MOST_LISTED))]
    if not find.isprintable():  # PostgreSQL takes no NUL
        return []
    query = select(CONTENTS.c.case_id).where((CONTENTS.c.key == find) | (CONTENTS.c.case_id == find))
    by_content = [row[0] for row in connection.execute(query.limit(MOST_LISTED))]
    return by_content or [find]
