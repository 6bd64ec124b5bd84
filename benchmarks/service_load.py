"""Load on `defero serve`: cases of 32 numbers and 20 experts posted, on disk and answered, on SQLite and two cores.

Beside the same application with an empty handler, and beside `Router.next_step` alone. Rates and waits are of the wall
clock, with the clients on the same cores: where the load average is above 1 before, others were at work too, and only
the CPU milliseconds a case, which the kernel counted for the server, tell something.
"""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from defero import DeferralClassifier, Router
from defero.client import Client, ServiceError
from defero.service.people import add_with_token

N_NUMBERS, N_EXPERTS = 32, 20
CLIENTS = 16
SECONDS = 10.0
BATCH = 500
PACED = 150
"""Cases a second, one by one: half of what is asked for."""
MANY = 100_000
EMPTY = """
import sys
import uvicorn
from fastapi import FastAPI
from defero.service.access.shell import Shell
from defero.service.api.schemas import CasesIn
app = FastAPI()
@app.post("/v1/cases")
async def empty(body: CasesIn) -> dict[str, list[str]]:
    return {"cases": []}
uvicorn.run(Shell(app), port=int(sys.argv[1]), access_log=False, log_level="warning")
"""


def run() -> dict[str, Any]:
    """Return the figures; wall-clock ones are of a server and its clients on the same cores."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        router = _router(folder / "model")
        rows = np.random.default_rng(1).normal(size=(BATCH, N_NUMBERS)).tolist()
        figures: dict[str, Any] = {"cores": os.cpu_count(), "load average before": round(os.getloadavg()[0], 1)}
        with _served([sys.executable, "-m", "defero", "serve", str(folder / "model")]) as (url, pid):
            # A machine: the lead, whose token is printed, may make 50 requests a second.
            where = str(folder / "model.sqlite")
            token = add_with_token(where, "load", "machine", days=1, now=time.time())[1]
            figures |= _loads(url, token, pid, rows)
            before, started = _resident(pid), time.monotonic()
            _hammer(url, token, lambda client: client.add(rows), clients=2, most=MANY // BATCH)
            figures["100,000 cases: seconds"] = round(time.monotonic() - started, 1)
            figures["100,000 cases: resident MB before and after"] = [before, _resident(pid)]
        with _served([sys.executable, "-c", EMPTY]) as (url, pid):
            figures |= {f"empty handler: {name}": value for name, value in _loads(url, "none", pid, rows).items()}
        figures |= _alone(router, np.array(rows))
        figures["load average after"] = round(os.getloadavg()[0], 1)
    return figures


def _loads(url: str, token: str, pid: int, rows: list[list[float]]) -> dict[str, Any]:
    """Return cases a second one by one and in batches, waiting times, and what a case costs the server."""
    _hammer(url, token, lambda client: client.add(rows[:1]), clients=2, most=20)
    spent = _cpu(pid)
    waits, seconds = _hammer(url, token, lambda client: client.add(rows[:1]), clients=CLIENTS, seconds=SECONDS)
    single = _cpu(pid) - spent
    figures = {
        "one by one: cases/s": round(len(waits) / seconds),
        "one by one: ms p50, p99": _percentiles(waits),
        "one by one: server CPU ms a case": round(1000 * single / len(waits), 3),
    }
    paced, _ = _hammer(url, token, lambda client: client.add(rows[:1]), clients=8, seconds=SECONDS, pause=8 / PACED)
    figures[f"one by one at {PACED}/s: ms p50, p99"] = _percentiles(paced)
    spent = _cpu(pid)
    waits, seconds = _hammer(url, token, lambda client: client.add(rows), clients=2, seconds=SECONDS)
    batch = _cpu(pid) - spent
    figures[f"batches of {BATCH}: cases/s"] = round(BATCH * len(waits) / seconds)
    figures[f"batches of {BATCH}: server CPU ms a case"] = round(1000 * batch / (BATCH * len(waits)), 3)
    return figures


def _hammer(
    url: str,
    token: str,
    call: Callable[[Client], Any],
    *,
    clients: int,
    seconds: float = 3_600.0,
    most: int = 10**9,
    pause: float = 0.0,
) -> tuple[list[float], float]:
    """Call from several threads until the time is over or enough is done; return each wait, and the seconds."""
    waits: list[float] = []
    refused: list[ServiceError] = []
    left, lock = [most], threading.Lock()
    started = time.monotonic()

    def work(place: int) -> None:
        with Client(url, token) as client:
            due = started + pause * place / clients
            while time.monotonic() - started < seconds:
                with lock:
                    left[0] -= 1
                    if left[0] < 0:
                        return
                if pause:
                    time.sleep(max(0.0, due - time.monotonic()))
                    due += pause
                begun = time.monotonic()
                try:
                    call(client)
                except ServiceError as error:
                    refused.append(error)
                    return
                waits.append(time.monotonic() - begun)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if refused:
        raise refused[0]
    return waits, time.monotonic() - started


def _alone(router: Router, matrix: Any) -> dict[str, Any]:
    """Return what the router alone takes, in CPU milliseconds a case."""
    figures = {}
    for size, times in ((1, 200), (BATCH, 10)):
        begun = time.process_time()
        for place in range(times):
            start = place % BATCH if size == 1 else 0
            router.next_step(matrix[start : start + size])
        spent = (time.process_time() - begun) / (size * times)
        figures[f"Router.next_step, {size} at a time: CPU ms a case"] = round(1000 * spent, 3)
    return figures


@contextmanager
def _served(command: list[str]) -> Iterator[tuple[str, int]]:
    """Start a server; yield its URL and its process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port)] if "serve" in command else [str(port)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.05)
    try:
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


def _router(folder: Path) -> Router:
    """Return a calibrated team of 20 experts of different skill, saved."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3_000, N_NUMBERS))
    labels = (features @ rng.normal(size=N_NUMBERS) + 2 * rng.normal(size=3_000) > 0).astype(int)
    right = rng.random((3_000, N_EXPERTS)) < rng.uniform(0.6, 0.95, N_EXPERTS)
    answers = np.where(right, labels[:, None], 1 - labels[:, None])
    team = DeferralClassifier(net="linear", random_state=0)
    router: Router = team.fit(features[:2_000], labels[:2_000], experts=answers[:2_000]).router_
    router.calibrate(features[2_000:], labels[2_000:], answers[2_000:], disjoint=True)
    router.save(folder)
    return router


def _percentiles(waits: list[float]) -> list[float]:
    return [round(1000 * float(np.quantile(waits, share)), 1) for share in (0.5, 0.99)]


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
