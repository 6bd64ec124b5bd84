"""Thousands of changed tables and model folders: each is fine or gives a clear error, in bounded time and memory.

The whole run is `make slow`; its counts are in results/fuzz.json. A few cases of it run with the other tests.
"""

import json
import os
import platform
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fuzz_worker import CPU_SECONDS, MORE_BYTES
from mutations import save_models

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "fuzz.json"
SEED, MANY, FEW = 2026, 6_000, 60


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_cases(folder, count, *, workers=1):
    """Return a line for each case, in their order; several processes share them."""
    models = folder / "models"
    models.mkdir()
    save_models(models)
    bounds = [count * part // workers for part in range(workers + 1)]
    with ThreadPoolExecutor(workers) as threads:
        parts = threads.map(
            lambda part: run_part(models, folder / f"{part}.jsonl", *bounds[part : part + 2]), range(workers)
        )
        return [line for part in parts for line in part]


def run_part(models, lines, start, count, *, worker="fuzz_worker.py"):
    """Return a line for each case; a process that the system ended is started again after the case it was at."""
    while start < count:
        command = [sys.executable, HERE / worker, models, lines, SEED, start, count]
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}  # mutations reads a module of another room's tests
        done = subprocess.run(
            list(map(str, command)), env={**os.environ, **path}, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            break
        began = [line["begins"] for line in lines_of(lines) if "begins" in line]
        assert began, done.stderr
        with lines.open("a") as file:
            outcome = f"ended by signal {-done.returncode}: {done.stderr[-300:]}"
            file.write(json.dumps({"case": began[-1], "kind": "unknown", "outcome": outcome, "resident": 0}) + "\n")
        start = began[-1] + 1
    return [line for line in lines_of(lines) if "case" in line]


def summary(lines):
    outcomes = Counter(line["outcome"] if line["outcome"] in ("fine", "error") else "bad" for line in lines)
    resident = [line["resident"] for line in lines if line["resident"]]
    kinds = {}
    for line in lines:
        kinds.setdefault(line["kind"], Counter())[line["outcome"]] += 1
    return {
        "command": "make slow (tests/hostile/test_fuzz.py)",
        "seed": SEED,
        "cases": len(lines),
        "tables": sum(line["kind"].startswith("table") for line in lines),
        "folders": sum(line["kind"].startswith("folder") for line in lines),
        "readable tables with another cell": sum(line["kind"].endswith(", a cell") for line in lines),
        "fine": outcomes["fine"],
        "clear errors": outcomes["error"],
        "bad": outcomes["bad"],
        "limits": {"CPU seconds a case": CPU_SECONDS, "bytes reserved beyond the start": MORE_BYTES},
        "largest resident memory in MB": round(max(resident) / 1e6),
        "kinds": {kind: dict(sorted(counts.items())) for kind, counts in sorted(kinds.items())},
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }


def bad_ones(lines):
    return [line for line in lines if line["outcome"] not in ("fine", "error")]


def test_a_few_changed_tables_and_folders(tmp_path):
    lines = run_cases(tmp_path, FEW)
    assert len(lines) == FEW
    assert not bad_ones(lines)
    assert {line["outcome"] for line in lines} == {"fine", "error"}


@pytest.mark.slow
def test_many_changed_tables_and_folders(tmp_path):
    lines = run_cases(tmp_path, MANY, workers=4)
    counts = summary(lines)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(counts, indent=1, ensure_ascii=False) + "\n")
    assert not bad_ones(lines)
    assert counts["cases"] == MANY
    assert min(counts["fine"], counts["clear errors"]) > MANY / 10
    assert counts["readable tables with another cell"] > counts["cases"] / 4
    assert max(line["resident"] for line in lines) < lines[0]["resident"] + MORE_BYTES
