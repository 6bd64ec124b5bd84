"""A model folder is replaced without a gap: kills, several writers, drafts left behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from toy_models import write

from defero.data import whole_files
from defero.data.model_folder import WEIGHTS, read_folder


@pytest.fixture
def model(tmp_path):
    write(tmp_path / "model")
    return tmp_path / "model"


def test_drafts_of_killed_processes_are_removed_and_others_left(model, tmp_path):
    old, new, strange = (tmp_path / f".model-{name}.draft" for name in ("old", "new", "strange"))
    for draft in (old, new, strange):
        draft.mkdir()
        (draft / WEIGHTS).write_bytes(b"half")
    (strange / "mine.txt").write_text("mine")
    for draft in (old, strange):
        os.utime(draft, (0, 0))
    write(model)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".model-new.draft", ".model-strange.draft", "model"]


def test_in_the_gap_between_two_renames_the_draft_is_read(model, tmp_path, monkeypatch):
    """Only where the system cannot exchange two folders at once."""
    monkeypatch.setattr(whole_files, "exchange", lambda one, other: False)
    rename, kinds = Path.rename, []

    def watched(self, target):
        rename(self, target)
        kinds.append(read_folder(model).manifest["kind"])

    monkeypatch.setattr(Path, "rename", watched)
    write(model, {"kind": "newer"})
    assert set(kinds) <= {"toy", "newer"}
    assert len(kinds) == 3
    assert read_folder(model).manifest["kind"] == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


SAVES = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
from defero.data import whole_files
from defero.core.codec import Packed
from defero.data.model_folder import read_folder, write_folder

folder, way, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if way == "steps":
    whole_files.exchange = lambda one, other: False

def save_until_killed():
    number, parent = 0, os.getppid()
    while os.getppid() == parent:  # a run of the tests that is ended leaves nobody at work
        number += 1
        write_folder(folder, Packed({"number": number}, {"w": np.full(1000, number)}, {}))

if not times:
    print("ready", flush=True)
    save_until_killed()
rng = random.Random(0)
for _ in range(times):
    child = os.fork()
    if not child:
        save_until_killed()
    time.sleep(rng.uniform(0.005, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert way == "steps" or folder.is_dir()
    read_folder(folder)
print("done", flush=True)
"""


def saving(folder, way="exchange", times=0):
    command = [sys.executable, "-c", SAVES, str(folder), way, str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("way", ["exchange", "steps"])
@pytest.mark.parametrize("times", [15, pytest.param(400, marks=pytest.mark.slow)])
def test_a_kill_during_save_never_loses_the_model(model, way, times):
    """With an exchange of names the target is there at every moment; with two renames a draft of it is."""
    assert saving(model, way, times).communicate()[0] == "done\n"


def test_a_model_can_be_read_while_others_replace_it(model, tmp_path):
    writers = [saving(model) for _ in range(2)]
    try:
        assert [run.stdout.readline() for run in writers] == ["ready\n"] * 2
        stop, n_reads = time.monotonic() + 1.0, 0
        while time.monotonic() < stop:
            weights = read_folder(model).arrays
            assert len(set(weights.get("w", np.zeros(1)).tolist())) == 1
            n_reads += 1
        assert n_reads > 5
        assert all(run.poll() is None for run in writers)
    finally:
        for run in writers:
            run.kill()
            run.communicate()
