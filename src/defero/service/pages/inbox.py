"""The inbox of an expert: the question at hand, why it is theirs, what came of the last answer; answer, skip, undo."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import Connection
from starlette.responses import RedirectResponse

from defero.data.tables.cells import text_of
from defero.service.api.requests import GuardedRoute, InOffice, caller_of, done, form_of, needed
from defero.service.api.schemas import Case
from defero.service.events import Answered, Asked
from defero.service.flow.answers import UNDO_SECONDS, GiveAnswer, Skip, Undo
from defero.service.flow.people import ChangePerson
from defero.service.office import Office
from defero.service.pages.charts import shown
from defero.service.pages.sight import render
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.store.contents import read_contents
from defero.service.store.saved_views import read_cases, read_people
from defero.service.store.sql_desk import SqlDesk

router = APIRouter(route_class=GuardedRoute)
KEYS = "1234567890"
"""Of the first ten classes."""
MOST_LISTED = 20
"""Questions in the list beside the one at hand."""


@router.get("/inbox")
def inbox(
    request: Request,
    office: InOffice,
    case: Annotated[Case | None, Query()] = None,
    last: Annotated[Case | None, Query()] = None,
) -> Response:
    """Show the question `case`, or the oldest one; and what came of the answer to `last`."""
    person = caller_of(request).person
    with office.database.read() as connection:
        waiting = SqlDesk(connection, now=office.clock()).open_questions(person=person)
        at_hand = case if case in waiting else next(iter(waiting), None)
        shown_cases = list(dict.fromkeys([*([] if at_hand is None else [at_hand]), *waiting[:MOST_LISTED]]))
        keys = {one: key for one, (key, _) in read_contents(connection, shown_cases).items()}
        question = None if at_hand is None else question_of(connection, office, at_hand, person)
        result = None if last is None else result_of(connection, last, person, now=office.clock())
        me = read_people(connection)[person]
    names = {one: keys.get(one) or one for one in shown_cases}
    return render(
        request,
        "inbox.html",
        question=question,
        result=result,
        me=me,
        n_waiting=len(waiting),
        queue=[(one, names[one]) for one in waiting[:MOST_LISTED]],
        at_hand=at_hand,
    )


def question_of(connection: Connection, office: Office, case: str, person: str) -> dict[str, Any]:
    """Return what an expert sees of their question. What the model or others would answer is not in it."""
    state = read_cases(connection, [case])[case]
    key, row = read_contents(connection, [case]).get(case, (None, {}))
    entries = log.of_cases(connection, [case], kinds=("asked", "rerouted"))
    question = next(one.fact for one in reversed(entries) if isinstance(one.fact, Asked) and one.person == person)
    labels = [text_of(value) for value in office.team.class_values]
    return {
        "case": case,
        "name": key or case,
        "shown": shown(row),
        "unusual": state.unusual.split("; ") if state.unusual else [],
        "p_person": question.p_person,
        "fee": question.fee,
        "cost_with": question.expected_cost,
        "cost_without": question.answer_cost,
        "rerouted": question.kind == "rerouted",
        "asked_at": state.asked_at,
        "due": state.due,
        "classes": list(zip(keys_of(labels), labels, strict=True)),
    }


def keys_of(labels: Sequence[str]) -> list[str]:
    """Return the key of each class: its own name where all are digits, else 1 to 9 and 0; "" beyond ten.

    >>> keys_of(["0", "1"]), keys_of(["ill", "well"]), keys_of([f"c{k}" for k in range(11)])[8:]
    (['0', '1'], ['1', '2'], ['9', '0', ''])
    """
    if all(label in KEYS and len(label) == 1 for label in labels):
        return list(labels)
    return [KEYS[k] if k < len(KEYS) else "" for k in range(len(labels))]


def result_of(connection: Connection, case: str, person: str, *, now: float) -> dict[str, Any] | None:
    """Return what came of the last answer or of a skipped question; None where the case is not theirs to see."""
    state = read_cases(connection, [case]).get(case)
    if state is None or person not in state.was_asked:
        return None
    key = read_contents(connection, [case]).get(case, (None, None))[0]
    answers = [one for one in log.of_cases(connection, [case], kinds=("answered",)) if one.person == person]
    answer = state.answer_of(person)
    fact = answers[-1].fact if answers and answer is not None else None
    return {
        "case": case,
        "name": key or case,
        "answer": None if answer is None else text_of(answer),
        "counted": isinstance(fact, Answered) and fact.counted,
        "mine": state.asked == person,
        "undo_seconds": max(0, int(answers[-1].at + UNDO_SECONDS - now)) if fact is not None else 0,
    }


MOST_NOTE = 500


@router.post("/inbox/answer")
async def answer(request: Request, office: InOffice) -> Response:
    """Keep an answer; the next question comes up."""
    form, person = await form_of(request), caller_of(request).person
    case = case_in(form)
    await done(office, GiveAnswer(case, person, needed(form, "answer"), person))
    return RedirectResponse(f"/inbox?last={case}", 303)


@router.post("/inbox/skip")
async def skip(request: Request, office: InOffice) -> Response:
    """Give a question back, with a reason."""
    form, person = await form_of(request), caller_of(request).person
    case, note = case_in(form), needed(form, "note").strip()
    if not note or len(note) > MOST_NOTE or not note.isprintable():
        raise Problem(422, f"note: say in 1 to {MOST_NOTE} characters why you skip this question.")
    await done(office, Skip(case, person, person, note))
    return RedirectResponse(f"/inbox?last={case}", 303)


@router.post("/inbox/undo")
async def undo(request: Request, office: InOffice) -> Response:
    """Take the last answer back; its question comes up again."""
    form, person = await form_of(request), caller_of(request).person
    case = case_in(form)
    await done(office, Undo(case, person, person))
    return RedirectResponse(f"/inbox?case={case}&last={case}", 303)


@router.post("/inbox/availability")
async def availability(request: Request, office: InOffice) -> Response:
    """Be asked, or not; questions that wait already stay until they are due."""
    form, person = await form_of(request), caller_of(request).person
    await done(office, ChangePerson(person, {"available": needed(form, "available") == "yes"}, person))
    return RedirectResponse("/inbox", 303)


def case_in(form: dict[str, str]) -> str:
    """Return the case of a form; raises `Problem` where it is no id."""
    case = needed(form, "case")
    if not re.fullmatch(r"c[1-9][0-9]{0,17}", case):
        raise Problem(404, "There is no such case.")
    return case
