"""A million cases of 20 numbers, answered by 20 experts, five classes: read, fitted and routed, in time and memory.

    python -m benchmarks.million_rows

Each command runs in a process of its own, as a person runs it, with the linear learner and with the default. Wall
seconds, CPU seconds and the largest resident memory are those of that process; what `fit` and `route` together must
stay under is 300 CPU seconds and 4 GB.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from defero.data.model_folder import library_versions

N_CASES, N_FEATURES, N_CLASSES, N_EXPERTS = 1_000_000, 20, 5, 20
MOST_SECONDS, MOST_BYTES = 300.0, 4e9
SKILL, ANSWERED = 0.8, 0.7
NETS = ("linear", "auto")


def cases(n_cases: int = N_CASES, *, seed: int = 0) -> pd.DataFrame:
    """Draw cases: labels from a linear model, each expert good at two classes, and not asked in some cases."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_cases, N_FEATURES)).astype(np.float32)
    logits = features @ rng.normal(size=(N_FEATURES, N_CLASSES)).astype(np.float32) * 0.6
    label = (logits + rng.gumbel(size=logits.shape).astype(np.float32)).argmax(axis=1)
    names = np.array(["a", "b", "c", "d", "e"], dtype=object)
    columns: dict[str, object] = {f"x{i}": features[:, i] for i in range(N_FEATURES)}
    for j in range(N_EXPERTS):
        knows = (label == j % N_CLASSES) | (label == (j + 1) % N_CLASSES)
        right = rng.random(n_cases) < np.where(knows, SKILL + 0.15, SKILL - 0.2)
        said = names[np.where(right, label, (label + rng.integers(1, N_CLASSES, n_cases)) % N_CLASSES)]
        said[rng.random(n_cases) >= ANSWERED] = None
        columns[f"expert_{j}"] = said
    return pd.DataFrame({**columns, "label": names[label]})


def run() -> dict[str, dict[str, float]]:
    """Return wall seconds, CPU seconds and peak megabytes of each command, and of all."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases().to_parquet(folder / "cases.parquet", index=False)
        experts = ",".join(f"expert_{j}" for j in range(N_EXPERTS))
        figures: dict[str, dict[str, float]] = {}
        for net in NETS:
            fit = ["fit", "cases.parquet", "--label", "label", "--experts", experts, "--net", net, "--out", net]
            route = ["route", net, "cases.parquet", "--out", f"{net}.parquet"]
            both = {f"{command[0]}, {net}": measured(command, folder) for command in (fit, route)}
            figures |= {**both, f"all, {net}": _together(list(both.values()))}
    return figures


def _together(figures: list[dict[str, float]]) -> dict[str, float]:
    """Return the seconds and the peak memory of several commands, and whether they stay under the limits."""
    total = {
        "wall_s": sum(one["wall_s"] for one in figures),
        "cpu_s": sum(one["cpu_s"] for one in figures),
        "peak_mb": max(one["peak_mb"] for one in figures),
    }
    within = total["cpu_s"] <= MOST_SECONDS and 1e6 * total["peak_mb"] <= MOST_BYTES
    return {**total, "within_300_cpu_s_and_4_GB": float(within)}


def measured(arguments: list[str], folder: Path) -> dict[str, float]:
    """Run a command and wait for it; raises with what it said where it fails."""
    began = time.perf_counter()
    with (folder / "said.txt").open("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "defero", *arguments], cwd=folder, stdout=said, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise RuntimeError(said.read()[-2_000:])
    return {
        "wall_s": round(wall, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": round(usage.ru_maxrss * 1024 / 1e6),
    }


def main() -> None:
    """Measure, print the figures, and keep them in benchmarks/results/."""
    figures = run()
    facts = {
        "command": "python -m benchmarks.million_rows",
        "unit": "wall_s, cpu_s: seconds; peak_mb: largest resident memory of the process, in 1e6 bytes; one run",
        "file": f"Parquet, {N_CASES:,} rows, {N_FEATURES} numbers, {N_EXPERTS} experts, {N_CLASSES} classes; "
        f"each expert answered {ANSWERED:.0%} of the rows",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": library_versions(),
        "figures": figures,
    }
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "million_rows.json").write_text(json.dumps(facts, indent=1) + "\n")
    for what, figure in figures.items():
        print(f"{what}: {figure}")


if __name__ == "__main__":
    main()
