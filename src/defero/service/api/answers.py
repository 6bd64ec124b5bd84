"""Answers, questions given back, the queue of a person; and outcomes, as they become known."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from defero.service.access.tokens import Caller
from defero.service.api.errors import responses
from defero.service.api.requests import GuardedRoute, InOffice, caller_of, done, plain
from defero.service.api.schemas import AnswerIn, AnswerOut, OutcomesIn, OutcomesOut, PersonId, SkipIn, StepOut
from defero.service.flow.answers import GiveAnswer, Skip
from defero.service.flow.cases import GiveOutcomes
from defero.service.flow.steps import seen_by_expert
from defero.service.problems import Problem
from defero.service.store.contents import read_contents
from defero.service.store.saved_views import read_cases
from defero.service.store.sql_desk import SqlDesk

router = APIRouter(tags=["answers"], route_class=GuardedRoute)


@router.post("/v1/answers", response_model=AnswerOut, responses=responses(404, 409))
async def give_answer(request: Request, body: AnswerIn, office: InOffice) -> Response:
    """Answer a case; the next step comes back."""
    caller = caller_of(request)
    command = GiveAnswer(body.case, _person(caller, body.person), body.answer, caller.person)
    return plain(_shown_to(caller, await done(office, command)))


@router.post("/v1/skips", response_model=StepOut, responses=responses(404, 409))
async def skip(request: Request, body: SkipIn, office: InOffice) -> Response:
    """Give a question back; it goes to somebody else, or the case is answered."""
    caller = caller_of(request)
    command = Skip(body.case, _person(caller, body.person), caller.person, body.note)
    return plain(_shown_to(caller, await done(office, command)))


@router.get("/v1/questions", responses=responses())
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


outcomes_router = APIRouter(tags=["outcomes"], route_class=GuardedRoute)


@outcomes_router.post("/v1/outcomes", response_model=OutcomesOut, responses=responses(404))
async def give_outcomes(request: Request, body: OutcomesIn, office: InOffice) -> Response:
    """Tell the truth of some cases: late, for a part of them, or to correct what was said; all of them or none."""
    pairs = [(one.case, one.label) for one in body.outcomes]
    return plain(await done(office, GiveOutcomes(pairs, caller_of(request).person)))
