"""A deep team that is killed and fitted again, and one that two processes train together."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from deep_team_process import LAST_CHECKPOINT, teams, weights
from tiny_pictures import pictures

from defero.training.training_state import FILE

pytestmark = pytest.mark.slow  # the loop itself is killed and shared in tests/training

SCRIPT = str(Path(__file__).with_name("deep_team_process.py"))
X, Y, M = pictures()


def test_killed_and_fitted_again_a_team_is_the_one_that_was_never_stopped(tmp_path):
    died = subprocess.run([sys.executable, SCRIPT, "kill", str(tmp_path / "killed")], capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    facts = torch.load(tmp_path / "killed" / "wrn" / FILE)
    assert 5 * facts["epoch"] + facts["step"] == LAST_CHECKPOINT
    again, never = (teams(tmp_path / name)["wrn"].fit(X, Y, experts=M) for name in ("killed", "never"))
    for name, tensor in weights(never).items():
        np.testing.assert_array_equal(weights(again)[name], tensor)
    np.testing.assert_array_equal(again.predict_expert_proba(X), never.predict_expert_proba(X))


TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", SCRIPT, "share"]


@pytest.fixture(scope="module", params=["fork", "torchrun"])
def shared(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    how = TORCHRUN if request.param == "torchrun" else [SCRIPT, "fork"]
    done = subprocess.run([sys.executable, *how, str(folder)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("net", ["pooled", "wrn"])
def test_two_processes_end_with_one_team(shared, net):
    first, second = (np.load(shared / f"{net}{rank}.npz") for rank in (0, 1))
    assert sorted(first) == sorted(second)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_two_processes_do_what_one_does_where_a_net_has_no_batch_statistics(shared, tmp_path):
    alone = teams(tmp_path)["pooled"].fit(X, Y, experts=M)
    together = np.load(shared / "pooled0.npz")
    np.testing.assert_allclose(together["proba"], alone.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(together["expert_proba"], alone.predict_expert_proba(X), atol=1e-4)
