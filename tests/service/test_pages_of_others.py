"""Pages by those who have none, and by an expert whose case it is not: the rest of the table of test_pages."""

import pytest
from browsing import Person, without_tokens
from small_team import UNSURE, add_cases
from starlette.testclient import TestClient

from conftest import app_on
from defero.service.access import PAGES, issue_link, issue_token
from defero.service.flow.settings import AddPerson
from defero.service.serve import Shell
from defero.service.web import app as site

OWN = ("POST /inbox/answer", "POST /inbox/skip", "POST /inbox/undo")
"""What an expert can do to a case that is theirs."""


@pytest.fixture
def app(office):
    office.start()
    office.do(AddPerson("robot", "machine", "system"))  # p4
    return Shell(app_on(office, site.make_site))


def filled(path, case):
    return path.format(case=case, person="p3", who="p3", version=0, hook="w000000000000")


def test_a_machine_opens_no_page(app, office):
    case = office.do(add_cases(office.team, [UNSURE]))["cases"][0]["case"]
    with office.database.write() as connection:
        token = issue_token(connection, "p4", now=office.clock())
        link = issue_link(connection, office.key, "p4", now=office.clock())
    http = TestClient(app)
    before = office.writer.commits
    for route in PAGES:
        method, path = route.split(" ")
        sent = {} if method == "GET" else {"data": {"case": case, "answer": "ill"}}
        reply = http.request(method, filled(path, case), headers={"authorization": f"Bearer {token}"}, **sent)
        assert reply.status_code == 403, route
    assert http.get(link).status_code == 401
    assert "set-cookie" not in http.get(link).headers
    assert office.writer.commits == before


@pytest.mark.parametrize("route", OWN)
def test_an_expert_cannot_touch_the_case_of_another(app, office, route):
    case = office.do(add_cases(office.team, [UNSURE]))["cases"][0]["case"]  # ann has it
    bob = Person(app, office, "p2")
    fields = {"csrf": bob.csrf("/inbox"), "case": case, "answer": "ill", "note": "mine"}
    with office.database.read() as connection:
        before = connection.exec_driver_sql("SELECT max(seq) FROM events").scalar()
    reply = bob.http.post(route.split(" ")[1], data=fields)
    assert case not in without_tokens(bob.page("/inbox"))
    with office.database.read() as connection:
        assert connection.exec_driver_sql("SELECT max(seq) FROM events").scalar() == before
    missing = bob.http.post(route.split(" ")[1], data={**fields, "case": "c999999"})
    assert reply.status_code == missing.status_code == 404
    refusals = [without_tokens(page.text) for page in (reply, missing)]
    assert refusals[0].replace(case, "") == refusals[1].replace("c999999", "")
