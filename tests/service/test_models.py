"""A new model beside the old one: loaded from one folder alone, compared, switched, rolled back."""

import numpy as np
import pytest
from small_team import SURE, UNSURE, Clock, add_cases, small_team
from starlette.testclient import TestClient

from conftest import FREE, Clients
from defero import ExpertPool, InputError, Team
from defero.data.fingerprint import row_fingerprints
from defero.service import Problem
from defero.service.access import RateLimit
from defero.service.events import ModelLoaded
from defero.service.flow import team as teams
from defero.service.flow.cases import GiveAnswer
from defero.service.flow.team import Shelf, WorkingTeam, load_team
from defero.service.office import Office
from defero.service.store.saved_views import fold_log, read_views
from defero.service.web.app import make_app


def other_team(*, names=("ann", "bob", "dot"), classes=("ill", "well")):
    """The same features, read otherwise: experts in another order, one of them new."""
    router = Team.from_probabilities(
        lambda X: np.column_stack([X[:, 0], 1 - X[:, 0]]),
        lambda X: X[:, [2, 1, 3]],
        classes=list(classes),
        expert_names=names,
    )
    return WorkingTeam(router, "next")


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    for name in ("next", "strange"):
        (folder / name).mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (folder / "link").symlink_to(tmp_path / "outside")
    made = {"next": other_team(), "strange": other_team(classes=("dead", "ill"))}
    monkeypatch.setattr(teams, "load_team", lambda path, text_encoder: made[path.name])
    return Shelf(folder)


def open_office(tmp_path, shelf):
    where = str(tmp_path / "cases.sqlite")
    return Office.of_team(small_team(), where, clock=Clock(), rates=RateLimit(FREE), shelf=shelf)


@pytest.fixture
def clients(tmp_path, shelf):
    office = open_office(tmp_path, shelf)
    with TestClient(make_app(office), raise_server_exceptions=False) as http:
        yield Clients(office, http)


@pytest.mark.parametrize("folder", ["..", "../outside", "/etc", "next/../../outside", "link", "nothing", "."])
def test_nothing_outside_the_folder_of_models_is_loaded(clients, shelf, folder):
    with pytest.raises(Problem):
        shelf.load(folder)
    assert clients.call("boss", "POST", "/v1/models", json={"folder": folder}).status_code in (404, 422)
    assert clients.call("boss", "GET", "/v1/models").json()["candidate"] is None


def test_a_model_is_loaded_compared_switched_and_rolled_back(clients):
    office = clients.office
    before = [one["case"] for one in clients.add(UNSURE, SURE).json()["cases"]]
    clients.call("ann", "POST", "/v1/answers", json={"case": before[0], "answer": "ill"})
    clients.call("robot", "POST", "/v1/outcomes", json={"outcomes": [{"case": one, "label": "ill"} for one in before]})
    loaded = clients.call("boss", "POST", "/v1/models", json={"folder": "next"}).json()
    assert (loaded["version"], loaded["folder"], loaded["experts"]) == ("next", "next", ["p1", "p2", "p6"])
    assert clients.add(UNSURE, SURE).json()["cases"][0]["ask"] == "ann"  # the old one decides
    tallies = {one["name"]: one["amount"] for one in clients.call("boss", "GET", "/v1/tallies").json()["tallies"]}
    assert (tallies["compared"], tallies["compared_same_label"]) == (2, 2)
    assert (tallies["compared_same_step"], tallies["compared_asks"]) == (1, 1)
    comparison = clients.call("boss", "GET", "/v1/models/comparison").json()
    assert (comparison["model"], comparison["candidate"], comparison["cases"]) == ("test", "next", 4)
    assert comparison["changed"] == 2
    assert comparison["now"]["n_judged"] >= 1
    assert clients.call("boss", "POST", "/v1/models/next/switch").json()["version"] == "next"
    assert clients.add(UNSURE).json()["cases"][0]["ask"] == "bob"
    assert office.team.version == "next"
    assert clients.call("boss", "POST", "/v1/models/test/switch").json()["version"] == "test"
    step = clients.add(UNSURE).json()["cases"][0]
    assert (step["ask"], step["model"]) == ("ann", "test")
    kinds = [one["kind"] for one in clients.call("boss", "GET", "/v1/models").json()["history"]]
    assert kinds == ["model_changed", "model_loaded", "model_changed", "model_changed"]
    with office.database.read() as connection:
        assert read_views(connection).plain() == fold_log(connection).plain()


def test_cases_that_a_model_was_fitted_on_are_left_out_of_the_comparison(clients, monkeypatch):
    """It knows their outcomes, and would look better than it is."""
    clients.add(UNSURE, SURE, UNSURE)
    clients.call("boss", "POST", "/v1/models", json={"folder": "next"})
    learned = row_fingerprints(np.array([UNSURE]))
    monkeypatch.setattr(Team, "all_seen", lambda self: learned)
    comparison = clients.call("boss", "GET", "/v1/models/comparison").json()
    assert (comparison["cases"], comparison["left_out"]) == (1, 2)
    for team in clients.office.shelf.teams.values():
        monkeypatch.setattr(team.router, "rows_key", "forgotten")
    assert clients.call("boss", "GET", "/v1/models/comparison").json()["left_out"] == 0  # they cannot tell


def test_an_open_case_goes_on_with_the_new_model(clients):
    case = clients.add(UNSURE).json()["cases"][0]["case"]
    clients.call("boss", "POST", "/v1/models", json={"folder": "next"})
    clients.call("boss", "POST", "/v1/models/next/switch")
    reply = clients.call("ann", "POST", "/v1/answers", json={"case": case, "answer": "ill"})
    assert reply.status_code == 200
    assert reply.json()["counted"]


def test_a_model_with_other_classes_or_the_same_one_is_refused(clients):
    assert clients.call("boss", "POST", "/v1/models", json={"folder": "strange"}).status_code == 422
    clients.call("boss", "POST", "/v1/models", json={"folder": "next"})
    assert clients.call("boss", "POST", "/v1/models", json={"folder": "next"}).status_code == 200
    clients.call("boss", "POST", "/v1/models/next/switch")
    assert clients.call("boss", "POST", "/v1/models", json={"folder": "next"}).status_code == 409
    assert clients.call("boss", "POST", "/v1/models/nobody/switch").status_code == 404


def test_after_a_restart_the_model_that_was_switched_to_goes_on(tmp_path, shelf, clients):
    clients.call("boss", "POST", "/v1/models", json={"folder": "next"})
    clients.call("boss", "POST", "/v1/models/next/switch")
    again = open_office(tmp_path, Shelf(shelf.directory))
    assert again.team.version == "next"
    assert again.team.people == ("p1", "p2", "p6")
    again.close()


def test_another_process_follows_the_switch(tmp_path, shelf, clients):
    beside = open_office(tmp_path, Shelf(shelf.directory))
    clients.call("boss", "POST", "/v1/models", json={"folder": "next"})
    clients.call("boss", "POST", "/v1/models/next/switch")
    step = beside.writer.do([add_cases(beside.team, [UNSURE])])[0]["cases"][0]
    assert (step["model"], step["ask"]) == ("next", "bob")
    beside.close()


def test_a_case_that_the_new_model_cannot_read_gets_the_answer_of_its_last_step(clients, monkeypatch):
    case = clients.add(UNSURE).json()["cases"][0]["case"]
    monkeypatch.setattr(WorkingTeam, "reads", lambda self, row: False)
    clients.office.do(GiveAnswer(case, "p1", "ill", "p1"))
    shown = clients.call("boss", "GET", f"/v1/cases/{case}").json()
    assert shown["status"] == "settled"
    assert "columns" in shown["reason"]


def test_a_model_is_read_once_and_never_by_a_commit(clients, shelf, monkeypatch):
    read = []
    load = teams.load_team

    def load_and_count(path, text_encoder):
        read.append(path.name)
        return load(path, text_encoder)

    monkeypatch.setattr(teams, "load_team", load_and_count)
    assert clients.call("boss", "POST", "/v1/models", json={"folder": "next"}).status_code == 200
    clients.add(UNSURE)
    assert clients.call("boss", "GET", "/v1/models/comparison").status_code == 200
    assert read == ["next"]
    assert clients.call("boss", "POST", "/v1/models", json={"folder": "strange"}).status_code == 422
    assert set(clients.office.shelf.teams) == {"test", "next"}


def test_only_the_models_used_last_stay_in_memory(tmp_path, monkeypatch):
    loaded = []

    def load(path, text_encoder):
        loaded.append(path.name)
        return WorkingTeam(other_team().router, path.name)

    monkeypatch.setattr(teams, "load_team", load)
    names = [f"m{number}" for number in range(6)]
    for name in names:
        (tmp_path / name).mkdir()
    shelf = Shelf(tmp_path)
    first = shelf.keep(small_team())  # of no folder: nobody could load it again
    facts = {
        name: ModelLoaded(version=name, folder=name, classes=("ill", "well"), experts=(), by="p9") for name in names
    }
    for name in names:
        shelf.team(facts[name])
        shelf.team(facts["m0"])  # used again and again: it stays
    assert loaded == names
    assert set(shelf.teams) == {first.version, "m0", *names[-teams.MOST_LOADED + 1 :]}
    assert shelf.team(facts["m1"]).version == "m1"  # loaded again
    assert loaded == [*names, "m1"]


def test_a_team_of_scores_is_not_served(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    ExpertPool().fit(X, (rng.random((200, 2)) < 0.7).astype(float)).save(tmp_path / "scores")
    with pytest.raises(InputError, match="its experts have only scores; serve takes the model of a team with classes"):
        load_team(tmp_path / "scores")
