"""A signed link becomes a session in a cookie; and out again."""

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from defero.service.access.links import SESSION_DAYS, session_of
from defero.service.access.signing import SESSION_COOKIE
from defero.service.api.caller import caller_of, the_office
from defero.service.pages.render import render
from defero.service.problems import Problem

router = APIRouter()
HOME = {"lead": "/console", "expert": "/inbox"}
"""The first page of a role; programs have none."""


@router.get("/in/{link}")
def sign_in(request: Request, link: str) -> Response:
    """Set the cookie of a session, and go on to the first page.

    The page goes on by itself: a redirect would still count as coming from the site of the link, and a browser would
    not send a cookie that is SameSite=Strict.
    """
    office = the_office(request)
    session = session_of(office.key, link, now=office.clock())
    caller = None if session is None else office.tokens.caller_now(session[0])
    if session is None or caller is None or caller.role not in HOME:
        raise Problem(401, "This link does not work any more; ask the lead for a new one.")
    reply = render(request, "enter.html", home=HOME[caller.role])
    reply.set_cookie(
        SESSION_COOKIE,
        session[1],
        max_age=int(86_400 * SESSION_DAYS),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return reply


@router.get("/")
def home(request: Request) -> Response:
    """Go to the first page of the caller."""
    return RedirectResponse(HOME[caller_of(request).role], 303)


@router.post("/out")
async def sign_out(request: Request) -> Response:
    """End the session in this browser; the link still holds until it is revoked."""
    reply = render(request, "out.html")
    reply.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
    return reply
