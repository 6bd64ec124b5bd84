"""Route a million cases of 32 numbers: rows a CPU second, from and to Parquet and CSV.

    python -m benchmarks.routing

A linear team of six experts is fitted on 6,000 cases. Each `defero route` runs in a process of its own, with one
thread; the CPU seconds are those of that process, its start included.
"""

import json
import os
import platform
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.million_rows import measured
from defero import Study, read_cases
from defero.data.model_folder import library_versions

N_CASES, N_FEATURES, N_EXPERTS, N_LEARNED = 1_000_000, 32, 6, 6_000
WANTED = 150_000
EXPERTS = [f"expert_{j}" for j in range(N_EXPERTS)]


def cases(n_cases: int, *, seed: int) -> pd.DataFrame:
    """Draw cases of two classes; each expert is better where one of the numbers is positive."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_cases, N_FEATURES)).astype(np.float32)
    label = (features[:, 0] + features[:, 1] + rng.logistic(size=n_cases) > 0).astype(np.int64)
    frame = pd.DataFrame(features, columns=[f"x{i}" for i in range(N_FEATURES)])
    for j, name in enumerate(EXPERTS):
        right = rng.random(n_cases) < np.where(features[:, 2 + j] > 0, 0.9, 0.6)
        frame[name] = np.where(right, label, 1 - label)
    return frame.assign(label=label)


def run() -> dict[str, dict[str, float]]:
    """Return CPU seconds, rows a CPU second and peak megabytes for each pair of formats."""
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = Study(read_cases(cases(N_LEARNED, seed=0), label="label", expert_names=EXPERTS))
        study.fit("linear")
        study.save(folder / "model")
        new = cases(N_CASES, seed=1)[[f"x{i}" for i in range(N_FEATURES)]]
        new.to_parquet(folder / "cases.parquet", index=False)
        new.to_csv(folder / "cases.csv", index=False)
        for source, target in (("parquet", "parquet"), ("parquet", "csv"), ("csv", "csv")):
            one = measured(["route", "model", f"cases.{source}", "--out", f"decisions.{target}"], folder)
            figures[f"{source} to {target}"] = {**one, "rows_per_cpu_s": round(N_CASES / one["cpu_s"])}
    return figures


def main() -> None:
    """Measure, print the figures, and keep them in benchmarks/results/."""
    figures = run()
    facts = {
        "command": "OMP_NUM_THREADS=1 python -m benchmarks.routing",
        "unit": "cpu_s, wall_s: seconds of the process; peak_mb: its largest resident memory, in 1e6 bytes; one run",
        "cases": f"{N_CASES:,} rows, {N_FEATURES} numbers, {N_EXPERTS} experts, 2 classes, linear team with panels",
        "wanted": f"{WANTED:,} rows a CPU second from Parquet to Parquet",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, one thread, other work on the machine",
        "versions": library_versions(),
        "figures": figures,
    }
    (Path(__file__).parent / "results" / "routing.json").write_text(json.dumps(facts, indent=1) + "\n")
    for what, figure in figures.items():
        print(f"{what}: {figure}")


if __name__ == "__main__":
    main()
