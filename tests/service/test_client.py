"""`defero.client` against a server of this process."""

import socket
import threading
import time

import pytest
import uvicorn
from small_team import SURE, UNSURE

from defero.client import Client, ServiceError
from defero.service.access import issue_token
from defero.service.flow.settings import AddPerson
from defero.service.serve import Shell
from defero.service.web.app import make_app


@pytest.fixture
def url(office):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = Shell(make_app(office))
    config = uvicorn.Config(app, port=port, log_level="error", lifespan="on", timeout_keep_alive=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def test_the_client_walks_a_case_to_its_decision(url, office):
    person = office.do(AddPerson("robot", "machine", "system"))["person"]
    with office.database.write() as connection:
        token = issue_token(connection, person, now=office.clock())
    with Client(url, token) as client:
        sure, unsure = client.add([SURE, UNSURE], keys=["a", "b"], request="k1")
        assert (sure.settled, sure.label, sure.key) == (True, "ill", "a")
        assert (unsure.settled, unsure.ask) == (False, "ann")
        assert client.add([SURE, UNSURE], keys=["a", "b"], request="k1") == [sure, unsure]
        step = client.answer(unsure.case, "well", person=unsure.person)
        while not step.settled:
            step = client.skip(unsure.case, person=step.person, note="busy")
        assert step.label == "well"
        assert client.outcomes({sure.case: "ill", unsure.case: "ill"}) == 2
        found = [decision for _, decision in client.decisions()]
        assert [(one.key, one.label) for one in found] == [("a", "ill"), ("b", "well")]
        assert found[1].heard == ("ann",)
        assert [one["name"] for one in client.people()] == ["ann", "bob", "cem", "robot"]
        assert client.questions(person="p1") == []
        with pytest.raises(ServiceError, match="403") as refused:
            client.export()
        assert refused.value.problem["title"] == "Not allowed"


def test_errors_of_the_client_say_what_is_wrong(url):
    with Client(url, "defero_wrong") as client, pytest.raises(ServiceError, match="401"):
        client.people()
    with pytest.raises(ServiceError, match="cannot be reached"):
        Client("http://127.0.0.1:9", "t", timeout=2).people()
    with pytest.raises(ValueError, match="http://"):
        Client("ftp://a", "t")


def test_the_client_sets_and_ends_a_language_model(url, office):
    person = office.do(AddPerson("boss", "lead", "system"))["person"]
    with office.database.write() as connection:
        token = issue_token(connection, person, now=office.clock())
    with Client(url, token) as client:
        terms = {"classes": ["ill"], "options": {"temperature": 0}}
        shown = client.set_language_model("p1", url="http://127.0.0.1:9/v1", model="m", **terms)
        assert terms.items() <= shown.items()
        assert (shown["person"], shown["failures"], shown["key_is_set"]) == ("p1", 0, True)
        assert client.language_models() == [shown]
        client.end_language_model("p1")
        assert client.language_models() == []
        with pytest.raises(ServiceError, match="404"):
            client.end_language_model("p1")


def test_the_client_sets_and_ends_label_studio(url, office):
    person = office.do(AddPerson("boss", "lead", "system"))["person"]
    with office.database.write() as connection:
        token = issue_token(connection, person, now=office.clock())
    with Client(url, token) as client:
        people = {"p1": "Ann@a.example", "p2": None}
        assert len(client.set_label_studio(url="http://127.0.0.1:9", people=people, unknown="assigned")) > 30
        shown = client.label_studio()
        assert shown["people"] == {"p1": "ann@a.example", "p2": None}
        assert (shown["unknown"], shown["ready"]) == ("assigned", False)
        client.end_label_studio()
        with pytest.raises(ServiceError, match="404"):
            client.label_studio()


def test_a_request_after_a_pause_is_not_lost(url, office, monkeypatch):
    monkeypatch.setattr("defero.client._IDLE_SECONDS", 0.5)
    with office.database.write() as connection:
        token = issue_token(connection, "p1", now=office.clock())
    with Client(url, token) as client:
        assert client.questions() == []
        time.sleep(1.5)  # the service has closed the connection, and a skip must not be sent twice
        with pytest.raises(ServiceError, match="404"):
            client.skip("c1")


def test_whoever_stops_in_the_middle_of_a_page_goes_on_with_the_next_decision(url, office):
    person = office.do(AddPerson("robot", "machine", "system"))["person"]
    with office.database.write() as connection:
        token = issue_token(connection, person, now=office.clock())
    with Client(url, token) as client:
        cases = [step.case for step in client.add([SURE] * 5)]
        first = client.decisions()
        seen = [next(first) for _ in range(2)]
        rest = list(client.decisions(after=seen[-1][0]))
    assert [decision.case for _, decision in (*seen, *rest)] == cases
