"""Answers and questions given back, by the API and in the inbox of an expert; and outcomes, as they become known."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query, Request, Response
from sqlalchemy import Connection

from defero.data.tables.cells import text_of
from defero.service import Problem
from defero.service.access import EVERYBODY, EXPERT, WITH_PROGRAMS, Caller
from defero.service.events import Answered, Asked
from defero.service.flow.cases import UNDO_SECONDS, GiveAnswer, GiveOutcomes, Skip, Undo
from defero.service.office import Office
from defero.service.store import log
from defero.service.store.contents import SqlDesk, read_contents
from defero.service.store.saved_views import read_cases, read_people
from defero.service.views.cases import seen_by_expert
from defero.service.views.policy import PersonId
from defero.service.web.charts import shown
from defero.service.web.forms import Fields
from defero.service.web.people import change_person
from defero.service.web.requests import InOffice, Routes, caller_of, done, plain
from defero.service.web.schemas import (
    AnswerIn,
    AnswerOut,
    Case,
    CaseIdIn,
    OutcomesIn,
    OutcomesOut,
    PersonChangeIn,
    SkipIn,
    StepOut,
)
from defero.service.web.sight import render

router = Routes("answers")


@router.at("POST /v1/answers", EVERYBODY, 404, 409, response_model=AnswerOut)
async def give_answer(request: Request, body: AnswerIn, office: InOffice) -> Response:
    """Answer a case; the next step comes back."""
    caller = caller_of(request)
    command = GiveAnswer(body.case, _person(caller, body.person), body.answer, caller.person)
    return plain(_shown_to(caller, await done(office, command)))


@router.at("POST /v1/skips", EVERYBODY, 404, 409, response_model=StepOut)
async def skip(request: Request, body: SkipIn, office: InOffice) -> Response:
    """Give a question back; it goes to somebody else, or the case is answered."""
    caller = caller_of(request)
    command = Skip(body.case, _person(caller, body.person), caller.person, body.note)
    return plain(_shown_to(caller, await done(office, command)))


@router.at("GET /v1/questions", EVERYBODY)
def questions(
    request: Request,
    office: InOffice,
    person: Annotated[PersonId | None, Query(examples=["p3"])] = None,
    limit: Annotated[int, Query(ge=1, le=1_000, examples=[20])] = 100,
) -> dict[str, Any]:
    """Return the questions of a person that wait, the oldest first; experts see their own."""
    whose = _person(caller_of(request), person)
    with office.database.read() as connection:
        waiting = SqlDesk(connection, now=office.clock()).open_questions(person=whose)[:limit]
        states, known = read_cases(connection, waiting), read_contents(connection, waiting)
    shown = []
    for case in waiting:
        key, row = known.get(case, (None, None))
        state = states[case]
        shown.append({"case": case, "key": key, "features": row, "asked_at": state.asked_at, "due": state.due})
    return {"person": whose, "questions": shown}


def _person(caller: Caller, named: str | None) -> str:
    """Return whose answer or question it is: experts speak for themselves, others name the person."""
    if caller.role == "expert":
        if named not in (None, caller.person):
            raise Problem(403, "An expert speaks for themselves: leave out person.")
        return caller.person
    if named is None:
        raise Problem(422, "person: say whose it is.")
    return named


def _shown_to(caller: Caller, reply: dict[str, Any]) -> dict[str, Any]:
    """Return a step as somebody may see it."""
    return seen_by_expert(reply) if caller.role == "expert" else reply


outcomes_router = Routes("outcomes")


@outcomes_router.at("POST /v1/outcomes", WITH_PROGRAMS, 404, response_model=OutcomesOut)
async def give_outcomes(request: Request, body: OutcomesIn, office: InOffice) -> Response:
    """Tell the truth of some cases: late, for a part of them, or to correct what was said; all of them or none."""
    pairs = [(one.case, one.label) for one in body.outcomes]
    return plain(await done(office, GiveOutcomes(pairs, caller_of(request).person)))


pages = Routes()
KEYS = "1234567890"
"""Of the first ten classes."""
MOST_LISTED = 20
"""Questions in the list beside the one at hand."""


@pages.at("GET /inbox", EXPERT)
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
    answer = state.all_answers.get(person)
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


def read_case(request: Request, fields: Fields) -> Fields:
    """Return a form whose case is an id."""
    if not re.fullmatch(r"c[1-9][0-9]{0,17}", fields.get("case", "")):
        raise Problem(404, "There is no such case.")
    return fields


def read_skip(request: Request, fields: Fields) -> Fields:
    """Return a form that says why a question is skipped."""
    note = fields.get("note", "").strip()
    if not note or len(note) > MOST_NOTE or not note.isprintable():
        raise Problem(422, f"note: say in 1 to {MOST_NOTE} characters why you skip this question.")
    return read_case(request, fields)


async def undo(request: Request, body: CaseIdIn, office: InOffice) -> Response:
    """Take the last answer back; its question comes up again."""
    person = caller_of(request).person
    return plain(await done(office, Undo(body.case, person, person)))


async def pause(request: Request, body: PersonChangeIn, office: InOffice) -> Response:
    """Be asked, or not; questions that wait already stay until they are due."""
    return await change_person(request, caller_of(request).person, body, office)


pages.form("POST /inbox/answer", EXPERT, give_answer, "/inbox?last={case}", read=read_case)
pages.form("POST /inbox/skip", EXPERT, skip, "/inbox?last={case}", read=read_skip)
pages.form("POST /inbox/undo", EXPERT, undo, "/inbox?case={case}&last={case}", read=read_case)
pages.form("POST /inbox/availability", EXPERT, pause, "/inbox")
