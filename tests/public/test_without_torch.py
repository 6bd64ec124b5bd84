"""Without PyTorch: `study` on a table never loads it, and an environment without it runs every command.

The second writes ../statistical/results/without_torch.json.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from study_results import write_study

from defero.datasets import wedge

ROOT = Path(__file__).parents[2]
EXPERTS = ["ann", "bob", "cem", "dot"]
LEAST_PASSED = 4_000
OTHERS = (".git", ".venv", "build", "*.egg-info", ".*_cache", ".hypothesis", "__pycache__")
STUDY = """
import sys
from defero import Study, read_cases
study = Study(read_cases("cases.csv", label="truth", expert_names=["ann", "bob", "cem", "dot"]))
study.fit()
study.evaluate()
study.save("model")
study.report("report.html", "more.csv")
Study.load("model").route("more.csv", "decisions.csv")
print(sorted(name for name in ("torch", "lightning_fabric") if name in sys.modules))
"""


def write_cases(folder):
    for name, seed in (("cases", 0), ("more", 1)):
        past = wedge(600, random_state=seed)
        frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels)
        frame[EXPERTS] = past.answers
        frame.to_csv(folder / f"{name}.csv", index=False)


def test_a_study_of_a_small_table_loads_no_torch(tmp_path):
    write_cases(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", STUDY], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.slow
def test_an_environment_without_torch_runs_the_commands_and_the_tests(tmp_path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    python = environment(tmp_path)
    assert not_installed(python, "torch")
    write_cases(tmp_path)
    table = ["--label", "truth", "--experts", ",".join(EXPERTS)]
    for command in (
        ["fit", "cases.csv", *table, "--out", "model"],
        ["evaluate", "model", "more.csv"],
        ["report", "model", "more.csv", "--out", "report.html"],
        ["route", "model", "more.csv", "--out", "decisions.csv"],
        ["demo", "--seeds", "2"],
    ):
        done = run([python, "-m", "defero", *command], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    refused = run([python, "-m", "defero", "fit", "cases.csv", *table, "--net", "mlp", "--out", "other"], cwd=tmp_path)
    assert refused.returncode == 2
    assert all(word in refused.stderr for word in ("--net mlp", "PyTorch", "pip install 'defero[train]'"))
    told = json.loads(
        run([python, "-m", "defero", "fit", "cases.csv", *table, "--json", "--out", "again"], cwd=tmp_path).stdout
    )
    assert set(told["net"].split("+")) <= {"trees", "linear"}
    tests = run([python, "-m", "pytest", "-m", "not slow and not browser", "tests", "src"], cwd=tmp_path / "defero")
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped|failed|error)", tests.stdout)}
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    write_study("without_torch", cpu_seconds=seconds, tests=counts)
    assert tests.returncode == 0, tests.stdout[-3_000:]
    assert counts["passed"] >= LEAST_PASSED


def environment(folder):
    """Return the Python of a new environment with a copy of this package, without the extra `train`."""
    shutil.copytree(ROOT, folder / "defero", ignore=shutil.ignore_patterns(*OTHERS), symlinks=True)
    run([sys.executable, "-m", "venv", folder / "bare"], cwd=folder).check_returncode()
    uv, needed = Path(sys.executable).parent / "uv", ["pytest", "hypothesis", "beartype"]
    constraints = ROOT / "constraints.txt"
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--constraint", constraints]
    links = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS") or ""
    done = run(
        [*install, "--editable", folder / "defero", *needed],
        cwd=folder,
        UV_FIND_LINKS=links,
        VIRTUAL_ENV=str(folder / "bare"),
    )
    assert done.returncode == 0, done.stderr
    return folder / "bare" / "bin" / "python"


def not_installed(python, name):
    code = f"import importlib.util as u; raise SystemExit(u.find_spec({name!r}) is not None)"
    return run([python, "-c", code], cwd="/").returncode == 0


def run(arguments, *, cwd, **environment):
    return subprocess.run(
        list(map(str, arguments)),
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
