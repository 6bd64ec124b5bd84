"""What a service that runs for months forgets: idempotency keys and old tokens, a few at a time."""

import pytest
from small_team import SURE
from sqlalchemy import func, select

from defero.service.store import contents as sql_desk
from defero.service.store.contents import KEPT_SECONDS, forget_requests
from defero.service.store.log import REQUESTS


def n_keys(office):
    with office.database.read() as connection:
        return connection.execute(select(func.count()).select_from(REQUESTS)).scalar()


def send(clients, n, start=0):
    for k in range(start, start + n):
        assert clients.add(SURE, headers={"Idempotency-Key": f"k{k}"}).status_code == 200


def test_keys_are_forgotten_after_a_week_while_the_service_runs(clients, clock, monkeypatch):
    monkeypatch.setattr(sql_desk, "_FORGOTTEN_AT_ONCE", 3)
    send(clients, 8)
    clock.now += KEPT_SECONDS - 1
    send(clients, 2, start=8)
    clients.office.tidy()
    assert n_keys(clients.office) == 10
    first = clients.add(SURE, headers={"Idempotency-Key": "k0"}).json()
    clock.now += 2
    clients.office.tidy()
    assert n_keys(clients.office) == 2
    assert clients.add(SURE, headers={"Idempotency-Key": "k0"}).json() != first
    assert clients.add(SURE, headers={"Idempotency-Key": "k9"}).status_code == 200


def test_a_transaction_forgets_a_few_thousand_at_most(clients, clock, monkeypatch):
    monkeypatch.setattr(sql_desk, "_FORGOTTEN_AT_ONCE", 3)
    send(clients, 8)
    clock.now += KEPT_SECONDS + 1
    with clients.office.database.write() as connection:
        assert [forget_requests(connection, now=clock()) for _ in range(4)] == [3, 3, 2, 0]


def test_too_many_keys_go_before_their_time_the_oldest_first(clients, clock):
    for k in range(6):
        send(clients, 1, start=k)
        clock.now += 1
    with clients.office.database.write() as connection:
        assert forget_requests(connection, now=clock(), most=4) == 2
        left = {row.key for row in connection.execute(select(REQUESTS))}
    assert {key.partition(":")[2] for key in left} == {"k2", "k3", "k4", "k5"}


@pytest.mark.parametrize("kept", [True, False])
def test_the_running_service_tidies_up_by_itself(office, monkeypatch, kept):
    if kept:
        monkeypatch.setattr("defero.service.office._LONG_TICK", 0.01)
    done = []
    monkeypatch.setattr(office, "tidy", lambda: done.append(1))
    office.start()
    office._stop.wait(0.3)
    assert bool(done) == kept
