"""Of several processes one does a job at a time, and another one goes on when it ends."""

import os
import queue
import subprocess
import sys
import threading
import time

import pytest
from postgres import binaries, running_postgres
from small_team import UNSURE, add_cases, small_team
from sqlalchemy.exc import OperationalError
from stub_server import stub_server
from studio_stub import TOKEN, StudioStub

from defero.service.flow.connections import SetStudio
from defero.service.office import Office
from defero.service.outward.label_studio import StudioDesk
from defero.service.store import database as stored
from defero.service.store.database import Database, Turn

KEY = 7
HOLD = """
import sys, time
from defero.service.store import database as stored
from defero.service.store.database import Database
from defero.service.store.database import Turn
turn = Turn(Database.connect(sys.argv[1]), 7)
print(turn.held(), flush=True)
time.sleep(60)
"""


def test_a_file_has_one_process(office):
    one, two = Turn(office.database, KEY), Turn(office.database, KEY)
    assert one.held()
    assert two.held()
    one.give_back()


@pytest.fixture(scope="module")
def postgres():
    if binaries() is None:
        pytest.skip("PostgreSQL's server is not installed")
    with running_postgres() as url:
        yield url


@pytest.mark.slow
def test_one_has_it_until_it_gives_it_back_or_is_killed(postgres):
    database = Database.connect(postgres)
    one, two = Turn(database, KEY), Turn(Database.connect(postgres), KEY)
    assert [one.held(), two.held(), one.held()] == [True, False, True]
    one.give_back()
    assert [two.held(), one.held()] == [True, False]
    two.give_back()
    holder = subprocess.Popen([sys.executable, "-c", HOLD, postgres], stdout=subprocess.PIPE, text=True, env=os.environ)
    assert holder.stdout.readline() == "True\n"
    assert not one.held()
    holder.kill()
    holder.wait()
    holder.stdout.close()
    end = time.monotonic() + 10
    while not one.held() and time.monotonic() < end:
        time.sleep(0.05)
    assert one.held()
    one.give_back()


@pytest.mark.slow
def test_two_processes_put_each_question_into_label_studio_once(postgres):
    stub, people = StudioStub(["ann@a.example"]), {"p1": "ann@a.example"}
    with stub_server(stub) as (url, _):
        offices = [Office.of_team(small_team(), postgres) for _ in range(2)]
        for office in offices:
            office.writer.start()
        terms = {"url": url, "people": ["p1"], "key_variable": "DEFERO_KEY_A", "poll": 1.0}
        offices[0].do(SetStudio("s1", terms, people, "p9"))
        desks = [
            StudioDesk(one.database, one.do, queue.Queue(), clock=one.clock, environ={"DEFERO_KEY_A": TOKEN})
            for one in offices
        ]
        stop = threading.Event()

        def run(desk):
            while not stop.wait(0.05):
                desk.step()
            desk.close()

        threads = [threading.Thread(target=run, args=(desk,)) for desk in desks]
        for thread in threads:
            thread.start()
        for place in range(30):
            offices[place % 2].do(add_cases(offices[place % 2].team, [UNSURE] * 2))
        end = time.monotonic() + 60
        while len(stub.tasks) < 60 and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(1.5)  # another look
        stop.set()
        for thread in threads:
            thread.join()
        for office in offices:
            office.close()
    cases = [one["data"]["defero_case"] for one in stub.tasks.values()]
    assert len(cases) == len(set(cases)) == 60
    assert len(stub.projects) == 1


@pytest.mark.slow
def test_everything_goes_on_after_postgresql_ended_all_sessions(postgres):
    office = Office.of_team(small_team(), postgres)
    office.writer.start()
    office.do(add_cases(office.team, [UNSURE]))
    turn = Turn(office.database, KEY)
    assert turn.held()
    operator = Database.connect(postgres)
    with operator.reader.connect() as other:
        others = "pid <> pg_backend_pid() AND datname = 'postgres'"
        ended = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {others}"
        assert other.exec_driver_sql(ended).scalar() >= 2
    operator.close()
    assert office.do(add_cases(office.team, [UNSURE]))["cases"][0]["ask"] == "ann"
    with office.database.read() as connection:
        assert len(connection.exec_driver_sql("SELECT * FROM cases").all()) >= 2
    assert [turn.held(), turn.held()] == [False, True]  # lost, and taken again
    turn.give_back()
    office.close()


@pytest.mark.slow
def test_a_process_that_stands_still_does_not_hold_the_lock_for_ever(postgres, monkeypatch):
    monkeypatch.setitem(stored._SESSION, "lock_timeout", "300ms")
    one, two = Database.connect(postgres), Database.connect(postgres)
    with one.write() as connection:
        names = ("idle_in_transaction_session_timeout", "tcp_keepalives_idle", "synchronous_commit")
        assert [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in names] == ["2min", "30", "on"]
        with pytest.raises(OperationalError), two.write():
            pass
    with two.write():
        pass
    one.close()
    two.close()
