"""kill -9 under load, and two servers on one PostgreSQL: nothing accepted is lost, nothing is doubled.

Writes service_kills_sqlite, service_kills_postgresql and service_two_processes.json in ../statistical/results.
"""

import os
import random
import resource
import signal
import time

import pytest
from clients_at_work import Server, Worker, check_deliveries, check_log
from lead_at_work import KINDS, Lead, Receiver
from postgres import binaries, free_port, running_postgres
from small_team import small_team
from study_results import write_study

from defero.service.flow.settings import ChangePerson
from defero.service.office import Office, add_with_token
from defero.service.store.database import Database, durability

KILLS = int(os.environ.get("DEFERO_KILLS", "200"))
CAPACITY = {"p1": 300, "p2": 200}
needs_postgres = pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=needs_postgres)])
def database(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "cases.sqlite")
    else:
        with running_postgres() as url:
            yield url


def spent():
    """Return the CPU seconds of this process and of the servers that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def prepared(database, capacity):
    """Make the tables, set capacities; return the tokens of a machine and a lead."""
    office = Office.of_team(small_team(), database)
    office.writer.do([ChangePerson(person, {"capacity": most}, "system") for person, most in capacity.items()])
    office.close()
    roles = {"robot": "machine", "boss": "lead"}
    return [add_with_token(database, name, role, days=1, now=time.time())[1] for name, role in roles.items()]


@pytest.mark.slow
def test_nothing_accepted_is_lost_when_the_server_is_killed(database):
    (token, lead_token), rng = prepared(database, CAPACITY), random.Random(0)
    server = Server(database, free_port())
    server.start()
    server.wait_until_ready()
    workers = [Worker(server.url, token, seed, outcomes=True) for seed in range(4)]
    receiver = Receiver()
    lead = Lead(server.url, lead_token, receiver.url)
    for worker in (*workers, lead):
        worker.start()
    started = time.monotonic()
    for n_kills in range(KILLS):
        time.sleep(0.05 + 0.3 * rng.random() + 1.5 * (n_kills % 5 == 0))  # webhooks are served once a second
        os.kill(server.pid, signal.SIGKILL)
        server.gone()
        server.start()
        server.wait_until_ready()
    for worker in (*workers, lead):
        worker.stop.set()
    for worker in (*workers, lead):
        worker.join(60)
    os.kill(server.pid, signal.SIGKILL)
    server.gone()
    server.close()
    receiver.close()
    counts = check_log(database, workers, capacity=CAPACITY)
    assert set(counts["kinds"]) >= KINDS
    counts["delivered"] = check_deliveries(database, receiver.seqs, kinds=("settled", "model_changed"))
    kind = "sqlite" if "://" not in database else "postgresql"
    assert counts["accepted_cases"] > KILLS
    assert counts["repeated_requests"] > 0
    seconds = round(time.monotonic() - started)
    write_study(f"service_kills_{kind}", cpu_seconds=spent(), kills=KILLS, clients=4, wall_seconds=seconds, **counts)


@needs_postgres
@pytest.mark.slow
def test_two_servers_on_one_postgresql_share_capacity_and_keys():
    capacity = {"p1": 150, "p2": 100, "p3": 60}
    with running_postgres() as database:
        token = prepared(database, capacity)[0]
        servers = [Server(database, free_port()) for _ in range(2)]
        for server in servers:
            server.start()
            server.wait_until_ready()
        # Four pairs: both workers of a pair send the same requests, one to each server.
        workers = [
            Worker(servers[place % 2].url, token, place, requests=iter([f"pair{place // 2}-{n}" for n in range(60)]))
            for place in range(8)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(300)
        for server in servers:
            os.kill(server.pid, signal.SIGKILL)
            server.gone()
            server.close()
        counts = check_log(database, workers, capacity=capacity)
    assert counts["cases"] == 4 * 60 * 3, "every request was done once"
    assert counts["asked"] == capacity
    write_study("service_two_processes", cpu_seconds=spent(), servers=2, clients=8, capacity=capacity, **counts)


@needs_postgres
@pytest.mark.slow
def test_postgresql_keeps_every_commit_on_disk():
    with running_postgres() as url:
        database = Database.connect(url)
        assert durability(database) == {"synchronous_commit": "on", "fsync": "on"}
        database.close()
