"""While the database is away every request gets 503 in the one shape, and afterwards everything works again."""

import pytest
from browsing import Person
from small_team import SURE
from sqlalchemy.exc import OperationalError, TimeoutError
from starlette.testclient import TestClient

from conftest import Clients
from defero.service.serve import Shell
from defero.service.web.app import make_site


@pytest.fixture
def site(office):
    app = Shell(make_site(office))
    with TestClient(app, raise_server_exceptions=False) as http:
        yield app, Clients(office, http)


@pytest.mark.parametrize("error", [OperationalError("SELECT", None, Exception("gone")), TimeoutError("pool")])
def test_reading_gets_503_as_a_problem_and_as_a_page(site, office, monkeypatch, error):
    app, clients = site
    lead = Person(app, office, clients.ids["boss"])
    lead.http = TestClient(
        app, headers={"accept": "text/html"}, cookies=lead.http.cookies, raise_server_exceptions=False
    )
    assert clients.call("boss", "GET", "/v1/people").status_code == 200
    whole = type(office.database).read

    def away(_):
        raise error

    monkeypatch.setattr(type(office.database), "read", away)
    for forget in (False, True):  # the caller is remembered for a second, then looked up
        if forget:
            office.tokens.forget()
        reply = clients.call("boss", "GET", "/v1/people")
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
        assert reply.headers["content-type"] == "application/problem+json"
        page = lead.http.get("/console")
        assert page.status_code == 503
        assert "The database cannot be reached" in page.text
        assert "<html" in page.text
    monkeypatch.setattr(type(office.database), "read", whole)
    assert clients.call("boss", "GET", "/v1/people").status_code == 200


def test_a_server_whose_writer_died_says_so(clients):
    assert clients.call(None, "GET", "/health").status_code == 200
    clients.office.writer.stop()
    assert clients.call(None, "GET", "/health").status_code == 503
    clients.office.writer.start()
    assert clients.add(SURE).status_code == 200
