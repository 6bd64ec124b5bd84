"""A clinic's table: 160 lesions, two numbers, a site, three doctors with gaps, and a way to run a command."""

import io
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pandas as pd
import typer.main

from defero.cli.main import main

typer.main.get_command = cache(typer.main.get_command)  # a shell builds the commands once for each process as well

DOCTORS = ["dr_a", "dr_b", "dr_c"]
FIT = ["--label", "truth", "--experts", ",".join(DOCTORS), "--key", "case", "--net", "linear"]


class Outcome(NamedTuple):
    """What a shell sees of a command."""

    code: int
    out: str
    err: str


def run(*arguments):
    """Run a command in this process."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv, code = ["defero", *map(str, arguments)], 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv = before
    if "pip install 'defero[train]'" in err.getvalue() and find_spec("torch") is None:
        raise ImportError(err.getvalue())
    return Outcome(code, out.getvalue(), err.getvalue())


def lesions(n=160, *, seed=3):
    """Return cases as a spreadsheet has them: text and numbers, blank where nothing is known."""
    rng = np.random.default_rng(seed)
    age, size = rng.integers(25, 88, n), rng.gamma(2, 4, n).round(1)
    site = rng.choice(["arm", "leg", "trunk", "face"], n)
    odds = 0.05 * (age - 60) + 0.25 * (size - 8) + 0.8 * (site == "trunk")
    malign = rng.random(n) < 1 / (1 + np.exp(-odds))
    frame = pd.DataFrame(
        {
            "case": [f"P{number:04d}" for number in range(n)],
            "age": age,
            "size_mm": pd.Series(size).mask(rng.random(n) < 0.05),
            "site": site,
        }
    )
    for doctor, strong, gaps in zip(DOCTORS, ["face", "trunk", "arm"], [0.3, 0.5, 0.1], strict=True):
        right = rng.random(n) < np.where(site == strong, 0.97, 0.75)
        said = pd.Series(np.where(malign == right, "malign", "benign"), dtype=object)
        frame[doctor] = said.mask(rng.random(n) < gaps)
    return frame.assign(truth=np.where(malign, "malign", "benign"))


def trained(tmp_path_factory):
    """Return a folder with cases.csv and a model fitted on it, and what `fit` printed; made once per process."""
    folder, printed = (tmp_path_factory.getbasetemp() / name for name in ("clinic", "clinic.txt"))
    if not printed.exists():
        folder.mkdir(exist_ok=True)  # without torch the fit below ends the test, and the next one comes here again
        lesions().to_csv(folder / "cases.csv", index=False)
        outcome = run("fit", folder / "cases.csv", *FIT, "--out", folder / "model")
        assert (outcome.code, outcome.err) == (0, "")
        printed.write_text(outcome.out)
    return folder, printed.read_text()


def enter(tmp_path_factory, tmp_path, monkeypatch):
    """Make a fresh copy of cases.csv and the model the current folder."""
    shutil.copytree(trained(tmp_path_factory)[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
