"""How often the smooth error's 95 % interval holds the truth. Writes ../statistical/results/smooth_interval.json."""

import json
import platform
import time
from pathlib import Path

import pytest
from smooth_laws import LAWS, PERFECT, SMALL, SURE, covered, covered_at

from defero.data.model_folder import library_versions

pytestmark = pytest.mark.slow
RESULTS = Path(__file__).parents[1] / "statistical" / "results" / "smooth_interval.json"
RUNS, RESAMPLES = 500, 200


def test_coverage_over_many_runs():
    started, rows = time.process_time(), {}
    laws = {**{f"error 0.10, {name}": law for name, law in LAWS.items()}, "error 0.02": SMALL, "error 0": PERFECT}
    for name, (draw, truth) in laws.items():
        for n_items in (500, 2000):
            rows[f"{name}, {n_items} items"] = covered(draw, truth, n_items=n_items, n_runs=RUNS, n_resamples=RESAMPLES)
    for n_items, claim, truth in SURE:
        exact = covered_at(n_items, claim, truth, n_resamples=RESAMPLES)
        rows[f"all claim {claim}, {truth} come true, {n_items} items"] = round(float(exact), 4)
    facts = {
        "command": "make slow",
        "seed": 0,
        "runs": RUNS,
        "resamples": RESAMPLES,
        "versions": library_versions(),
        "machine": f"{platform.machine()}, one thread",
        "cpu_seconds": round(time.process_time() - started),
        "coverage": rows,
    }
    RESULTS.write_text(json.dumps(facts, indent=1) + "\n")
    assert min(value for name, value in rows.items() if "error 0.02" not in name) >= 0.9
