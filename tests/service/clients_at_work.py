"""Clients that go on through every failure, and what must hold of the log afterwards."""

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from small_team import UNSURE

from defero.client import Client, ServiceError
from defero.service.events import Answered, Asked, Received
from defero.service.store.database import Database
from defero.service.store.log import read_log
from defero.service.store.saved_views import fold_log, read_views


class Server:
    """A server process that can be killed and started again."""

    def __init__(self, database, port):
        here = Path(__file__).parent
        command = [sys.executable, str(here / "small_server.py"), database, str(port)]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=here)
        self.pid = None

    def start(self):
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        self.pid = int(self.process.stdout.readline())

    def gone(self):
        assert self.process.stdout.readline() == "gone\n"

    def wait_until_ready(self, seconds=60):
        client, end = Client(self.url, "none", timeout=5), time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                client.call("GET", "/health")
                client.close()
                return
            except ServiceError:
                time.sleep(0.02)
        raise AssertionError("the server did not come up")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.kill()
        self.process.wait()


class Worker(threading.Thread):
    """Brings cases and answers questions until it is told to stop; repeats what got no reply.

    Attributes
    ----------
    accepted : {request: case ids}
    answered : {(case, person)}
    """

    def __init__(self, url, token, seed, *, n_cases=3, requests=None, outcomes=False):
        super().__init__(daemon=True)
        self.client, self.rng = Client(url, token, timeout=10), random.Random(seed)
        self.seed, self.n_cases, self.requests, self.outcomes = seed, n_cases, requests, outcomes
        self.accepted, self.answered, self.failures, self.stop = {}, set(), 0, threading.Event()

    def run(self):
        round_number = 0
        while not self.stop.is_set():
            round_number += 1
            request = f"r{self.seed}-{round_number}" if self.requests is None else next(self.requests, None)
            if request is None:
                break
            rows = rows_of(request, self.n_cases)
            steps = self._until_done(lambda name=request, given=rows: self.client.add(given, request=name))
            if steps is None:
                break
            self.accepted[request] = [step.case for step in steps]
            for step in steps:
                if step.person is not None and self.rng.random() < 0.7:
                    answer = self.rng.choice(["ill", "well"])
                    self._answer(step, answer)
                    if self.outcomes:  # nobody is right as often as promised
                        self._until_done(lambda case=step.case: self.client.outcomes({case: "ill"}))
        self.client.close()

    def _answer(self, step, answer):
        try:
            done = self._until_done(lambda: self.client.answer(step.case, answer, person=step.person))
        except ServiceError as refused:
            if refused.status != 409:  # somebody else answered for them
                raise
            return
        if done is not None:
            self.answered.add((step.case, step.person))

    def _until_done(self, call):
        """Return the reply, however often the server is killed meanwhile; None once it is time to stop."""
        while True:
            try:
                return call()
            except ServiceError as error:
                if error.status not in (0, 503):
                    raise
                self.failures += 1
                if self.stop.is_set():
                    return None
                time.sleep(0.02)


def rows_of(request, n_cases):
    """Return cases that depend on the name of the request alone, as a repeated request must have the same content."""
    rng = random.Random(request)
    return [[0.3 + 0.4 * rng.random(), *UNSURE[1:]] for _ in range(n_cases)]


def check_log(database, workers, *, capacity):
    """Assert what must hold of the log after all failures; return counts."""
    where = Database.connect(database)
    with where.read() as connection:
        entries = list(read_log(connection))
        assert read_views(connection).plain() == fold_log(connection).plain()
    where.close()
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    received = {entry.case for entry in entries if isinstance(entry.fact, Received)}
    accepted = {}
    for worker in workers:
        for request, cases in worker.accepted.items():
            assert accepted.setdefault(request, cases) == cases, "a request that came again made other cases"
    cases = [case for ids in accepted.values() for case in ids]
    assert len(cases) == len(set(cases))
    assert set(cases) <= received, "an accepted case was lost"
    answers = Counter((entry.case, entry.person) for entry in entries if isinstance(entry.fact, Answered))
    assert max(answers.values(), default=1) == 1, "an answer was counted twice"
    assert {pair for worker in workers for pair in worker.answered} <= set(answers), "an accepted answer was lost"
    questions = [(entry.case, entry.person) for entry in entries if isinstance(entry.fact, Asked)]
    assert len(questions) == len(set(questions)), "somebody was asked twice for one case"
    asked = Counter((entry.person, int(entry.at // 86_400)) for entry in entries if isinstance(entry.fact, Asked))
    for (person, _), n_asked in asked.items():
        assert n_asked <= capacity.get(person, n_asked), "a capacity was exceeded"
    return {
        "cases": len(received),
        "accepted_cases": len(cases),
        "answers": len(answers),
        "questions": len(questions),
        "asked": {person: sum(n for (who, _), n in asked.items() if who == person) for person, _ in asked},
        "entries": len(entries),
        "kinds": dict(sorted(Counter(entry.fact.kind for entry in entries).items())),
        "repeated_requests": sum(worker.failures for worker in workers),
    }


def check_deliveries(database, seqs, *, kinds):
    """Assert that a webhook missed no entry up to the last one that it got; return how many it got."""
    where = Database.connect(database)
    with where.read() as connection:
        began = next(entry.seq for entry in read_log(connection, kinds=("hook_changed",)))
        due = [entry.seq for entry in read_log(connection, after=began, kinds=kinds)]
    where.close()
    assert set(seqs) == {seq for seq in due if seq <= max(seqs)}, "a webhook missed an entry"
    return len(set(seqs))
