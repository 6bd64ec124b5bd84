"""Webhooks: signed, in order, tried again with longer waits, and nothing lost by a kill."""

import hashlib
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic import ValidationError
from small_team import SURE, UNSURE

from defero.service.outward.requesting import Courier, post_once
from defero.service.store.log import SECRETS
from defero.service.store.saved_views import fold_log, read_views
from defero.service.views.connections import HookIn


class Receiver:
    """Takes deliveries, or refuses them."""

    def __init__(self):
        self.status, self.taken, self.tries = 200, [], 0

    def __call__(self, url, body, headers):
        self.tries += 1
        if self.status == 200:
            self.taken.append((url, body, dict(headers)))
        return self.status

    def seqs(self):
        return [event["seq"] for _, body, _ in self.taken for event in json.loads(body)["events"]]


@pytest.fixture
def hook(clients):
    reply = clients.call("boss", "POST", "/v1/webhooks", json={"url": "https://a.example/x", "kinds": ["settled"]})
    assert reply.status_code == 201
    return reply.json()


def courier(clients, receiver):
    return Courier(clients.office.database, clients.office.do, clock=clients.office.clock, post=receiver)


def test_a_delivery_is_signed_and_has_no_names(clients, hook):
    receiver = Receiver()
    clients.add(SURE, UNSURE, SURE)
    assert courier(clients, receiver).deliver() == 1
    url, body, headers = receiver.taken[0]
    assert url == "https://a.example/x"
    parts = dict(part.split("=") for part in headers["Defero-Signature"].split(","))
    expected = hmac.new(hook["secret"].encode(), f"{parts['t']}.".encode() + body, hashlib.sha256).hexdigest()
    assert parts["v1"] == expected
    events = json.loads(body)["events"]
    assert [one["kind"] for one in events] == ["settled", "settled"]
    assert b"ann" not in body
    assert courier(clients, receiver).deliver() == 0  # nothing waits


def test_what_failed_is_tried_again_after_longer_and_longer(clients, hook):
    receiver, clock = Receiver(), clients.office.clock
    receiver.status = 503
    clients.add(SURE)
    sender, waits = courier(clients, receiver), []
    for _ in range(5):
        sender.deliver()
        before = receiver.tries
        sender.deliver()
        assert receiver.tries == before  # not yet
        state = clients.call("boss", "GET", "/v1/webhooks").json()["webhooks"][0]
        waits.append(state["retry_at"] - clock.now)
        clock.now = state["retry_at"]
    assert waits == [2, 4, 8, 16, 32]
    receiver.status = 200
    assert sender.deliver() == 1
    state = clients.call("boss", "GET", "/v1/webhooks").json()["webhooks"][0]
    assert (state["failures"], state["retry_at"]) == (0, 0.0)


def test_a_kill_between_taking_and_recording_sends_again_and_loses_nothing(clients, hook):
    receiver = Receiver()
    clients.add(*[SURE] * 3)

    class KilledError(Exception):
        pass

    def killed(command):
        raise KilledError

    dying = Courier(clients.office.database, killed, clock=clients.office.clock, post=receiver)
    with pytest.raises(KilledError):
        dying.deliver()
    clients.add(*[SURE] * 250)
    fresh = courier(clients, receiver)
    while fresh.deliver():
        pass
    seqs = receiver.seqs()
    assert len(set(seqs)) == 253
    assert seqs[:3] == seqs[3:6]  # twice, by the same ids
    assert seqs[3:] == sorted(seqs[3:])
    with clients.office.database.read() as connection:
        assert read_views(connection).plain() == fold_log(connection).plain()


def test_a_webhook_ends_and_wrong_ones_are_refused(clients, hook):
    assert clients.call("boss", "DELETE", f"/v1/webhooks/{hook['hook']}").json()["ended"]
    receiver = Receiver()
    clients.add(SURE)
    assert courier(clients, receiver).deliver() == 0
    for body in ({"url": "ftp://a.b"}, {"url": "https://a.b", "kinds": ["hook_sent"]}, {"url": "file:///etc/passwd"}):
        assert clients.call("boss", "POST", "/v1/webhooks", json=body).status_code == 422


def test_every_port_is_allowed_and_nothing_else():
    for port in (1, 80, 8443, 9999, 10000, 50051, 64999, 65529, 65535):
        assert HookIn(url=f"http://127.0.0.1:{port}/x").url.endswith(f":{port}/x")
    for port in ("0", "", "65536", "70000", "100000", "-1", "8o", "080"):
        with pytest.raises(ValidationError):
            HookIn(url=f"http://127.0.0.1:{port}/x")


def test_a_real_server_gets_the_bytes_and_a_silent_one_is_a_failure():
    bodies = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/x?y=1"
    assert post_once(url, b"{}", {"Content-Type": "application/json"}) == 204
    server.shutdown()
    server.server_close()
    thread.join()
    assert bodies == [b"{}"]
    assert post_once(url, b"{}", {}) == 0


def test_of_several_processes_one_delivers(clients, hook, monkeypatch):
    receiver = Receiver()
    clients.add(SURE)
    monkeypatch.setattr("defero.service.store.database.Turn.held", lambda _: False)
    assert courier(clients, receiver).deliver() == 0
    assert receiver.tries == 0
    monkeypatch.undo()
    assert courier(clients, receiver).deliver() == 1


def test_a_time_from_a_wrong_clock_does_not_silence_a_webhook(clients, hook):
    receiver, clock = Receiver(), clients.office.clock
    receiver.status = 503
    clients.add(SURE)
    clock.now += 400 * 86_400  # the clock was a year ahead for a moment
    courier(clients, receiver).deliver()
    clock.now -= 400 * 86_400
    receiver.status = 200
    assert courier(clients, receiver).deliver() == 1


def test_nothing_is_begun_once_the_service_stops(clients, hook):
    receiver, office = Receiver(), clients.office
    clients.add(SURE)
    last = Courier(office.database, office.do, clock=office.clock, post=receiver, stopped=lambda: True)
    assert last.deliver() == 0
    assert receiver.tries == 0
    last.close()


def test_a_refused_webhook_leaves_no_secret_behind(clients, monkeypatch):
    monkeypatch.setattr("defero.service.flow.connections.MOST_HOOKS", 0)
    assert clients.call("boss", "POST", "/v1/webhooks", json={"url": "https://a.example/x"}).status_code == 409
    with clients.office.database.read() as connection:
        names = [row.name for row in connection.execute(SECRETS.select())]
    assert names == ["signing"]


def test_whoever_runs_the_service_names_the_hosts(clients, monkeypatch):
    monkeypatch.setenv("DEFERO_OUTWARD_HOSTS", "b.example")
    refused = clients.call("boss", "POST", "/v1/webhooks", json={"url": "https://a.example/x"})
    assert refused.status_code == 422
    assert "DEFERO_OUTWARD_HOSTS" in refused.json()["detail"]
    assert clients.call("boss", "POST", "/v1/webhooks", json={"url": "https://b.example/x"}).status_code == 201
