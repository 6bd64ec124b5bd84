"""Killed and resumed, and shared by two processes."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from deep_cases import SETTINGS, fitted, small_net
from safetensors.torch import load_file

from defero.training.training_state import FILE

SCRIPT = str(Path(__file__).with_name("deep_process.py"))


def same_bits(one, other):
    return all(torch.equal(one[name], other[name]) for name in one) and one.keys() == other.keys()


def test_killed_in_mid_epoch_it_ends_as_if_never_stopped(tmp_path):
    died = subprocess.run([sys.executable, SCRIPT, "kill", str(tmp_path)], capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    facts = torch.load(tmp_path / FILE)
    assert (facts["epoch"], facts["step"]) == (1, 1)
    resumed, whole = small_net(seed=3), small_net()
    after = fitted(resumed, folder=tmp_path)
    never = fitted(whole)
    assert same_bits(resumed.state_dict(), whole.state_dict())
    assert [line.loss for line in after.lines] == [line.loss for line in never.lines]
    assert [line.held_out_loss for line in after.lines] == [line.held_out_loss for line in never.lines]
    assert after.best_epoch == never.best_epoch
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in log] == [1, 2, 3]


@pytest.fixture
def two_processes(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = {
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": "test",
        "GROUP_RANK": "0",
    }
    started = [
        subprocess.Popen(
            [sys.executable, SCRIPT, "share", str(tmp_path)],
            env=os.environ | both | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    said = [process.communicate(timeout=300)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    return tmp_path


def test_two_processes_agree_and_do_what_one_does(two_processes):
    first, second = (load_file(two_processes / f"rank{rank}.safetensors") for rank in (0, 1))
    assert same_bits(first, second)
    losses = [(two_processes / f"rank{rank}.txt").read_text() for rank in (0, 1)]
    assert losses[0] == losses[1]
    alone = small_net(norm=False, dropout=0.0)
    fit = fitted(alone, settings=SETTINGS)
    for name, tensor in alone.state_dict().items():
        torch.testing.assert_close(first[name], tensor, rtol=1e-4, atol=1e-6)
    assert json.loads(losses[0]) == pytest.approx([line.held_out_loss for line in fit.lines], rel=1e-4)
    assert len((two_processes / "log.jsonl").read_text().splitlines()) == SETTINGS.epochs
