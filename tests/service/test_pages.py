"""Pages in this process: every route by role, links and sessions, CSRF, and what the inbox and the console show."""

import html
import re

import pytest
from browsing import Page, Person, without_tokens
from small_team import SURE, UNSURE, add_cases

from conftest import app_on
from defero.service.access import OPEN_PAGES, PAGES, revoke_tokens
from defero.service.flow.cases import GiveAnswer, GiveOutcomes
from defero.service.flow.settings import AddPerson, ChangePerson
from defero.service.serve import Shell
from defero.service.web import app as site
from defero.service.web.console import PANELS

OTHER_ANSWER_FIRST = [0.5, 0.75, 0.75, 0.75]
FORMS = {
    "POST /out": {},
    "POST /inbox/answer": {"case": "{case}", "answer": "ill"},
    "POST /inbox/skip": {"case": "{case}", "note": "not my field"},
    "POST /inbox/undo": {"case": "{case}"},
    "POST /inbox/availability": {"available": "yes"},
    "POST /console/people": {"name": "eve", "role": "expert"},
    "POST /console/drift/{who}": {"action": "correct"},
    "POST /console/policy": {"error_cost": "2", "asking": "one"},
    "POST /console/policy/preview": {"error_cost": "2"},
    "POST /console/policy/mode": {"mode": "live"},
    "POST /console/models": {"folder": "next"},
    "POST /console/cases": {"table": "a,b,c,d\n0.5,0.9,0.8,0.7"},
    "POST /console/connections/language-models": {"person": "p3", "url": "http://127.0.0.1:9/v1", "model": "m"},
    "POST /console/connections/label-studio": {
        "url": "http://127.0.0.1:9",
        "in/p1": "yes",
        "people/p1": "",
        "key_variable": "",
    },
    "POST /console/connections/webhooks": {"url": "http://127.0.0.1:9/x", "kinds/model_changed": "model_changed"},
}

MISSING = ("/console/models/{version}/switch", "/console/connections/webhooks/{hook}/end")
"""There is no model 0, and no such webhook."""


@pytest.fixture
def app(office):
    office.start()
    office.do(AddPerson("boss", "lead", "system"))  # p4
    office.do(AddPerson("robot", "machine", "system"))  # p5
    return Shell(app_on(office, site.make_site))


@pytest.fixture
def lead(app, office):
    return Person(app, office, "p4")


@pytest.fixture
def ann(app, office):
    return Person(app, office, "p1")


def ask(office, *rows):
    return [one["case"] for one in office.do(add_cases(office.team, rows or [UNSURE]))["cases"]]


def test_every_page_is_in_the_table():
    routes = {
        f"{next(iter(route.methods - {'HEAD'}))} {route.path}" for one in site.PAGE_ROUTERS for route in one.routes
    }
    assert routes == set(PAGES) | OPEN_PAGES
    for route, roles in PAGES.items():
        own = {"/console": {"lead"}, "/inbox": {"expert"}}
        start = next((one for one in own if route.split(" ")[1].startswith(one)), None)
        assert roles == own.get(start, {"lead", "expert"}), route


@pytest.mark.parametrize("who", ["lead", "expert", "nobody", "revoked", "expired"])
def test_every_page_by_role(app, office, who):
    case = ask(office)[0]
    person = {"lead": "p4", "expert": "p1", "nobody": "p1", "revoked": "p4", "expired": "p4"}[who]
    somebody = Person(app, office, person)
    csrf = somebody.csrf("/console" if person == "p4" else "/inbox")
    if who == "nobody":
        somebody.http.cookies.clear()
    if who == "revoked":
        with office.database.write() as connection:
            revoke_tokens(connection, person, now=office.clock())
    if who == "expired":
        office.clock.now += 8 * 86_400
    for route, roles in PAGES.items():
        method, path = route.split(" ")
        fields = {name: value.format(case=case) for name, value in FORMS.get(route, {}).items()}
        sent = {} if method == "GET" else {"data": {"csrf": csrf, **fields}}
        if (who, route) == ("lead", "POST /out"):
            continue  # it ends the session; an expert's is tried
        if (who, route) == ("lead", "POST /console/people/{person}/remove"):
            path = path.format(person="p2")
        filled = path.format(case=case, person="p3", who="p3", version=0, hook="w000000000000")
        reply = somebody.http.request(method, filled, **sent)
        allowed = who in roles
        expected = 401 if who in ("nobody", "revoked", "expired") else 403
        done = reply.status_code < 400 or reply.status_code == 409 or (reply.status_code == 404 and path in MISSING)
        assert done if allowed else reply.status_code == expected, (
            route,
            reply.status_code,
            reply.text[-400:],
        )
        assert "text/html" in reply.headers.get("content-type", "text/html")
        if (who, route) == ("expert", "POST /out"):  # signed out: in again
            somebody = Person(app, office, person)
            csrf = somebody.csrf("/inbox")


def test_a_form_without_the_token_of_its_session_does_nothing(office, ann, lead):
    case = ask(office)[0]
    for csrf in ({}, {"csrf": "wrong"}, {"csrf": lead.csrf("/console")}):
        reply = ann.http.post("/inbox/answer", data={"case": case, "answer": "ill", **csrf})
        assert (reply.status_code, "CSRF" in reply.text) == (403, True)
    assert case in ann.page("/inbox")


def test_a_link_sets_a_strict_cookie_and_ends_when_it_is_revoked(office, app, ann):
    cookie = ann.entered.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
    assert 'content="0; url=/inbox"' in ann.entered.text
    assert ann.http.get("/").headers["location"] == "/inbox"
    with office.database.write() as connection:
        revoke_tokens(connection, "p1", now=office.clock())
    assert "Open your link again" in ann.page("/inbox", 401)
    assert Person(app, office, "p1", now=office.clock() - 91 * 86_400).entered.status_code == 401
    assert Person(app, office, "p5").entered.status_code == 401  # programs have no pages
    assert ann.http.get("/in/abc.99999999999.def").status_code == 401


def test_signing_out_ends_the_session_here(ann):
    assert ann.send("/out", on="/inbox").status_code == 200
    assert ann.cookie() is None


def test_pages_ask_no_other_host_and_have_no_inline_code(office, ann, lead):
    cases = ask(office)
    for who, paths in ((ann, ["/inbox"]), (lead, ["/console", "/console/people", f"/console/cases/{cases[0]}"])):
        for path in paths:
            text = who.page(path)
            assert not re.search(r"""(src|href|action)=["'](https?:)?//""", text)
            assert not re.search(r"<script(?![^>]*src=)|\son\w+=|\sstyle=|<style", text)
    assert "default-src 'self'" in ann.http.get("/inbox").headers["content-security-policy"]
    for name in ("style.css", "inbox.js", "cases.js", "icon.svg"):
        reply = ann.http.get(f"/assets/{name}")
        assert (reply.status_code, "http" in reply.text.replace("http://www.w3.org/2000/svg", "")) == (200, False)
    assert ann.http.get("/assets/..%2Frender.py").status_code == 404
    assert ann.http.get("/assets/nothing.css").status_code == 404


def test_every_field_and_picture_has_a_name(office, ann, lead):
    case = ask(office)[0]
    for who, path in ((ann, "/inbox"), (lead, "/console"), (lead, "/console/people"), (lead, f"/console/cases/{case}")):
        page = Page(who.page(path))
        ids = [one["id"] for _, one in page.tags if "id" in one]
        assert len(ids) == len(set(ids)), path
        labelled = {one.get("for") for one in page.all("label")}
        inside = len(re.findall(r"<label>", page.text))
        free = [
            one
            for one in page.all("input") + page.all("select") + page.all("textarea")
            if one.get("type") != "hidden" and one.get("id") not in labelled and "aria-label" not in one
        ]
        assert len(free) <= inside, (path, free)
        assert all("aria-label" in one for one in page.all("svg"))
        assert (len(page.all("main")), len(page.all("h1"))) == (1, 1)


def test_an_expert_sees_the_case_and_why_and_not_what_others_think(office, ann):
    case = ask(office)[0]
    page = ann.page("/inbox")
    for words in ("x0", "0.5", "90 %", "Why you", 'value="ill"', 'data-key="2"', "24 h"):
        assert words in page, words
    assert "50 %" not in page  # what the model believes
    assert case in page


def test_answers_bring_up_the_next_case_and_can_be_taken_back(office, ann):
    first, second = ask(office, UNSURE, UNSURE)
    reply = ann.send("/inbox/answer", on="/inbox", case=first, answer="ill")
    assert (reply.status_code, reply.headers["location"]) == (303, f"/inbox?last={first}")
    page = ann.page(f"/inbox?last={first}")
    assert f'<h1 id="case" tabindex="-1">{second}</h1>' in page
    assert "you answered <strong>ill</strong>" in page
    reply = ann.send("/inbox/undo", on="/inbox", case=first)
    page = ann.page(reply.headers["location"])
    assert f'<h1 id="case" tabindex="-1">{first}</h1>' in page
    assert "taken back" in page
    ann.send("/inbox/answer", on="/inbox", case=first, answer="well")
    office.clock.now += 61
    assert 'id="undo"' not in ann.page(f"/inbox?last={first}")
    reply = ann.send("/inbox/undo", on="/inbox", case=first)
    assert (reply.status_code, "60 seconds" in reply.text) == (409, True)


def test_a_late_answer_is_kept_and_said_not_to_count(office, ann):
    case = ask(office)[0]
    office.do(GiveAnswer(case, "p2", "well", "p5"))
    csrf = ann.csrf("/inbox")
    ann.http.post("/inbox/answer", data={"csrf": csrf, "case": case, "answer": "ill"})
    page = ann.page(f"/inbox?last={case}")
    assert "kept and not counted" in page


def test_a_question_is_skipped_with_a_reason_only(office, ann, lead):
    case = ask(office)[0]
    assert ann.send("/inbox/skip", on="/inbox", case=case, note=" ").status_code == 422
    ann.send("/inbox/skip", on="/inbox", case=case, note="not my <b>field</b>")
    assert "Nothing waits for you" in ann.page("/inbox")
    trail = lead.page(f"/console/cases/{case}")
    assert "not my &lt;b&gt;field&lt;/b&gt;" in trail
    assert "bob was asked in place of ann" in trail


def test_what_is_not_mine_is_not_shown(app, office, ann):
    case = ask(office)[0]
    bob = Person(app, office, "p2")
    page = bob.page(f"/inbox?case={case}&last={case}").split("<main")[1]
    assert case not in without_tokens(page)
    assert bob.send("/inbox/answer", on="/inbox", case=case, answer="ill").status_code == 404


def test_an_expert_pauses(office, ann):
    ann.send("/inbox/availability", on="/inbox", available="no")
    assert "You get no new questions" in ann.page("/inbox")
    assert office.do(add_cases(office.team, [UNSURE]))["cases"][0]["ask"] == "bob"


def test_the_console_shows_the_figures(office, lead):
    office.do(ChangePerson("p1", {"capacity": 2}, "p4"))
    cases = ask(office, UNSURE, UNSURE, UNSURE, SURE)
    office.clock.now += 90
    office.do(GiveAnswer(cases[0], "p1", "ill", "p1"))
    office.do(GiveOutcomes([(cases[0], "ill"), (cases[3], "well")], "p4"))
    page = lead.page("/console?days=7")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert "Questions waiting 2" in text
    assert "Received today 4" in text
    assert "By the model alone 50 %" in text
    assert re.search(r"ann 1 \(90 s\) 2 of 2 1 0 0 90 s", text)
    assert re.search(r"the team 2 9\d % 50 %", text)
    assert re.search(r"ann 1 90 % 100 % 21 % to 100 %", text)
    assert "Fees 0.03" in text
    assert "Cost of known errors 1.00" in text
    assert all(f'id="{one.name}"' in page for one in PANELS)
    assert lead.http.get("/v1/export.csv").text.startswith("case,x0")
    assert lead.page("/console?days=0", 422)


def test_the_trail_has_everything_in_order(office, ann, lead):
    case = ask(office)[0]
    ann.send("/inbox/answer", on="/inbox", case=case, answer="ill")
    ann.send("/inbox/undo", on="/inbox", case=case)
    ann.send("/inbox/answer", on="/inbox", case=case, answer="well")
    office.do(GiveOutcomes([(case, "well")], "p5"))
    page = lead.page(f"/console/cases/{case}")
    places = [
        page.index(words)
        for words in ("Received; scored", "ann was asked", "answered ill", "took the answer back", "answered well")
    ]
    assert places == sorted(places)
    assert "The outcome is well, by robot" in page
    assert lead.page("/console/cases/c999", 404)


def test_people_are_added_changed_linked_and_removed(app, office, lead):
    on = "/console/people"
    lead.send(on, on=on, name="eve", role="expert", capacity="12")
    assert "not in the model" in lead.page(on)
    lead.send(f"{on}/p1", on=on, capacity="7", available="no")
    with office.database.read():
        assert office.do(ChangePerson("p1", {}, "p4"))["capacity"] == 7
    assert not office.do(ChangePerson("p1", {}, "p4"))["available"]
    assert lead.send(f"{on}/p1", on=on, capacity="many").status_code == 422
    made = lead.send(f"{on}/p1/link", on=on).text
    link = re.search(r'id="secret">([^<]+)<', made).group(1)
    ann = Person(app, office, "p2")
    assert ann.http.get(link).status_code == 200
    assert ann.http.get("/v1/me").json()["person"] == "p1"
    lead.send(f"{on}/p1/revoke", on=on)
    assert ann.http.get("/inbox").status_code == 401
    assert "defero_" in lead.send(f"{on}/p5/link", on=on).text
    assert lead.send(f"{on}/p4/remove", on=on).status_code == 409
    lead.send(f"{on}/p2/remove", on=on)
    assert ">bob" not in lead.page(on)


def test_cases_come_from_a_pasted_table(office, lead):
    on = "/console/cases"
    reply = lead.send(on, on=on, table="a,b,c,d\n0.5,0.9,0.8,0.7\n0.999,0.9,0.8,0.7\n")
    assert reply.headers["location"] == f"{on}?added=2"
    page = lead.page(reply.headers["location"])
    assert "2 cases added" in page
    assert "with ann" in page
    for table in ("", "a,b,c,d\n", "a,b,c,d\n1,2,x,3"):
        assert lead.send(on, on=on, table=table).status_code == 422
    assert "There is no such case" in lead.page(f"{on}?find=nobody")


def test_a_table_that_cannot_be_read_comes_back_with_the_reason(office, lead):
    for table in ('a,b,c,d\n"1,2,3,4\n' + "x" * 140_000, "a,b,c,d\n1,2,x,4", ""):
        reply = lead.send("/console/cases", on="/console/cases", table=table)
        assert reply.status_code == 422, table[:20]
        assert "Nothing was added." in reply.text
        assert table[:20] in html.unescape(reply.text)


def test_ids_that_are_none_are_not_looked_for(office, ann, lead):
    for case in ("c1\x00", "x", "c1' --"):
        assert ann.send("/inbox/answer", on="/inbox", case=case, answer="ill").status_code == 404
    assert "There is no such case." in lead.page("/console/cases?find=a%00b")
