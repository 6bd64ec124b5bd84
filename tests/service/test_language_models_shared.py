"""Two servers on one PostgreSQL with a language model as expert, one of them killed: one answer, one price a question.

Writes service_language_models.json in ../statistical/results.
"""

import json
import os
import random
import resource
import signal
import threading
import time
from collections import Counter

import pytest
from clients_at_work import Server
from postgres import binaries, free_port, running_postgres
from small_team import UNSURE, small_team
from stub_server import stub_server
from study_results import write_study

from defero.client import Client
from defero.service.events import Answered, CallBegun, CallEnded
from defero.service.flow.connections import LEASE, SetLanguageModel
from defero.service.office import Office, add_with_token
from defero.service.store.database import Database
from defero.service.store.log import read_log
from defero.service.store.saved_views import fold_log, read_views

QUESTIONS, TIMEOUT = 120, 3.0


def prepared(database, url):
    office = Office.of_team(small_team(), database)
    terms = {"url": url, "model": "m", "prompt": "{x0}", "timeout": TIMEOUT, "per_minute": 6000, "per_call": 1.0}
    office.writer.do([SetLanguageModel("p1", terms, "system")])
    office.close()
    return add_with_token(database, "robot", "machine", days=1, now=time.time())[1]


@pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed")
@pytest.mark.slow
def test_no_question_is_called_twice_by_two_servers_and_a_kill_counts_nothing_twice():
    asked, lock, rng = Counter(), threading.Lock(), random.Random(0)

    def reply(request):
        prompt = json.loads(request.body)["messages"][0]["content"].split("\n")[0]
        with lock:
            asked[prompt] += 1
            wait = 0.02 + 0.2 * rng.random()
        time.sleep(wait)
        return 200, {}, json.dumps({"choices": [{"message": {"content": "well"}}]}).encode()

    with running_postgres() as database, stub_server(reply) as (url, _):
        token = prepared(database, url)
        servers = [Server(database, free_port()) for _ in range(2)]
        for server in servers:
            server.start()
            server.wait_until_ready()
        with Client(servers[1].url, token) as client:
            rows = [[0.4 + 0.001 * place, *UNSURE[1:]] for place in range(QUESTIONS)]
            cases = [step.case for step in client.add(rows)]
            time.sleep(1.0)
            os.kill(servers[0].pid, signal.SIGKILL)  # in the middle of its calls
            servers[0].gone()
            end = time.monotonic() + TIMEOUT + LEASE + 60
            while client.questions(person="p1") and time.monotonic() < end:
                time.sleep(0.5)
        os.kill(servers[1].pid, signal.SIGKILL)
        servers[1].gone()
        for server in servers:
            server.close()
        where = Database.connect(database)
        with where.read() as connection:
            entries = list(read_log(connection))
            assert read_views(connection).plain() == fold_log(connection).plain()
        where.close()
    begun = Counter(one.case for one in entries if isinstance(one.fact, CallBegun))
    ended = Counter(one.case for one in entries if isinstance(one.fact, CallEnded))
    answered = Counter(one.case for one in entries if isinstance(one.fact, Answered))
    assert answered == Counter(cases), "every question has one answer"
    assert ended == Counter(cases), "and one price"
    called_again = {case for case, n in begun.items() if n > 1}
    assert max(begun.values()) <= 2
    assert sum(asked.values()) <= sum(begun.values()), "no call without its entry in the log"
    assert sum(n > 1 for n in asked.values()) <= len(called_again) <= 8, "only what was under way at the kill"
    write_study(
        "service_language_models",
        cpu_seconds=sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)),
        servers=2,
        questions=QUESTIONS,
        calls=sum(asked.values()),
        calls_begun=sum(begun.values()),
        begun_again_after_the_kill=len(called_again),
        answers=sum(answered.values()),
        paid=sum(ended.values()),
    )
