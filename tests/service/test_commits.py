"""Commits whose reply gets lost, a database that goes away, and how much one commit or the queue may hold."""

import asyncio
import threading
from contextlib import contextmanager

import pytest
from small_team import SURE, UNSURE, add_cases
from sqlalchemy.exc import OperationalError

from defero.service import InDoubt
from defero.service.flow.cases import GiveOutcomes
from defero.service.flow.settings import AddPerson
from defero.service.store.log import read_log
from defero.service.web import requests


def lost():
    return OperationalError("COMMIT", None, Exception("server closed the connection"), connection_invalidated=True)


class Wire:
    """Stands between the writer and the database, and breaks when it is told."""

    def __init__(self, office, monkeypatch):
        self.database, self.after_commit, self.before_commit, self.dead, self.tries = office.database, 0, 0, False, 0
        whole = type(office.database).write

        @contextmanager
        def write(database):
            self.tries += 1
            if self.dead:
                raise lost()
            with whole(database) as connection:
                yield connection
                if self.before_commit:
                    self.before_commit -= 1
                    raise lost()
            if self.after_commit:
                self.after_commit -= 1
                self.dead = self.dies
                raise lost()

        self.dies = False
        monkeypatch.setattr(type(office.database), "write", write)


@pytest.fixture
def wire(office, monkeypatch):
    return Wire(office, monkeypatch)


def received(office):
    with office.database.read() as connection:
        return [one.case for one in read_log(connection, kinds=("received",))]


def test_a_commit_that_holds_though_its_reply_got_lost_is_not_done_again(office, wire):
    office.writer.start()
    wire.after_commit = 1
    steps = office.do(add_cases(office.team, [UNSURE, SURE]))["cases"]  # without an idempotency key
    assert received(office) == [one["case"] for one in steps]
    assert office.do(add_cases(office.team, [SURE]))["cases"][0]["case"] not in [one["case"] for one in steps]


def test_a_commit_that_does_not_hold_is_refused_and_can_be_sent_again(office, wire):
    office.writer.start()
    wire.before_commit = 1
    with pytest.raises(OperationalError):
        office.do(add_cases(office.team, [UNSURE]))
    assert received(office) == []
    office.do(add_cases(office.team, [UNSURE]))
    assert len(received(office)) == 1


def test_a_commit_of_which_nobody_knows_is_said_to_be_in_doubt(office, wire):
    office.writer.start()
    wire.after_commit, wire.dies = 1, True
    with pytest.raises(InDoubt, match="may be done, or not"):
        office.do(AddPerson("dot", "expert", "system"))


def test_a_database_that_is_away_is_asked_once_for_all_who_wait(office, wire):
    gate, began = threading.Event(), threading.Event()

    class Slow:
        cases = ()

        def begin(self, work):
            began.set()
            gate.wait(10)

        def reply(self, work):
            return None

    office.writer.start()
    first = office.writer.submit(Slow())
    began.wait(10)
    others = [office.writer.submit(add_cases(office.team, [SURE])) for _ in range(10)]
    wire.dead, before = True, wire.tries
    gate.set()
    assert first.result(10) is None
    for one in others:
        with pytest.raises(OperationalError):
            one.result(10)
    assert wire.tries == before + 1
    wire.dead = False
    assert office.do(add_cases(office.team, [SURE]))["cases"][0]["label"] == "ill"


def test_a_commit_is_about_a_limited_number_of_cases(office, monkeypatch):
    monkeypatch.setattr("defero.service.flow.writer.MOST_CASES", 5)
    jobs = [(GiveOutcomes([(f"c{n}", "ill")] * 3, "p1"), None) for n in range(4)]
    for job in jobs[1:]:
        office.writer._jobs.put(job)
    together, stop = office.writer._gather(jobs[0])
    assert (len(together), stop) == (2, False)


def test_a_queue_of_large_requests_does_not_fill_the_memory(office, monkeypatch):
    monkeypatch.setattr(requests, "MOST_WAITING_CASES", 3)
    office.writer.submit(add_cases(office.team, [SURE] * 3))  # nobody works on it yet
    with pytest.raises(requests.Problem) as refused:
        asyncio.run(requests.done(office, add_cases(office.team, [SURE])))
    assert refused.value.status == 503
    office.writer.start()
    office.do(AddPerson("dot", "expert", "system"))
    assert office.writer.waiting_cases == 0
