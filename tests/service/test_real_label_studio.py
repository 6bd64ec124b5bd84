"""Label Studio itself, from PyPI: tasks, tabs, webhook and polling, with the service as its clients run it.

Writes service_label_studio.json in ../statistical/results.
"""

import resource
import socket
import threading
import time
from contextlib import contextmanager, suppress
from urllib.error import HTTPError

import pytest
import uvicorn
from real_studio import VERSION, NotInstallableError, environment, running_studio
from small_team import SURE, UNSURE, small_team
from study_results import write_study

from defero.client import Client
from defero.service.access import RateLimit, issue_token
from defero.service.flow.settings import AddPerson
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.store.saved_views import fold_log, read_views
from defero.service.web.app import make_app

FREE = dict.fromkeys(("lead", "expert", "machine", "nobody"), (1000000.0, 1000000.0))
SECONDS = 120


@contextmanager
def served(database, port):
    """Yield a client of the service, as a lead."""
    office = Office.of_team(small_team(), database, rates=RateLimit(FREE))
    server = uvicorn.Server(uvicorn.Config(Shell(make_app(office)), port=port, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    lead = office.first_lead()
    with office.database.write() as connection:
        token = issue_token(connection, lead, now=office.clock())
    with Client(f"http://127.0.0.1:{port}", token) as client:
        yield client, office
    server.should_exit = True
    thread.join()


def until(check):
    """Return what a check returns once it is true; Label Studio may fail while a task that it lists is removed."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with suppress(HTTPError):
            result = check()
            if result:
                return result
        time.sleep(0.2)
    raise AssertionError("it did not happen in time")


def by_case(studio, project, expert):
    tasks = [task for task in studio.tasks(project) if task["data"]["defero_expert"] == expert]
    return {task["data"]["defero_case"]: task["id"] for task in tasks}


@pytest.fixture(scope="module")
def studio():
    try:
        environment()
    except NotInstallableError as error:
        pytest.skip(str(error))
    with running_studio() as server:
        yield server


@pytest.mark.slow
def test_a_team_answers_in_label_studio(studio, tmp_path, monkeypatch):
    begun = time.monotonic()
    monkeypatch.setenv("DEFERO_KEY_LABEL_STUDIO", studio.call("POST", "/api/token/", {})["token"])
    names = {"ann": "p1", "bob": "p2"}
    accounts = {
        name: studio.call(
            "POST", "/api/users", {"email": f"{name}@a.example", "username": name, "password": "word-12345"}
        )
        for name in names
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    people = {person: accounts[name]["email"] for name, person in names.items()}
    database = str(tmp_path / "cases.sqlite")
    with served(database, port) as (client, office):
        office.do(AddPerson("robot", "machine", "system"))
        wanted = {"url": studio.url, "people": people, "callback": f"http://127.0.0.1:{port}", "poll": 86_400}
        assert len(client.set_label_studio(**wanted)) >= 40
        cases = [step.case for step in client.add([UNSURE] * 6 + [SURE])]
        ready = until(lambda: (one := client.label_studio())["ready"] and one)
        assert ready["webhook"]
        project = ready["project"]
        tasks = until(lambda: (one := by_case(studio, project, "ann")) and len(one) == 6 and one)
        assert set(tasks) == set(cases[:6])
        tabs = studio.call("GET", f"/api/dm/views/?project={project}")
        assert sorted(tab["data"]["title"] for tab in tabs) == ["ann", "bob"]
        in_tab = studio.call("GET", f"/api/tasks?view={tabs[0]['id']}&project={project}")
        assert in_tab["total"] == (6 if tabs[0]["data"]["title"] == "ann" else 0)

        # By the webhook: an answer, then one that is given back and goes to bob.
        started = time.monotonic()
        studio.annotate(tasks[cases[0]], accounts["ann"]["id"], "ill")
        until(lambda: client.call("GET", f"/v1/cases/{cases[0]}")["answers"].get("ann") == "ill")
        by_webhook = time.monotonic() - started
        studio.annotate(tasks[cases[1]], accounts["ann"]["id"], skip=True)
        until(lambda: cases[1] in by_case(studio, project, "bob"))
        until(lambda: not {cases[0], cases[1]} & set(by_case(studio, project, "ann")))

        # Settled elsewhere: its task goes. The same annotation told twice: one answer.
        step = client.answer(cases[2], "ill", person="p1")
        while not step.settled:
            step = client.answer(cases[2], "ill", person=step.person)
        until(lambda: all(task["data"]["defero_case"] != cases[2] for task in studio.tasks(project)))
    # The service is down: Label Studio's messages are lost.
    studio.annotate(tasks[cases[3]], accounts["ann"]["id"], "well")
    studio.annotate(tasks[cases[4]], 1, "well")  # by the administrator, whose address is nobody's
    with served(database, port) as (client, office):
        until(lambda: client.call("GET", f"/v1/cases/{cases[3]}")["answers"].get("ann") == "well")
        until(lambda: cases[3] not in by_case(studio, project, "ann"))
        assert client.call("GET", f"/v1/cases/{cases[4]}")["answers"] == {}
        assert until(lambda: by_case(studio, project, "ann")).keys() >= {cases[4]}
        kinds = [one["kind"] for one in client.call("GET", f"/v1/cases/{cases[3]}/trail")["entries"]]
        assert kinds.count("answered") == 1
        with office.database.read() as connection:
            assert read_views(connection).plain() == fold_log(connection).plain()
        client.end_label_studio()
    write_study(
        "service_label_studio",
        cpu_seconds=sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)),
        label_studio=VERSION,
        questions=6,
        seconds_from_annotation_to_answer=round(by_webhook, 2),
        wall_seconds=round(time.monotonic() - begun),
    )
