"""An office on a new SQLite file, and clients of its application in this process."""

import pytest
from small_team import Clock, small_team
from starlette.testclient import TestClient

from defero.service.access import RateLimit, issue_token
from defero.service.flow.settings import AddPerson
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.web.app import make_app

FREE = dict.fromkeys(("lead", "expert", "machine", "nobody"), (1000000.0, 1000000.0))


_APPS = {}


def app_on(office, make=make_app):
    """Return an application on an office; its routes are built once for all tests."""
    app = _APPS[make] = _APPS.get(make) or make(office)
    app.state.office = office
    return app


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def office(tmp_path, clock):
    office = Office.of_team(small_team(), str(tmp_path / "cases.sqlite"), clock=clock, rates=RateLimit(FREE))
    yield office
    office.close()


class Clients:
    """Requests by role: `clients.lead.get(...)`."""

    def __init__(self, office, http):
        self.office, self.http, self.tokens = office, http, {}
        self.ids = {"ann": "p1", "bob": "p2", "cem": "p3"}
        for name, role in (("boss", "lead"), ("robot", "machine")):
            self.ids[name] = office.do(AddPerson(name, role, "system"))["person"]
        for name, person in self.ids.items():
            with office.database.write() as connection:
                self.tokens[name] = issue_token(connection, person, now=office.clock())

    def call(self, who, method, path, **more):
        headers = more.pop("headers", {})
        if who is not None:
            headers = {"Authorization": f"Bearer {self.tokens.get(who, who)}", **headers}
        return self.http.request(method, path, headers=headers, **more)

    def add(self, *rows, who="robot", **more):
        body = {"cases": [{"features": list(row)} for row in rows]}
        return self.call(who, "POST", "/v1/cases", json=body, **more)


@pytest.fixture
def clients(office):
    with TestClient(Shell(app_on(office), most_bytes=200_000), raise_server_exceptions=False) as http:
        yield Clients(office, http)
