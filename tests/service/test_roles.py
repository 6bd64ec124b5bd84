"""Every route by role: lead, expert, another expert, machine, nobody, and a revoked token. Each cell is tried."""

import asyncio

import pytest
from fastapi import APIRouter
from small_team import UNSURE
from starlette.testclient import TestClient

from defero.service.access import (
    ALLOWED,
    OPEN,
    PAGES,
    SESSION_COOKIE,
    WITH_SECRET,
    issue_link,
    issue_session,
    issue_token,
    opened,
    revoke_tokens,
)
from defero.service.events import PersonChanged
from defero.service.serve import Shell
from defero.service.store.contents import write_names
from defero.service.store.saved_views import open_ledger, save_ledger
from defero.service.web.app import make_app, make_site

WHO = {"lead": "boss", "expert": "ann", "other expert": "bob", "machine": "robot", "nobody": None, "revoked": "revoked"}
OTHERS = {"nobody": 401, "revoked": 401}
# What each request is, and what whoever may make it gets; "other expert" where it differs from "expert".
REQUESTS = {
    "GET /metrics": ({}, {"lead": 200, "machine": 200}),
    "GET /v1/me": ({}, {"lead": 200, "machine": 200, "expert": 200, "other expert": 200}),
    "POST /v1/cases": ({"json": {"cases": [{"features": UNSURE}]}}, {"lead": 200, "machine": 200}),
    "GET /v1/cases/{case}": ({}, {"lead": 200, "machine": 200, "expert": 200, "other expert": 404}),
    "GET /v1/cases/{case}/trail": ({}, {"lead": 200}),
    "DELETE /v1/cases/{case}/content": ({}, {"lead": 200}),
    "POST /v1/answers": (
        {"json": {"case": "{case}", "answer": "ill"}},
        {"lead": 422, "machine": 422, "expert": 200, "other expert": 404},
    ),
    "POST /v1/skips": ({"json": {"case": "{case}"}}, {"lead": 422, "machine": 422, "expert": 200, "other expert": 404}),
    "GET /v1/questions": (
        {"params": {"person": "p1"}},
        {"lead": 200, "machine": 200, "expert": 200, "other expert": 403},
    ),
    "POST /v1/outcomes": (
        {"json": {"outcomes": [{"case": "{case}", "label": "ill"}]}},
        {"lead": 200, "machine": 200},
    ),
    "GET /v1/decisions": ({}, {"lead": 200, "machine": 200}),
    "GET /v1/export.csv": ({}, {"lead": 200}),
    "GET /v1/tallies": ({}, {"lead": 200}),
    "GET /v1/policy": ({}, {"lead": 200, "machine": 200}),
    "PUT /v1/policy": ({"json": {"error_cost": 2}}, {"lead": 200}),
    "GET /v1/policies": ({}, {"lead": 200}),
    "POST /v1/policies/preview": ({"json": {"error_cost": 2}}, {"lead": 200}),
    "POST /v1/policies/{version}/restore": ({}, {"lead": 200}),
    "GET /v1/models": ({}, {"lead": 200}),
    "POST /v1/models": ({"json": {"folder": "next"}}, {"lead": 409}),
    "GET /v1/models/comparison": ({}, {"lead": 404}),
    "POST /v1/models/{version}/switch": ({}, {"lead": 404}),
    "GET /v1/webhooks": ({}, {"lead": 200}),
    "POST /v1/webhooks": ({"json": {"url": "http://127.0.0.1:9/x", "kinds": ["model_changed"]}}, {"lead": 201}),
    "DELETE /v1/webhooks/{hook}": ({}, {"lead": 404}),
    "GET /v1/language-models": ({}, {"lead": 200}),
    "PUT /v1/language-models/{person}": (
        {"json": {"url": "http://127.0.0.1:9/v1", "model": "m", "within": 1e-9}},
        {"lead": 200},
    ),
    "DELETE /v1/language-models/{person}": ({}, {"lead": 200}),
    "GET /v1/label-studio": ({}, {"lead": 404}),
    "PUT /v1/label-studio": (
        {"json": {"url": "http://127.0.0.1:9", "people": {"p1": "ann@a.example"}, "key_variable": ""}},
        {"lead": 200},
    ),
    "DELETE /v1/label-studio": ({}, {"lead": 200}),
    "GET /v1/drift": ({}, {"lead": 200}),
    "POST /v1/drift/{who}": ({"json": {"action": "correct"}}, {"lead": 409}),
    "GET /v1/people": ({}, {"lead": 200, "machine": 200}),
    "POST /v1/people": ({"json": {"name": "eve", "role": "expert"}}, {"lead": 201}),
    "PATCH /v1/people/{person}": ({"json": {"available": False}}, {"lead": 200, "expert": 200, "other expert": 404}),
    "DELETE /v1/people/{person}": ({}, {"lead": 200}),
    "POST /v1/people/{person}/tokens": ({}, {"lead": 201}),
    "DELETE /v1/people/{person}/tokens": ({}, {"lead": 200}),
}


def routes(office):
    made = make_app(office).openapi()["paths"]
    return {f"{method.upper()} {path}" for path, operations in made.items() for method in operations}


def test_every_route_is_in_the_table(office):
    assert routes(office) | {"GET /openapi.json"} == set(ALLOWED) | OPEN | set(WITH_SECRET)
    assert set(REQUESTS) == set(ALLOWED)


@pytest.mark.parametrize("who", WHO)
def test_what_a_role_may_do(clients, who):
    clients.tokens["revoked"] = "defero_no-such-token"
    with_revoked(clients)
    for route, (more, expected) in REQUESTS.items():
        case = clients.add(UNSURE, who="boss").json()["cases"][0]["case"]
        method, path = route.split(" ")
        sent = {kind: filled(value, case) for kind, value in more.items()}
        reply = clients.call(
            WHO[who], method, path.format(case=case, person="p1", who="p1", version=0, hook="w000000000000"), **sent
        )
        assert reply.status_code == expected.get(who, OTHERS.get(who, 403)), (route, who, reply.text)
        if reply.status_code >= 400:
            assert reply.headers["content-type"] == "application/problem+json"
        again(clients)


def again(clients):
    """Undo what a request may have done to ann, so that the next one meets the same world."""
    if clients.call("boss", "GET", "/v1/people").json()["people"][0]["removed"]:
        with clients.office.database.write() as connection:
            ledger = open_ledger(connection, now=clients.office.clock())
            ledger.add(PersonChanged(person="p1", change={"removed": False}, by="test"))
            save_ledger(connection, ledger)
            write_names(connection, {"p1": "ann"})
    clients.call("boss", "PATCH", "/v1/people/p1", json={"available": True})
    with_revoked(clients)


def with_revoked(clients):
    """Give everybody fresh tokens, and revoke one of a lead."""
    office = clients.office
    with office.database.write() as connection:
        clients.tokens["revoked"] = issue_token(connection, clients.ids["boss"], now=office.clock())
        revoke_tokens(connection, clients.ids["boss"], now=office.clock())
        for name in ("boss", "ann"):
            clients.tokens[name] = issue_token(connection, clients.ids[name], now=office.clock())
    office.tokens.forget()


def filled(value, case):
    if isinstance(value, dict):
        return {name: filled(one, case) for name, one in value.items()}
    if isinstance(value, list):
        return [filled(one, case) for one in value]
    return case if value == "{case}" else value


@pytest.mark.parametrize("who", WHO)
def test_a_route_with_a_secret_takes_no_token_for_it(clients, who):
    clients.tokens["revoked"] = "defero_no-such-token"
    with_revoked(clients)
    body = {"url": "http://127.0.0.1:9", "people": {"p1": None}, "key_variable": ""}
    secret = clients.call("boss", "PUT", "/v1/label-studio", json=body).json()["secret"]
    for given, status in ((None, 401), ("wrong", 401), (secret[:-1], 401), (secret, 202)):
        headers = {} if given is None else {"Defero-Secret": given}
        reply = clients.call(
            WHO[who], "POST", "/v1/label-studio/annotations", json={"task": {"id": 1}}, headers=headers
        )
        assert reply.status_code == status, (who, given)


def test_open_routes_need_no_token_and_tell_nothing(clients):
    assert clients.call(None, "GET", "/health").json() == {"status": "ok"}
    assert clients.call(None, "GET", "/openapi.json").json()["info"]["title"] == "defero"


def status_unread(app, route, headers):
    """Send a request whose body must not be read, and return the status of the reply."""
    method, path = route.split(" ")
    path = path.format(case="c1", person="p1", who="p1", version=0, hook="w000000000000")
    sent = [(b"content-type", b"application/x-www-form-urlencoded"), *headers]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    scope |= {"headers": sent, "scheme": "http", "server": ("here", 80), "client": ("10.0.0.1", 1), "root_path": ""}
    messages = []

    async def receive():
        raise AssertionError(f"the body of {route} was read")

    async def send(message):
        messages.append(message)

    asyncio.run(app({**scope, "http_version": "1.1", "asgi": {"version": "3.0"}}, receive, send))
    return messages[0]["status"]


def test_the_body_of_a_stranger_is_not_read(office):
    with office.database.write() as connection:
        link = issue_link(connection, office.key, "p1", now=office.clock()).removeprefix("/in/")
        session = issue_session(connection, office.key, opened(office.key, "link", link, now=1.0), now=office.clock())
        revoke_tokens(connection, "p1", now=office.clock())
    strangers = ([], [(b"authorization", b"Bearer defero_no-such-token")], [(b"defero-secret", b"guessed")])
    revoked = [(b"cookie", f"{SESSION_COOKIE}={session}".encode())]
    app = Shell(make_site(office))
    for route in [one for one in {**ALLOWED, **PAGES, **WITH_SECRET} if not one.startswith("GET ")]:
        office.rates._left.clear()
        for headers in (*strangers, revoked):
            assert status_unread(app, route, headers) == 401, (route, headers)


def test_a_route_of_another_class_is_closed(office):
    router = APIRouter()
    router.get("/v1/me/too")(lambda: {"open": True})
    app = make_app(office)
    app.include_router(router)
    with TestClient(app) as http:
        assert http.get("/v1/me/too").status_code == 403
