"""Label Studio, as a small stub: questions stand there as tasks, annotations come back, nothing is lost or doubled."""

import logging
import queue

import pytest
from small_team import UNSURE, add_cases, small_team
from sqlalchemy import select
from stub_server import stub_server
from studio_stub import TOKEN, StudioStub, jwt

from defero.service import Problem
from defero.service.flow.cases import EraseCase, Expire, GiveAnswer, GiveOutcomes, Skip, Undo
from defero.service.flow.connections import EndStudio, SetLanguageModel, SetStudio
from defero.service.flow.settings import ErasePerson
from defero.service.office import Office
from defero.service.outward import requesting
from defero.service.outward.label_studio import StudioDesk
from defero.service.outward.studio_api import annotations_of, question_of
from defero.service.store.contents import read_addresses, read_notes
from defero.service.store.log import METADATA
from defero.service.store.saved_views import fold_log, read_cases, read_studio, read_views

ANN, BOB, CEM = "ann@a.example", "bob@a.example", "cem@a.example"
ADDRESSES = {"p1": ANN, "p2": BOB}


class World:
    """An office, a stub of Label Studio, and the desk between them."""

    def __init__(self, office, url, stub):
        self.office, self.url, self.stub = office, url, stub
        office.writer.start()
        self.desk = self.new_desk()

    def new_desk(self, **more):
        more = {"clock": self.office.clock, "environ": {"DEFERO_KEY_A": TOKEN}, **more}
        return StudioDesk(self.office.database, more.pop("do", self.office.do), self.office.hints, **more)

    def set(self, addresses=ADDRESSES, **terms):
        terms = {"url": self.url, "people": list(addresses), "key_variable": "DEFERO_KEY_A", **terms}
        given = {person: email for person, email in addresses.items() if email}
        return self.office.do(SetStudio("s1", terms, given, "p9"))

    def ask(self, n=1):
        return [one["case"] for one in self.office.do(add_cases(self.office.team, [UNSURE] * n))["cases"]]

    def steps(self, n=2, desk=None):
        for _ in range(n):
            (desk or self.desk).step()

    def state(self, case):
        with self.office.database.read() as connection:
            return read_cases(connection, [case])[case]

    def studio(self):
        with self.office.database.read() as connection:
            assert read_views(connection).plain() == fold_log(connection).plain()
            return read_studio(connection)

    def notes(self, case):
        with self.office.database.read() as connection:
            return list(read_notes(connection, case).values())


@pytest.fixture
def world(office):
    stub = StudioStub([ANN, BOB, CEM, "boss@a.example"])
    with stub_server(stub) as (url, requests):
        team = World(office, url, stub)
        team.requests = requests
        yield team


def test_questions_stand_there_as_tasks_with_whom_they_are_for(world):
    world.set()
    one, two = world.ask(2)
    world.steps()
    stub = world.stub
    assert [project["title"] for project in stub.projects.values()] == ["defero"]
    assert '<Choice value="ill"/><Choice value="well"/>' in next(iter(stub.projects.values()))["label_config"]
    data = [task["data"] for task in stub.tasks.values()]
    assert [(one["defero_case"], one["defero_expert"], one["x0"]) for one in data] == [
        (one, "ann", 0.5),
        (two, "ann", 0.5),
    ]
    assert data[0]["defero_text"] == "x0: 0.5\nx1: 0.9\nx2: 0.8\nx3: 0.7"
    assert [tab["data"]["title"] for tab in stub.tabs] == ["ann", "bob"]
    assert stub.tabs[0]["data"]["filters"]["items"][0]["value"] == "ann"
    assert world.studio().ready
    world.steps(3)
    assert len(stub.tasks) == 2
    assert len(stub.tabs) == 2


def test_annotations_come_back_at_the_next_look_and_the_task_goes(world, clock):
    world.set()
    case, other = world.ask(2)
    world.steps()
    first, second = world.stub.open_for("ann")
    world.stub.annotate(first, ANN, "well")
    world.stub.annotate(second, ANN, skip=True)
    world.steps()
    assert world.state(case).answers == ()  # nobody told of it, and it is too early to look
    clock.now += 31
    world.steps()
    assert world.state(case).answers == (("p1", "well"),)
    assert world.notes(other) == ["skipped in Label Studio"]
    assert first not in world.stub.tasks
    assert second not in world.stub.tasks
    assert {task["data"]["defero_person"] for task in world.stub.tasks.values()} <= {"p2"}
    with world.office.database.read() as connection:
        answered = [one for one in read_views(connection).counts if one[2] == "answered"]
    assert len(answered) == 1


def test_a_webhook_brings_it_at_once_and_a_forged_one_brings_nothing(clients, monkeypatch):
    stub = StudioStub([ANN, BOB])
    office = clients.office
    with stub_server(stub) as (url, _):
        body = {"url": url, "people": ADDRESSES, "key_variable": "DEFERO_KEY_A", "callback": "http://127.0.0.1:8000/"}
        secret = clients.call("boss", "PUT", "/v1/label-studio", json={**body, "poll": 86_400}).json()["secret"]
        desk = StudioDesk(office.database, office.do, office.hints, clock=office.clock, environ={"DEFERO_KEY_A": TOKEN})
        case = clients.add(UNSURE).json()["cases"][0]["case"]
        office.clock.now += 4_000  # past whatever the service's own thread, which has no token, has waited for
        desk.step()
        desk.step()
        hook = stub.webhooks[0]
        assert hook["url"] == "http://127.0.0.1:8000/v1/label-studio/annotations"
        assert hook["headers"] == {"Defero-Secret": secret}
        [task] = stub.open_for("ann")

        def tell(**payload):
            more = {"json": {"action": "ANNOTATION_CREATED", **payload}, "headers": hook["headers"]}
            return clients.call(None, "POST", "/v1/label-studio/annotations", **more)

        forged = {"result": [{"from_name": "answer", "value": {"choices": ["ill"]}}], "completed_by": 1}
        assert tell(task={"id": task}, annotation=forged).status_code == 202
        desk.step()
        assert clients.call("boss", "GET", f"/v1/cases/{case}").json()["answers"] == {}  # it is read from the server
        stub.annotate(task, ANN, "well")
        assert tell(annotation={"task": task}).json() == {"heard": True}
        assert tell(annotation={"task": task}).json() == {"heard": True}
        desk.step()
        assert clients.call("boss", "GET", f"/v1/cases/{case}").json()["answers"] == {"ann": "well"}
        assert stub.open_for("ann") == []
        for odd in ({}, {"task": 5}, {"task": {"id": "5"}}, {"task": {"id": True}}, {"annotation": {"task": -1}}):
            assert tell(**odd).json() == {"heard": False}


@pytest.mark.parametrize(("unknown", "answers"), [("ignore", ()), ("assigned", (("p1", "ill"),))])
def test_an_annotation_by_somebody_else(world, clock, unknown, answers):
    world.set(unknown=unknown)
    [case] = world.ask()
    world.steps()
    world.stub.annotate(world.stub.open_for("ann")[0], "boss@a.example", "ill")
    clock.now += 31
    world.steps()
    assert world.state(case).answers == answers


def test_an_annotation_is_its_authors_answer_whoever_was_meant(world, clock):
    world.set()
    [case] = world.ask()
    world.steps()
    [task] = world.stub.open_for("ann")
    world.stub.annotate(task, BOB, "ill")
    clock.now += 31
    world.steps()
    assert ("p2", "ill") in world.state(case).answers
    assert "p1" not in dict(world.state(case).answers)


def test_what_is_no_class_is_a_skip_and_a_changed_mind_changes_nothing(world, clock):
    world.set()
    one, two, three = world.ask(3)
    world.steps()
    tasks = world.stub.open_for("ann")
    world.stub.annotate(tasks[0], ANN, "unsure")
    world.stub.annotate(tasks[1], ANN)
    world.stub.annotate(tasks[2], ANN, "ill")
    world.stub.annotate(tasks[2], ANN, "well")
    clock.now += 31
    world.steps()
    assert world.notes(one) == world.notes(two) == ["the annotation in Label Studio has no class"]
    assert world.state(three).answers[0] == ("p1", "ill")


def test_tasks_go_with_their_questions(world, clock):
    world.set({"p1": ANN})
    answered, skipped, late, erased, waiting = world.ask(5)
    world.steps()
    assert len(world.stub.tasks) == 5
    world.office.do(GiveAnswer(answered, "p1", "ill", "p1"))  # in the inbox
    world.office.do(Skip(skipped, "p1", "p1"))
    world.office.do(EraseCase(erased, "p9"))
    [task] = [n for n, one in world.stub.tasks.items() if one["data"]["defero_case"] == late]
    world.stub.annotate(task, ANN, "well")  # and nobody looked since
    world.office.do(Skip(late, "p1", "p9"))
    world.steps(1)
    assert [one["data"]["defero_case"] for one in world.stub.tasks.values()] == [waiting]
    assert ("p1", "well") in (*world.state(late).answers, *world.state(late).uncounted)
    world.office.do(Undo(answered, "p1", "p1"))
    world.steps(1)
    assert {one["data"]["defero_case"] for one in world.stub.tasks.values()} == {answered, waiting}
    clock.now += 90_000
    world.office.do(Expire())
    world.steps(1)
    assert world.stub.tasks == {}


def test_a_kill_leaves_no_second_task_and_no_second_answer(world, clock):
    class KilledError(Exception):
        pass

    world.set()
    [case] = world.ask()
    world.steps(1)  # the project

    def killed(method, url, *more):
        reply = world.desk_send(method, url, *more)
        if "/import" in url:
            raise KilledError
        return reply

    world.desk_send = world.desk.send
    with pytest.raises(KilledError):
        world.steps(1, world.new_desk(send=killed))
    world.steps(1, world.new_desk())  # it looks before it adds
    assert len(world.stub.tasks) == 1
    data = next(iter(world.stub.tasks.values()))["data"]
    world.stub.tasks[world.stub.new()] = {"annotations": [], "data": data}  # by a process that was cut off
    clock.now += 31
    world.steps(1, world.new_desk())
    assert len(world.stub.tasks) == 1
    world.stub.annotate(next(iter(world.stub.tasks)), ANN, "well")

    def cut(method, url, *more):
        if method == "DELETE":
            raise KilledError
        return world.desk_send(method, url, *more)

    with pytest.raises(KilledError):
        world.steps(1, world.new_desk(send=cut))
    world.steps(1, world.new_desk())
    assert world.state(case).answers == (("p1", "well"),)
    assert "ann" not in [one["data"]["defero_expert"] for one in world.stub.tasks.values()]


def test_tasks_of_others_are_left_alone_and_ours_come_back(world, clock):
    world.set()
    world.ask()
    world.steps()
    foreign = {"annotations": [], "data": {"text": "mine"}}
    world.stub.tasks[77] = foreign
    world.stub.tasks[78] = {
        "annotations": [],
        "data": {"defero_link": "s2", "defero_case": "c1", "defero_person": "p1"},
    }
    ours = [n for n, one in world.stub.tasks.items() if one["data"].get("defero_link") == "s1"]
    for number in ours:
        del world.stub.tasks[number]  # by hand
    clock.now += 31
    world.steps()
    assert world.stub.tasks[77] == foreign
    assert 78 in world.stub.tasks
    assert sum(one["data"].get("defero_link") == "s1" for one in world.stub.tasks.values()) == 1


def test_a_server_that_is_away_is_tried_again_later_and_nothing_is_lost(world, clock):
    world.set()
    [case] = world.ask()
    world.steps()
    world.stub.annotate(world.stub.open_for("ann")[0], ANN, "ill")
    world.stub.down = 502
    waits = []
    clock.now += 31
    for _ in range(4):
        world.steps(3)
        waits.append(world.studio().retry_at - clock.now)
        clock.now = world.studio().retry_at
    assert waits == [2, 4, 8, 16]
    assert (world.studio().failures, world.studio().status) == (4, 502)
    world.stub.down = 0
    world.steps()
    assert world.studio().failures == 0
    assert world.state(case).answers[0] == ("p1", "ill")


def test_a_personal_access_token_is_exchanged(world, clock):
    world.set()
    world.ask()
    desk = world.new_desk(environ={"DEFERO_KEY_A": jwt("ann")})
    world.steps(3, desk)
    assert world.stub.refreshed == 1
    assert len(world.stub.tasks) == 1
    clock.now += 3_580  # it holds for an hour
    world.steps(1, desk)
    assert world.stub.refreshed == 2


def test_the_token_is_nowhere_and_addresses_can_be_erased(world, caplog):
    caplog.set_level(logging.DEBUG)
    world.set()
    world.ask()
    world.steps()
    world.office.do(ErasePerson("p2", "p9"))
    with world.office.database.read() as connection:
        rows = [str(row) for table in METADATA.sorted_tables for row in connection.execute(select(table))]
        assert read_addresses(connection) == {"p1": ANN}
    assert not any(TOKEN in row or BOB in row for row in rows)
    assert sum(ANN in row for row in rows) == 1  # in its own table, not in the log
    assert TOKEN not in caplog.text


def test_no_token_or_a_wrong_one_is_said(world):
    world.set()
    world.steps(1, world.new_desk(environ={}))
    assert world.studio().status == 401
    assert world.requests == []


def test_a_refused_webhook_leaves_polling(world):
    world.stub.refuses_webhooks = True
    world.set(callback="http://127.0.0.1:8000")
    world.steps()
    assert (world.studio().ready, world.studio().webhook) == (True, False)


def test_an_own_project_is_used_as_it_is(world):
    world.stub.projects[5] = {"title": "mine"}
    world.set(project=5)
    world.ask()
    world.steps()
    assert list(world.stub.projects) == [5]
    world.set(project=6)
    world.steps(1)
    assert world.studio().status == 404


def test_nobody_is_both_a_language_model_and_in_label_studio(world):
    terms = {"url": "http://127.0.0.1:9", "model": "m"}
    world.set({"p1": ANN})
    with pytest.raises(Problem, match="answers in Label Studio"):
        world.office.do(SetLanguageModel("p1", terms, "p9"))
    world.office.do(SetLanguageModel("p2", terms, "p9"))
    with pytest.raises(Problem, match="Only people"):
        world.set()


def test_who_answers_in_label_studio(world):
    for people in ({"p99": None}, {"p4": None}):
        with pytest.raises(Problem):
            world.set(people)
    with pytest.raises(Problem, match="no project"):
        world.office.do(EndStudio("p9"))
    world.set()
    world.ask()
    world.steps()
    world.office.do(EndStudio("p9"))
    before = len(world.requests)
    world.steps(3)
    assert len(world.requests) == before
    assert world.studio() is None


def test_a_second_office_sees_the_same_project(world, tmp_path, clock):
    world.set()
    world.ask(3)
    world.steps()
    second = Office.of_team(small_team(), str(tmp_path / "cases.sqlite"), clock=clock)
    second.writer.start()
    desk = StudioDesk(second.database, second.do, queue.Queue(), clock=clock, environ={"DEFERO_KEY_A": TOKEN})
    world.steps(2, desk)
    world.steps()
    second.close()
    assert len(world.stub.tasks) == 3


@pytest.mark.parametrize(
    "task",
    [
        {},
        {"data": None},
        {"data": {"defero_link": "s1"}},
        {"data": {"defero_link": "s1", "defero_case": 1}},
        {"data": []},
    ],
)
def test_odd_tasks_are_not_ours(task):
    assert question_of(task, "s1") is None


@pytest.mark.parametrize("result", [None, {}, [1], [{}], [{"from_name": "answer", "value": {"choices": ["a", "b"]}}]])
def test_odd_annotations_have_no_choice(result):
    [one] = annotations_of({"annotations": [{"result": result, "completed_by": None}]}, "answer")
    assert (one.author, one.choice, one.skipped) == (0, None, False)


def test_outcomes_do_not_bring_tasks_back(world):
    world.set({"p1": ANN})
    [case] = world.ask()
    world.steps()
    world.office.do(GiveAnswer(case, "p1", "ill", "p1"))
    world.office.do(GiveOutcomes([(case, "ill")], "p9"))
    world.steps(2)
    assert world.stub.tasks == {}


def test_another_servers_json_is_tried_again_later_and_said(office, clock):
    office.writer.start()
    with stub_server(lambda _: (200, {}, b'{"hello": "world"}')) as (url, requests):
        world = World(office, url, None)
        world.set()
        world.steps(5)
        assert len(requests) == 1
        assert (world.studio().status, world.studio().failures) == (0, 1)
        clock.now += 2.5
        world.steps(5)
        assert world.studio().failures == 2


def test_a_time_from_a_wrong_clock_does_not_end_the_work(world, clock):
    world.set()
    world.stub.down = 500
    clock.now += 400 * 86_400
    world.steps(1)
    clock.now -= 400 * 86_400
    world.stub.down = 0
    world.steps(3)
    assert world.studio().ready


def test_a_page_that_is_too_long_is_asked_for_in_parts(world, clock, monkeypatch):
    world.set()
    cases = world.ask(40)
    world.steps(4)
    assert len(world.stub.tasks) == 40
    monkeypatch.setattr(requesting, "MOST_BYTES", 3_000)
    clock.now += 60
    world.stub.annotate(world.stub.open_for("ann")[-1], ANN, "ill")
    world.steps(2)
    assert world.studio().failures == 0
    assert sum(world.state(case).all_answers.get("p1") is not None for case in cases) == 1
    assert len(world.stub.open_for("ann")) == 39


def test_accounts_are_asked_for_once_a_look_whoever_annotated(world, clock):
    world.set()
    world.ask(6)
    world.steps(3)
    world.stub.users[9] = "gone@a.example"
    for task in list(world.stub.tasks):
        world.stub.annotate(task, "gone@a.example", "ill")
    del world.stub.users[9]
    clock.now += 60
    before = len([one for one in world.requests if one.path == "/api/users"])
    world.steps(1)
    assert len([one for one in world.requests if one.path == "/api/users"]) == before + 1


def test_a_token_that_their_clock_has_ended_is_exchanged_again(world, clock):
    world.desk = world.new_desk(environ={"DEFERO_KEY_A": jwt("refresh")})
    world.set()
    world.steps(2)
    world.stub.access = "another"  # ours is over for them, though not by our clock
    clock.now += 60
    world.steps(1)
    assert world.studio().status == 401
    clock.now += 10
    world.steps(2)
    assert (world.studio().status, world.stub.refreshed) == (None, 2)
