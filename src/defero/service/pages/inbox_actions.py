"""What an expert does in the inbox: answer, skip, undo, be away. Each form leads back to the inbox."""

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import RedirectResponse

from defero.service.access.forms import form_of
from defero.service.api.caller import caller_of, office_of
from defero.service.api.sending import done
from defero.service.flow.answer import GiveAnswer, Skip
from defero.service.flow.change_people import ChangePerson
from defero.service.flow.undo import Undo
from defero.service.office import Office
from defero.service.problems import Problem

router = APIRouter()
InOffice = Annotated[Office, Depends(office_of)]
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


def needed(form: dict[str, str], name: str) -> str:
    """Return a field of a form; raises `Problem` where it is missing."""
    if name not in form:
        raise Problem(422, f"{name}: is missing in the form.")
    return form[name]
