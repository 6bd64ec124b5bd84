"""A database and a log made by commit 687db29: opened, replayed to equal views, and served by a model fitted now.

A model folder of then need not be loadable: whoever upgrades fits their table again and serves the new model with
`--database OLD`. The service records it as the next model, and everything else goes on.
"""

import gzip
import json
from pathlib import Path

import pytest
from browsing import Person
from record_office import FREE, fit, line_of, plain
from small_team import Clock
from starlette.testclient import TestClient

from defero.service.access import ALLOWED, PAGES, RateLimit
from defero.service.events import Entry
from defero.service.flow.team import Shelf, load_team
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.store.database import Database, migrate
from defero.service.store.log import append, read_log
from defero.service.store.saved_views import fold_log, read_views, rebuild
from defero.service.web.app import make_site

FROZEN = Path(__file__).parent / "frozen"
FACTS = json.loads((FROZEN / "facts.json").read_text())


def unpacked(name):
    return gzip.decompress((FROZEN / name).read_bytes())


LINES = unpacked("log.jsonl.gz").decode().splitlines()
VIEWS = json.loads(unpacked("views.json.gz"))


def assert_has(now, then, path=""):
    """Assert that every value of then is there now; a later version may have more members."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name, value in then.items():
            assert name in now, f"{path}/{name} is missing"
            assert_has(now[name], value, f"{path}/{name}")
    else:
        assert now == then, path


@pytest.fixture
def old(tmp_path):
    """Return the path of a copy of the database."""
    path = tmp_path / "office.sqlite"
    path.write_bytes(unpacked("office.sqlite.gz"))
    return str(path)


def check_log_and_views(where, *, added=False):
    with where.read() as connection:
        lines = [line_of(entry) for entry in read_log(connection)]
        views = plain(read_views(connection))
        assert plain(fold_log(connection)) == views
    assert lines[: len(LINES)] == LINES
    if not added:
        assert len(lines) == len(LINES)
        assert_has(views, VIEWS)


def test_it_opens_migrates_and_replays_to_equal_views(old):
    where = Database.connect(old)
    migrate(where)
    check_log_and_views(where)
    with where.write() as connection:
        rebuild(connection)
    check_log_and_views(where)
    where.close()


def test_the_exported_log_alone_gives_the_same_views(tmp_path):
    where = Database.connect(str(tmp_path / "new.sqlite"))
    migrate(where)
    with where.write() as connection:
        entries = [(seq, at, case, kind, json.dumps(body)) for seq, at, case, kind, body in map(json.loads, LINES)]
        append(connection, [Entry.read(*entry) for entry in entries])
        rebuild(connection)
    check_log_and_views(where)
    where.close()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with a model that was fitted now, from the table of then."""
    folder = tmp_path_factory.mktemp("models")
    fit(FROZEN / "past.csv", folder / "now", seed=3)
    return folder


@pytest.fixture
def office(old, models):
    clock = Clock(FACTS["now"])
    office = Office.of_team(load_team(models / "now"), old, clock=clock, rates=RateLimit(FREE), shelf=Shelf(models))
    office.writer.start()  # and not `start`: nobody is called
    yield office
    check_log_and_views(office.database, added=True)
    office.close()


@pytest.fixture
def http(office):
    return TestClient(Shell(make_site(office)), follow_redirects=False)


def call(http, who, method, path, body=None):
    return http.request(method, path, json=body, headers={"authorization": f"Bearer {FACTS['tokens'][who]}"})


def test_everything_that_a_lead_can_read_is_served(http, office):
    lead = Person(http.app, office, VIEWS["model"]["by"])
    for route in (*ALLOWED, *PAGES):
        method, path = route.split(" ")
        if method != "GET" or "inbox" in path:
            continue
        # The model beside is not on this machine any more: nothing can be compared with it.
        expected = {404} if path == "/v1/models/comparison" else {200, 303}
        path += "?person=p1" if path == "/v1/questions" else ""
        for one in [path.format(case=case) for case in VIEWS["cases"]] if "{case}" in path else [path]:
            reply = call(http, "lead", "GET", one) if route in ALLOWED else lead.http.get(one)
            assert reply.status_code in expected, (one, reply.text[:300])
    for person in ("p1", "p3", "p4"):
        assert Person(http.app, office, person).page("/inbox")


def test_tokens_roles_and_refusals_are_those_of_before(http):
    assert call(http, "boss", "GET", "/v1/me").json()["person"] == "p7"
    assert call(http, "dr_a", "GET", "/v1/me").json()["role"] == "expert"
    assert call(http, "dr_a", "GET", "/v1/people").status_code == 403
    assert call(http, "eve", "GET", "/v1/me").status_code == 401  # erased


def test_open_questions_are_answered_and_new_cases_decided_by_the_new_model(http, office):
    asked = [(case, state["asked"]) for case, state in VIEWS["cases"].items() if state["asked"]]
    for case, person in asked:
        reply = call(http, "robot", "POST", "/v1/answers", {"case": case, "answer": "sick", "person": person})
        assert reply.status_code == 200, (case, reply.text)
        assert reply.json()["counted"]
    features = {"age": 61, "size": None, "site": "leg"}
    new = call(http, "robot", "POST", "/v1/cases", {"cases": [{"features": features}] * 3}).json()["cases"]
    assert {step["model"] for step in new} == {office.team.version}
    assert office.team.people == ("p1", "p2", "p3", "p4")  # known by name
    outcomes = {"outcomes": [{"case": case, "label": "well"} for case, _ in asked]}
    known = [case for case, _ in asked if VIEWS["cases"][case]["outcome"] == "well"]
    assert call(http, "robot", "POST", "/v1/outcomes", outcomes).json()["changed"] == len(asked) - len(known)
    office.clock.now += 100_000
    assert office.take_back_due() >= 0
    exported = call(http, "lead", "GET", "/v1/export.csv").text.splitlines()
    assert len(exported) > len(asked)


def test_a_model_of_then_is_refused_with_a_sentence(http, office):
    """Its folder is not on this machine any more, or has a form of then."""
    for model in (VIEWS["model"], VIEWS["candidate"]):
        reply = call(http, "lead", "POST", f"/v1/models/{model['version']}/switch")
        assert reply.status_code in (404, 422, 503), reply.text
    assert office.team.version not in {VIEWS["model"]["version"], VIEWS["candidate"]["version"]}


def test_started_again_it_goes_on_with_the_new_model(office, old, models):
    again = Office.of_team(load_team(models / "now"), old, clock=office.clock, shelf=Shelf(models))
    assert again.team.version == office.team.version
    again.close()
