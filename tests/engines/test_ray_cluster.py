"""A Ray cluster of two nodes on this machine gives the bytes of one process, and still does when a node dies."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from defero import Study, read_cases
from defero.core.errors import InputError
from defero.datasets import wedge
from defero.engines import engine_by_name

pytest.importorskip("ray", reason="Ray is an extra: pip install 'defero[ray]'")

pytestmark = pytest.mark.slow
NAMES = ["ann", "bob", "cem", "dot"]
RAY = [sys.executable, "-m", "ray.scripts.scripts"]


def ray_command(*arguments):
    done = subprocess.run([*RAY, *arguments], check=False, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2_000:]


@pytest.fixture
def two_nodes(monkeypatch):
    """Start a head and a second node with two cores each; yield the address and the second node's processes.

    The head asks for a token where the home folder holds one, which the second node does not send by itself.
    """
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray_command("start", "--head", f"--port={port}", "--num-cpus=2", "--include-dashboard=false")
    before = raylets()
    try:
        ray_command("start", f"--address=127.0.0.1:{port}", "--num-cpus=2")
        yield f"127.0.0.1:{port}", raylets() - before
    finally:
        ray_command("stop", "--force")


def raylets():
    """Return the process ids of the nodes."""
    running = subprocess.run(["pgrep", "-f", "raylet/raylet"], check=False, capture_output=True, text=True).stdout
    return {int(pid) for pid in running.split()}


def cases():
    past = wedge(200, random_state=0)
    frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels)
    frame[NAMES] = past.answers
    return read_cases(frame, label="truth", expert_names=NAMES)


def contents(folder: Path):
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_sweep_of_40_runs_is_byte_equal_to_local_with_a_node_killed_in_the_middle(two_nodes, tmp_path):
    address, second = two_nodes
    study, settings = Study(cases()), {"net": "linear", "loss": ("ova", "softmax"), "seeds": range(20)}
    study.sweep(**settings, out=tmp_path / "local")
    killer = threading.Thread(target=kill_after, args=(tmp_path / "ray", second), daemon=True)
    killer.start()
    study.sweep(**settings, out=tmp_path / "ray", engine="ray", address=address)
    killer.join(timeout=1)
    assert not killer.is_alive(), "the sweep ended before the node was killed"
    assert not any(alive(pid) for pid in second)
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    assert len(contents(tmp_path / "local")) == 40


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


def test_a_cluster_of_its_own_is_started_and_an_error_of_a_task_arrives(tmp_path):
    study = Study(cases())
    with pytest.raises(InputError, match="net"):
        study.sweep(net="no-such-net", seeds=[0], engine="ray", workers=1)


def test_no_cluster_at_an_address_is_said():
    with pytest.raises(InputError, match="no Ray cluster answers") as raised:
        list(engine_by_name("ray", address="127.0.0.1:1").run(pow, [1], shared=2))
    assert raised.value.argument == "address"
