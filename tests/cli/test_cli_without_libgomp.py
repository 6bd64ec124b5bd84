"""An image without libgomp: fit says in one sentence what to install, and all that grows no trees works.

A copy of LightGBM asks for a library of another name, which no system has: its own loader fails.
"""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from clinic import DOCTORS, FIT, lesions

from defero import DeferralClassifier
from defero.core.codec import pack

NEEDED, ABSENT = b"libgomp.so.1\0", b"libgomq.so.1\0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Cases, and a LightGBM that cannot be loaded."""
    folder = tmp_path_factory.mktemp("slim")
    copied = shutil.copytree(Path(find_spec("lightgbm").origin).parent, folder / "path" / "lightgbm")
    libraries = [path for path in copied.rglob("*.so") if NEEDED in path.read_bytes()]
    if not libraries:
        pytest.skip("this build of LightGBM does not need the system's libgomp")
    for library in libraries:
        library.write_bytes(library.read_bytes().replace(NEEDED, ABSENT))
    lesions().to_csv(folder / "cases.csv", index=False)
    return folder


def run(folder, *command):
    path = os.pathsep.join([str(folder / "path"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_loader_fails_as_it_does_without_the_library(folder):
    done = run(folder, "-c", "import lightgbm")
    assert done.returncode == 1
    assert "OSError: libgomq.so.1: cannot open shared object file: No such file or directory" in done.stderr


def test_fit_says_what_to_install(folder):
    done = run(folder, "-m", "defero", "fit", "cases.csv", *FIT, "--net", "auto", "--out", "model")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(
        "defero: LightGBM, which grows the trees, cannot be loaded (libgomq.so.1: cannot open"
    )
    assert "It needs the system's library libgomp: install it (apt-get install libgomp1), or fit with" in done.stderr
    assert done.stderr.endswith("--net linear, which needs PyTorch.\n")
    assert "Traceback" not in done.stdout + done.stderr
    assert not (folder / "model").exists()


def test_fit_without_trees_works(folder):
    pytest.importorskip("torch")
    done = run(folder, "-m", "defero", "fit", "cases.csv", *FIT, "--net", "linear", "--out", "linear")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_team_with_trees_routes(folder):
    """The trees are arrays of our own by then."""
    cases = lesions()
    team = DeferralClassifier(random_state=0).fit(
        cases[["age", "size_mm", "site"]], cases["truth"], experts=cases[DOCTORS]
    )
    assert "trees" in json.dumps(pack(team.team_).manifest)
    team.save(folder / "trees")
    script = (
        "import pandas as pd; from defero import Team;"
        "print(Team.load('trees').decide(pd.read_csv('cases.csv')[['age', 'size_mm', 'site']]).p_right.tolist())"
    )
    done = run(folder, "-c", script)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == team.decide(cases[["age", "size_mm", "site"]]).p_right.tolist()
