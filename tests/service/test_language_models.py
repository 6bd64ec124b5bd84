"""Language models as experts: called once, read strictly, tried again within their time, and nothing counted twice."""

import json
import logging
import threading
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_team import SURE, UNSURE, add_cases, small_team
from sqlalchemy import select
from stub_server import stub_server

from defero.service import Problem
from defero.service.events import CallBegun, Entry, LanguageModelSet
from defero.service.flow.cases import EraseCase, Expire
from defero.service.flow.connections import LEASE, EndLanguageModel, SetLanguageModel
from defero.service.office import Office
from defero.service.outward.language_models import Callers
from defero.service.outward.requesting import send
from defero.service.store.contents import read_notes
from defero.service.store.log import METADATA, of_cases, read_log
from defero.service.store.saved_views import fold_log, read_cases, read_views
from defero.service.views.connections import CalledModel, apply_call

KEY = "sk-very-secret"
ANN = "p1"


def completion(content, tokens_in=20, tokens_out=2):
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
    return 200, {}, json.dumps({"choices": [{"message": {"content": content}}], "usage": usage}).encode()


class World:
    """An office whose expert ann is a language model on a stub server."""

    def __init__(self, office, url):
        self.office, self.url = office, url
        office.writer.start()

    def set(self, **terms):
        terms = {"url": f"{self.url}/v1", "model": "small", **terms}
        return self.office.do(SetLanguageModel(ANN, terms, "p9"))

    def ask(self, n=1):
        return [one["case"] for one in self.office.do(add_cases(self.office.team, [UNSURE] * n))["cases"]]

    def callers(self, **more):
        more = {"clock": self.office.clock, "environ": {"DEFERO_KEY_A": KEY}, **more}
        return Callers(self.office.database, more.pop("do", self.office.do), **more)

    def work(self, callers=None, most=8):
        callers = callers or self.callers()
        taken = callers.take(most)
        for call in taken:
            callers.serve(call)
        return len(taken)

    def entries(self, case):
        with self.office.database.read() as connection:
            return of_cases(connection, [case])

    def kinds(self, case):
        return [one.fact.kind for one in self.entries(case)]

    def state(self, case):
        with self.office.database.read() as connection:
            return read_cases(connection, [case])[case]

    def notes(self, case):
        with self.office.database.read() as connection:
            return list(read_notes(connection, case).values())

    def totals(self, person=ANN):
        with self.office.database.read() as connection:
            views = read_views(connection)
            assert views.plain() == fold_log(connection).plain()
        counts = {}
        for (_, who, name), amount in views.counts.items():
            if who == person:
                counts[name] = counts.get(name, 0) + amount
        return counts


@pytest.fixture
def world(office):
    @contextmanager
    def on(reply):
        with stub_server(reply) as (url, requests):
            yield World(office, url), requests

    return on


def test_a_question_is_called_answered_and_priced(world, caplog):
    caplog.set_level(logging.DEBUG)
    with world(lambda _: completion(" well\n", 1000, 100)) as (team, requests):
        prompt = "P(ill) is {x0} {{really}}"
        options = {"temperature": 0}
        prices = {"per_call": 0.5, "per_million_in": 100.0, "per_million_out": 1000.0}
        team.set(prompt=prompt, options=options, key_variable="DEFERO_KEY_A", **prices)
        [case] = team.ask()
        assert team.work() == 1
    sent = json.loads(requests[0].body)
    assert (requests[0].method, requests[0].path) == ("POST", "/v1/chat/completions")
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert (sent["model"], sent["temperature"]) == ("small", 0)
    assert sent["messages"][0]["content"].startswith("P(ill) is 0.5 {really}\n\nAnswer with exactly one")
    begun, ended, answered = team.entries(case)[2:5]
    assert begun.fact.attempt == 1
    assert (ended.fact.price, ended.fact.tokens_in, ended.fact.tokens_out) == (0.7, 1000, 100)
    assert 0 < ended.fact.seconds < 5
    assert (answered.fact.person, answered.fact.answer, answered.fact.by) == (ANN, "well", ANN)
    totals = team.totals()
    assert (totals["calls"], totals["answered"], totals["paid"]) == (1, 1, 700_000)
    with team.office.database.read() as connection:
        everything = [str(row) for table in METADATA.sorted_tables for row in connection.execute(select(table))]
    assert not any(KEY in row for row in everything)
    assert KEY not in caplog.text
    assert "P(ill) is 0.5" not in caplog.text


@pytest.mark.parametrize(
    "content", ["", "Well", "well.", "ill well", "I think well", '"well"', None, ["well"], 5, "w" * 500]
)
def test_an_answer_that_is_no_class_is_a_skip_with_its_reason(world, content):
    with world(lambda _: completion(content)) as (team, _):
        team.set(per_call=1.0)
        [case] = team.ask()
        team.work()
    assert team.kinds(case)[2:6] == ["call_begun", "call_ended", "skipped", "rerouted"]
    [note] = team.notes(case)
    assert "is no class" in note
    assert len(note) < 200
    assert team.totals()["paid"] == 1_000_000


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"choices": []}', b"\xff", b"[" * 100_000, b'{"choices": 1}'])
def test_a_reply_that_is_no_completion_is_a_skip(world, body):
    with world(lambda _: (200, {}, body)) as (team, _):
        team.set()
        [case] = team.ask()
        team.work()
    assert "no chat completion" in team.notes(case)[0]
    assert team.state(case).asked == "p2"


def test_only_the_classes_it_may_answer_are_read(world):
    with world(lambda _: completion("well")) as (team, requests):
        assert team.set(classes=["ill"])["classes"] == ("ill",)
        [case] = team.ask()
        team.work()
        with pytest.raises(Problem, match="none of the classes"):
            team.set(classes=["dead"])
    assert json.loads(requests[0].body)["messages"][0]["content"].endswith("nothing else:\nill")
    assert "is no class" in team.notes(case)[0]


def test_too_many_requests_wait_for_retry_after_and_slow_down_every_question(world, clock):
    replies = [(429, {"Retry-After": "40"}, b""), completion("well"), completion("well")]
    with world(lambda _: replies.pop(0)) as (team, requests):
        team.set(per_minute=600)
        one, other = team.ask(2)
        callers = team.callers()
        [call] = callers.take(1)
        callers.serve(call)
        start = clock.now
        for now in (start, start + 20, start + 38):
            clock.now = now
            assert team.work(callers) == 0  # neither of them
        clock.now = start + 41
        assert team.work(callers) == 2
        assert len(requests) == 3
    assert team.kinds(one)[2:6] == ["call_begun", "call_failed", "call_begun", "call_ended"]
    assert team.state(one).answers == team.state(other).answers == ((ANN, "well"),)
    assert team.totals()["calls_failed"] == 1


def test_failures_are_tried_again_with_longer_waits_and_given_back_at_the_end(world, clock):
    with world(lambda _: (503, {}, b"")) as (team, requests):
        team.set(within=20.0, per_minute=6000)
        [case] = team.ask()
        start, times = clock.now, []
        while team.state(case).asked == ANN:
            times += [clock.now - start] * team.work()
            clock.now += 0.5
    assert times == [0, 1, 3, 7, 15]  # the next one would be after the deadline
    assert len(requests) == 5
    assert "HTTP status 503" in team.notes(case)[0]
    assert team.kinds(case)[-2:] == ["skipped", "rerouted"]
    assert team.totals().get("paid", 0) == 0


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404])
def test_what_does_not_help_is_not_tried_again(world, status):
    with world(lambda _: (status, {"Location": "/v1/other"}, b"{}")) as (team, requests):
        team.set()
        [case] = team.ask()
        team.work()
    assert len(requests) == 1
    assert f"HTTP status {status}" in team.notes(case)[0]
    assert team.state(case).asked == "p2"


def test_a_call_ends_at_its_time_out(world):
    gate = threading.Event()
    with world(lambda _: gate.wait(10) and completion("well")) as (team, _):
        team.set(timeout=0.2)
        [case] = team.ask()
        team.work()
        gate.set()
    failed = team.entries(case)[-1].fact
    assert (failed.kind, failed.status) == ("call_failed", 0)
    assert failed.retry_at is not None


def test_the_deadline_of_the_policy_holds_too_and_a_late_answer_is_kept(world, clock):
    with world(lambda _: completion("well")) as (team, requests):
        team.set(within=10 * 86_400.0)
        [case] = team.ask()

        def late(*request):
            clock.now += 86_401  # while the call is under way
            assert team.office.do(Expire()) == 1
            assert team.state(case).asked == "p2"
            return send(*request)

        assert team.work(team.callers(send=late)) == 1
        [other] = team.ask()
        clock.now += 86_401
        assert team.work() == 0
    assert team.state(case).answers == ((ANN, "well"),)
    assert len(requests) == 1
    assert "skipped" in team.kinds(other)


def test_a_missing_key_or_column_or_content_is_said(world, clock):
    with world(lambda _: completion("well")) as (team, requests):
        team.set(key_variable="DEFERO_KEY_B", within=5.0)
        [case] = team.ask()
        for _ in range(5):
            team.work()
            clock.now += 2
        assert "DEFERO_KEY_B is not set" in team.notes(case)[0]
        for prompt in ("{note}", "{x0.__class__}", "{x0!r}", "{0}"):
            team.set(prompt=prompt)
            [case] = team.ask()
            team.work()
            assert "the case has no column" in team.notes(case)[0]
            clock.now += 10
        team.set()
        [case] = team.ask()
        callers = team.callers()
        [call] = callers.take(1)
        team.office.do(EraseCase(case, "p9"))
        callers.serve(call)  # it was read before; the case is settled, so its answer is kept and not counted
        assert team.state(case).uncounted == ((ANN, "well"),)
    assert len(requests) == 1


def test_two_processes_never_call_twice_for_one_question(world, tmp_path, clock):
    with world(lambda _: completion("well")) as (team, requests):
        team.set(per_minute=100_000)
        cases = team.ask(24)
        second = Office.of_team(small_team(), str(tmp_path / "cases.sqlite"), clock=clock)
        second.writer.start()
        workers = [team.callers(), Callers(second.database, second.do, clock=clock)]
        barrier = threading.Barrier(2)

        def run(callers):
            barrier.wait()
            while any(team.state(case).asked == ANN for case in cases):
                team.work(callers, most=3)

        threads = [threading.Thread(target=run, args=(one,)) for one in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        second.close()
    assert len(requests) == 24
    assert team.totals()["calls"] == team.totals()["answered"] == 24


def test_a_kill_between_call_and_record_counts_one_answer_and_one_price(world, clock):
    class KilledError(Exception):
        pass

    with world(lambda _: completion("well")) as (team, requests):
        team.set(per_call=1.0, timeout=60.0)
        [case] = team.ask()
        dying = team.callers()
        [call] = dying.take(1)
        dying.do = lambda _: (_ for _ in ()).throw(KilledError())
        with pytest.raises(KilledError):
            dying.serve(call)
        fresh = team.callers()
        for seconds in (0, 60, LEASE - 1):  # the lease of the dead process holds
            clock.now += seconds
            assert team.work(fresh) == 0
        clock.now += 1
        assert team.work(fresh) == 1
        assert len(requests) == 2
        totals = team.totals()
        assert (totals["calls"], totals["answered"], totals["paid"]) == (2, 1, 1_000_000)
        # It was not dead but slow: its reply is paid for as well, and its answer is not a second one.
        team.callers().serve(call)
    totals = team.totals()
    assert (totals["answered"], totals["paid"]) == (1, 2_000_000)
    assert team.state(case).answers == ((ANN, "well"),)
    assert [one.fact.attempt for one in team.entries(case) if one.fact.kind == "call_ended"] == [2, 1]


def test_a_call_that_hangs_keeps_nobody_waiting(world):
    gate, began = threading.Event(), threading.Event()

    def slow(_):
        began.set()
        gate.wait(10)
        return completion("well")

    with world(slow) as (team, _):
        team.set(per_minute=6000)
        [case] = team.ask()
        callers = team.callers()
        callers.step()
        assert began.wait(5)
        assert team.office.do(add_cases(team.office.team, [SURE]))["cases"][0]["label"] == "ill"
        callers.step()  # the question is taken: nothing more to begin
        gate.set()
        callers.close()
    assert team.state(case).answers == ((ANN, "well"),)
    assert team.totals()["calls"] == 1


def test_at_most_eight_calls_at_once(world):
    gate, running, most = threading.Event(), [0], [0]
    lock = threading.Lock()

    def slow(_):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        gate.wait(5)
        with lock:
            running[0] -= 1
        return completion("well")

    with world(slow) as (team, requests):
        team.set(per_minute=100_000)
        team.ask(12)
        callers = team.callers()
        callers.step()
        callers.step()
        gate.set()
        callers.close()
        callers.step()
        callers.close()
    assert most[0] <= 8
    assert len(requests) == 12


def test_an_end_gives_the_questions_back_to_the_person(world):
    with world(lambda _: completion("well")) as (team, requests):
        team.set()
        [case] = team.ask()
        team.office.do(EndLanguageModel(ANN, "p9"))
        assert team.work() == 0
        with pytest.raises(Problem, match="no language model"):
            team.office.do(EndLanguageModel(ANN, "p9"))
    assert requests == []
    assert team.state(case).asked == ANN


def test_who_can_be_a_language_model(clients):
    body = {"url": "http://127.0.0.1:9/v1", "model": "m"}

    def put(person, **more):
        return clients.call("boss", "PUT", f"/v1/language-models/{person}", json={**body, **more})

    assert put("p99").status_code == 404
    assert put(clients.ids["robot"]).status_code == 409
    assert put("p1", prompt="{a").status_code == put("p1", prompt="a } b").status_code == 422
    for name in ("PATH", "DEFERO_DATABASE", "DEFERO_KEY_", "defero_key_a", "DEFERO_KEY_A\n"):
        assert put("p1", key_variable=name).status_code == 422  # what is not meant to be sent cannot be sent
    for url in ("ftp://a", "http://user:word@a", "file:///etc/passwd", "http://a:99999"):
        assert put("p1", url=url).status_code == 422
    shown = put("p1", key_variable="DEFERO_KEY_NOT_SET").json()
    assert shown["key_is_set"] is False
    listed = clients.call("boss", "GET", "/v1/language-models").json()["language_models"]
    assert listed == [shown]
    assert clients.call("boss", "DELETE", "/v1/language-models/p1").json() == {"person": "p1", "ended": True}
    assert clients.call("boss", "DELETE", "/v1/language-models/p1").status_code == 404


def test_the_running_service_calls_by_itself(clients, monkeypatch):
    monkeypatch.setenv("DEFERO_KEY_A", KEY)
    replied = threading.Event()

    def reply(_):
        replied.set()
        return completion("well")

    with stub_server(reply) as (url, requests):
        body = {"url": url, "model": "m", "key_variable": "DEFERO_KEY_A"}
        assert clients.call("boss", "PUT", "/v1/language-models/p1", json=body).status_code == 200
        case = clients.add(UNSURE).json()["cases"][0]["case"]
        assert replied.wait(5)
        for _ in range(100):
            trail = clients.call("boss", "GET", f"/v1/cases/{case}/trail").json()
            if any(one["kind"] == "answered" for one in trail["entries"]):
                break
            threading.Event().wait(0.05)
    kinds = [one["kind"] for one in trail["entries"]]
    assert kinds[2:5] == ["call_begun", "call_ended", "answered"]
    assert len(requests) == 1


@settings(max_examples=40)
@given(st.integers(1, 600), st.lists(st.floats(0, 20), min_size=1, max_size=300))
def test_no_minute_has_more_calls_than_allowed(per_minute, waits):
    terms = {"url": "http://a", "model": "m", "per_minute": per_minute}
    models = apply_call({}, Entry(1, 0.0, None, LanguageModelSet(person=ANN, terms=terms, by="p9")))
    now, made = 0.0, []
    for wait in waits:
        now += wait
        if models[ANN].may_call(now):
            models = apply_call(models, Entry(2, now, "c1", CallBegun(person=ANN, attempt=1, until=now)))
            made.append(now)
    for start in made:
        assert sum(start <= one < start + 59.999 for one in made) <= per_minute


def test_the_pace_is_reached():
    models = {ANN: CalledModel(person=ANN, url="http://a", model="m", per_minute=120)}
    made = 0
    for tick in range(4 * 600):  # ten minutes of a quarter of a second
        while models[ANN].may_call(tick / 4):
            models = apply_call(models, Entry(2, tick / 4, "c1", CallBegun(person=ANN, attempt=1, until=0.0)))
            made += 1
    assert 0.97 * 1200 < made <= 1200


def test_keys_of_a_send_are_not_in_its_errors():
    assert send("GET", "http://127.0.0.1:9/", None, {"Authorization": KEY}, 1.0).body == b""


def test_calls_are_in_the_log_once_each(world):
    with world(lambda _: completion("ill")) as (team, _):
        team.set(per_minute=6000)
        team.ask(3)
        while team.work():
            pass
    with team.office.database.read() as connection:
        kinds = [entry.fact.kind for entry in read_log(connection)]
    assert kinds.count("call_begun") == kinds.count("call_ended") == kinds.count("answered") == 3


def test_calls_stop_at_the_most_that_may_be_paid_a_day(world):
    with world(lambda _: completion("well")) as (team, requests):
        team.set(per_call=0.1, most_per_day=0.3, per_minute=100_000)
        cases = team.ask(5)
        assert team.work() == 3  # calls under way count as paid
        assert team.work() == 0
        assert len(requests) == 3
        assert team.totals()["paid"] == 300_000
        for case in cases[3:]:
            assert team.kinds(case)[2:4] == ["skipped", "rerouted"]
            [note] = team.notes(case)
            assert "may pay 0.300 a day" in note
            assert "0.300 is paid" in note
        [later] = team.ask()
        assert team.state(later).asked == "p2"  # nobody asks a language model that may not be called
        team.office.clock.now += 86_400
        [tomorrow] = team.ask()
        assert (team.state(tomorrow).asked, team.work()) == (ANN, 1)


def test_a_call_that_failed_costs_nothing_and_frees_its_money(world):
    replies = [(503, {}, b""), completion("well")]
    with world(lambda _: replies.pop(0)) as (team, requests):
        team.set(per_call=1.0, most_per_day=1.0)
        [case] = team.ask()
        assert team.work() == 1
        team.office.clock.now += 2
        assert team.work() == 1
        assert len(requests) == 2
    assert "answered" in team.kinds(case)


def test_the_money_of_a_call_that_was_lost_is_free_after_its_lease(world):
    with world(lambda _: completion("well")) as (team, _):
        team.set(per_call=1.0, most_per_day=1.0, timeout=20, per_minute=100_000)
        team.ask()
        lost = team.callers().take(1)
        assert len(lost) == 1
        assert team.work() == 0
        team.office.clock.now += 20 + LEASE + 1
        assert team.work() == 1


def test_a_limit_below_the_price_of_one_call_is_refused(world):
    with world(lambda _: completion("well")) as (team, _), pytest.raises(Problem, match="most_per_day"):
        team.set(per_call=1.0, most_per_day=0.5)
