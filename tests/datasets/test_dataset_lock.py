"""Locks: one holder at a time, freed however the holder ends, and no file left behind."""

import errno
import subprocess
import sys
import threading

import pytest

from defero.core.errors import InputError
from defero.datasets.folder import locked


def test_a_held_lock_is_refused_and_free_afterwards(tmp_path):
    path = tmp_path / "new" / "a.lock"
    with locked(path), pytest.raises(InputError, match=r"^it is taken$"), locked(path, busy="it is taken"):
        pass
    with locked(path, busy="it is taken"):
        pass
    assert list(path.parent.iterdir()) == []


def test_an_error_inside_frees_it(tmp_path):
    with pytest.raises(KeyboardInterrupt), locked(tmp_path / "a.lock"):
        raise KeyboardInterrupt
    with locked(tmp_path / "a.lock", busy="it is taken"):
        pass


def test_a_holder_that_was_killed_holds_nothing(tmp_path):
    program = (
        "import os, signal, sys; from pathlib import Path; from defero.datasets.folder import locked\n"
        "with locked(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "a.lock"], check=False)
    assert done.returncode == -9
    assert (tmp_path / "a.lock").exists()
    with locked(tmp_path / "a.lock", busy="it is taken"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_those_who_wait_come_one_after_the_other(tmp_path):
    inside, most = [], []

    def work():
        for _ in range(50):
            with locked(tmp_path / "a.lock"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 200
    assert set(most) == {1}


def test_a_file_system_without_locks_goes_on(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with locked(tmp_path / "a.lock"):
        pass


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InputError, match="taken cannot be written"), locked(tmp_path / "taken" / "a.lock"):
        pass
