"""Load on `defero serve`: cases of 32 numbers and 20 experts posted, on disk and answered, on SQLite and two cores.

Beside the same application with an empty handler, and beside `Team.next_step` alone. Rates and waits are of the wall
clock, with the load generator on the same cores: where the load average is above 1 before, others were at work too, and
only the CPU milliseconds a case, which the kernel counted for the server, tell something.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.load_generator import body_of, figures_of, run_load
from defero import DeferralClassifier, Team
from defero.service.office import add_with_token

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
from defero.service.serve import Shell
from defero.service.web.schemas import CasesIn
app = FastAPI()
@app.post("/v1/cases")
async def empty(body: CasesIn) -> dict[str, list[str]]:
    return {"cases": []}
uvicorn.run(Shell(app), port=int(sys.argv[1]), access_log=False, log_level="warning")
"""


def run() -> dict[str, Any]:
    """Return the figures; wall-clock ones are of a server and its load generator on the same cores."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        router = _router(folder / "model")
        rows = np.random.default_rng(1).normal(size=(BATCH, N_NUMBERS)).tolist()
        figures: dict[str, Any] = {"cores": os.cpu_count(), "load average before": round(os.getloadavg()[0], 1)}
        with _served([sys.executable, "-m", "defero", "serve", str(folder / "model")]) as (port, pid):
            # A machine: the lead may make 50 requests a second.
            where = str(folder / "model.sqlite")
            token = add_with_token(where, "load", "machine", days=1, now=time.time())[1]
            figures |= _loads(port, token, pid, rows)
            before = _resident(pid)
            load = run_load(port, token, [body_of(rows)], n_cases=BATCH, clients=2, most=MANY // BATCH)
            figures[f"{MANY:,} cases: seconds"] = round(load.seconds, 1)
            figures[f"{MANY:,} cases: resident MB before and after"] = [before, _resident(pid)]
        with _served([sys.executable, "-c", EMPTY]) as (port, pid):
            empty = _loads(port, "none", pid, rows, empty=True)
        figures |= {f"empty handler: {name}": value for name, value in empty.items()}
        figures |= _alone(router, np.array(rows))
        figures["load average after"] = round(os.getloadavg()[0], 1)
    return figures


def _loads(port: int, token: str, pid: int, rows: list[list[float]], *, empty: bool = False) -> dict[str, Any]:
    """Return rates, waiting times and CPU a case: one by one, one by one at half the load, and in batches."""
    single, batch = [body_of([row]) for row in rows], [body_of(rows)]
    figures: dict[str, Any] = {}
    run_load(port, token, single, n_cases=1, clients=2, most=100, empty=empty)
    for name, bodies, n_cases, options in (
        ("one by one", single, 1, {"clients": CLIENTS}),
        (f"one by one at {PACED}/s", single, 1, {"clients": CLIENTS, "rate": PACED}),
        (f"batches of {BATCH}", batch, BATCH, {"clients": 2}),
    ):
        spent = _cpu(pid)
        load = run_load(port, token, bodies, n_cases=n_cases, seconds=SECONDS, empty=empty, **options)
        figures |= figures_of(load, name, _cpu(pid) - spent)
    return figures


def _alone(router: Team, matrix: Any) -> dict[str, Any]:
    """Return what the router alone takes, in CPU milliseconds a case."""
    figures = {}
    for size, times in ((1, 200), (BATCH, 10)):
        begun = time.process_time()
        for place in range(times):
            start = place % BATCH if size == 1 else 0
            router.next_step(matrix[start : start + size])
        spent = (time.process_time() - begun) / (size * times)
        figures[f"Team.next_step, {size} at a time: CPU ms a case"] = round(1000 * spent, 3)
    return figures


@contextmanager
def _served(command: list[str]) -> Iterator[tuple[int, int]]:
    """Start a server; yield its port and its process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port)] if "serve" in command else [str(port)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.05)
    try:
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def _router(folder: Path) -> Team:
    """Return a calibrated team of 20 experts of different skill, saved."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3_000, N_NUMBERS))
    labels = (features @ rng.normal(size=N_NUMBERS) + 2 * rng.normal(size=3_000) > 0).astype(int)
    right = rng.random((3_000, N_EXPERTS)) < rng.uniform(0.6, 0.95, N_EXPERTS)
    answers = np.where(right, labels[:, None], 1 - labels[:, None])
    team = DeferralClassifier(net="linear", random_state=0)
    router: Team = team.fit(features[:2_000], labels[:2_000], experts=answers[:2_000]).team_
    router.calibrate(features[2_000:], labels[2_000:], answers[2_000:], disjoint=True)
    router.save(folder)
    return router


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
