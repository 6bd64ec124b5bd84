"""A Ray cluster of two nodes on this machine gives the bytes of one process, and still does when a node dies."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from operator import truediv
from pathlib import Path

import pandas as pd
import pytest

from defero import Study, read_cases
from defero.core.errors import InputError
from defero.datasets import wedge
from defero.study.engines import engine_by_name

pytest.importorskip("ray", reason="Ray is an extra: pip install 'defero[ray]'")

pytestmark = pytest.mark.slow
NAMES = ["ann", "bob", "cem", "dot"]
RAY = [sys.executable, "-m", "ray.scripts.scripts"]


@contextmanager
def ray_node(*arguments):
    """Start a node, wait until it says that it runs, and stop it at the end of the block."""
    with subprocess.Popen([*RAY, "start", "--block", *arguments], stdout=subprocess.PIPE, text=True) as node:
        said = []
        for line in node.stdout:
            said.append(line)
            if "Ray runtime started" in line:
                break
        try:
            assert node.poll() is None, "".join(said)
            yield node
        finally:
            node.terminate()
            node.communicate(timeout=60)


def raylets(node):
    """Return the ids of the processes that run the tasks of a node."""
    listing = ["pgrep", "-P", str(node.pid), "-f", "raylet/raylet"]
    return {int(pid) for pid in subprocess.run(listing, check=False, capture_output=True, text=True).stdout.split()}


@pytest.fixture
def two_nodes(monkeypatch):
    """Start a head and a second node with two cores each; yield the address and the second node's processes.

    The head asks for a token where the home folder holds one, which the second node does not send by itself. At the end
    these two nodes are stopped and no others: a developer's own cluster may run on the machine.
    """
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="ray-") as folder, ExitStack() as nodes:
        head = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}")
        nodes.enter_context(ray_node(*head, "--num-cpus=2"))
        second = nodes.enter_context(ray_node(f"--address=127.0.0.1:{port}", "--num-cpus=2"))
        yield f"127.0.0.1:{port}", raylets(second)


def cases():
    past = wedge(200, random_state=0)
    frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels)
    frame[NAMES] = past.answers
    return read_cases(frame, label="truth", expert_names=NAMES)


def contents(folder: Path):
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_folder_of_40_files_is_byte_equal_to_local_with_a_node_killed_in_the_middle(two_nodes, tmp_path):
    address, second = two_nodes
    study = Study(cases())
    study.fit("linear", loss="ova")
    (tmp_path / "cases").mkdir()
    for seed in range(40):
        features = pd.DataFrame(wedge(2_000, random_state=seed).features).add_prefix("x")
        features.to_parquet(tmp_path / "cases" / f"part-{seed:02}.parquet")
    study.route_folder(tmp_path / "cases", tmp_path / "local")
    killer = threading.Thread(target=kill_after, args=(tmp_path / "ray" / "_runs", second), daemon=True)
    killer.start()
    study.route_folder(tmp_path / "cases", tmp_path / "ray", engine="ray", address=address)
    killer.join(timeout=1)
    assert not killer.is_alive(), "the routing ended before the node was killed"
    assert second
    assert not any(alive(pid) for pid in second)
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    assert len(contents(tmp_path / "local")) == 80  # decisions and results of the runs


def kill_after(folder: Path, pids, n_done: int = 10):
    """Kill a node as soon as ten results are there."""
    while len(list(folder.glob("*.json"))) < n_done:
        time.sleep(0.05)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_a_cluster_of_its_own_is_started_and_an_error_of_a_task_arrives(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")  # of another cluster: it is not ours
    with pytest.raises(ZeroDivisionError):
        list(engine_by_name("ray", workers=1).run(truediv, [0], shared=1))


def test_no_cluster_at_an_address_is_said():
    with pytest.raises(InputError, match="no Ray cluster answers") as raised:
        list(engine_by_name("ray", address="127.0.0.1:1").run(pow, [1], shared=2))
    assert raised.value.argument == "address"


def defero(*arguments, folder):
    """Run a command in a folder and return what it prints."""
    command = [sys.executable, "-m", "defero", *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    return done.stdout


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Return a folder with a model, Parquet files of past cases, one with a bad cell, and what `evaluate` prints."""
    folder = tmp_path_factory.mktemp("judged")
    study = Study(cases())
    study.fit("linear", loss="ova")
    study.save(folder / "model")
    (folder / "past").mkdir()
    for seed in range(1, 7):
        past = wedge(400, random_state=seed)
        frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels).astype({"x0": str})
        frame[NAMES] = past.answers
        if seed == 4:
            frame.loc[9, "x0"] = "=large"
        frame.to_parquet(folder / "past" / f"part-{seed}.parquet")
    return folder, defero(*EVALUATE, folder=folder), (folder / BAD_ROWS).read_bytes()


EVALUATE = ("evaluate", "model", "past", "--bad-rows", "skip", "--most-cases", "1000", "--json")
BAD_ROWS = "past.bad-rows.csv"


@pytest.mark.parametrize("workers", [1, 2])
def test_evaluate_prints_the_same_bytes_on_a_cluster_of_its_own(judged, workers):
    folder, printed, bad_rows = judged
    assert json.loads(printed)["test"]["items"] == 1_000
    (folder / BAD_ROWS).unlink(missing_ok=True)
    assert defero(*EVALUATE, "--engine", "ray", "--workers", workers, folder=folder) == printed
    assert (folder / BAD_ROWS).read_bytes() == bad_rows


@pytest.mark.parametrize("workers", [1, 2])
def test_evaluate_prints_the_same_bytes_on_two_nodes(judged, two_nodes, workers):
    folder, printed, bad_rows = judged
    (folder / BAD_ROWS).unlink(missing_ok=True)
    where = ("--engine", "ray", "--address", two_nodes[0], "--workers", workers)
    assert defero(*EVALUATE, *where, folder=folder) == printed
    assert (folder / BAD_ROWS).read_bytes() == bad_rows


TRAIN = (
    "reproduce",
    "fig2c",
    "--train",
    "--quick",
    "--methods",
    "ova",
    "--settings",
    "0.2,0.8",
    "--epochs",
    "1",
    "--json",
)
KEPT = ("seconds", "machine", "command")
"""What a run has of the machine that made it: these may differ."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder with two trained runs, made in one process of one thread, and the figures printed."""
    folder = tmp_path_factory.mktemp("trained")
    return folder, defero(*TRAIN, "--engine", "local", folder=folder)


def runs(folder: Path):
    """Return all runs in a folder without what is the machine's, in the order of their settings."""
    records = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    for one in records:
        del one["recipe"]["first_step_seconds"]
    plain = [{name: value for name, value in one.items() if name not in KEPT} for one in records]
    return sorted(plain, key=lambda one: one["setting"])


@pytest.mark.skipif(not os.environ.get("DEFERO_DATA"), reason="DEFERO_DATA names no folder with the data")
@pytest.mark.parametrize("workers", [1, 2])
def test_reproduce_trains_the_same_runs_on_ray(trained, workers, tmp_path):
    folder, printed = trained
    assert defero(*TRAIN, "--engine", "ray", "--workers", workers, folder=tmp_path) == printed
    assert runs(tmp_path / "reproduced") == runs(folder / "reproduced")
    assert len(runs(tmp_path / "reproduced")) == 2
    assert (tmp_path / "reproduced" / "fig2c.csv").read_bytes() == (folder / "reproduced" / "fig2c.csv").read_bytes()
