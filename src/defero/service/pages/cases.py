"""The cases of the console: the last ones, the trail of any, and new ones from a pasted table."""

import csv
import io
from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy import Connection, func, select
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from defero.service.api.requests import GuardedRoute, InOffice, done, form_of, needed
from defero.service.api.schemas import MOST_CASES, Case
from defero.service.flow.cases import AddCases
from defero.service.flow.steps import Beliefs, first_step
from defero.service.flow.team import Row, WorkingTeam
from defero.service.office import Office
from defero.service.pages.charts import shown
from defero.service.pages.forms import lines_of
from defero.service.pages.sight import render
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.store.contents import read_contents, read_names, read_notes
from defero.service.store.log import CASES, CONTENTS
from defero.service.store.saved_views import open_ledger, read_cases

router = APIRouter(route_class=GuardedRoute)
PAGE = "/console/cases"
MOST_LISTED = 50
IN_ORDER = (CASES.c.received_at, func.length(CASES.c.case_id), CASES.c.case_id)
"""As they came: c9 before c10."""


@router.get(PAGE)
def cases(
    request: Request,
    office: InOffice,
    find: Annotated[str, Query(max_length=200)] = "",
    added: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show the last cases, or those of an id or a key."""
    return cases_page(request, office, find=find, added=added)


def cases_page(
    request: Request,
    office: Office,
    *,
    find: str = "",
    added: int | None = None,
    table: str = "",
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
        table=table,
        problem=problem,
    )


@router.post(PAGE)
async def add(request: Request, office: InOffice) -> Response:
    """Bring the cases of a table; columns that the model does not need are left out."""
    table, team = needed(await form_of(request), "table"), office.team
    try:
        rows = await run_in_threadpool(rows_of, table, team)
        matrix = await run_in_threadpool(team.matrix, rows)
        await done(office, AddCases([None] * len(rows), rows, matrix, team.version))
    except Problem as problem:
        return await run_in_threadpool(cases_page, request, office, table=table, problem=problem)
    return RedirectResponse(f"{PAGE}?added={len(rows)}", 303)


@router.get(PAGE + "/{case}")
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
