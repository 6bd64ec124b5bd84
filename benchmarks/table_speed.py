"""CPU seconds of `fit` on tables, and rows a second of `route`, each command in a process of its own.

    python -m benchmarks table_speed

`fit` of 600 rows and 6 experts from CSV, the best of five, and of 20,000 rows of 32 numbers and 20 experts, with
everything at its default; `route` of a million rows of 32 numbers by a team of linear models and by one of trees.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.million_rows import measured

N_FEATURES, N_ROUTED = 32, 1_000_000
MOST_SECONDS = {"fit 600 x 6 experts": 5.0, "fit 20,000 x 32, 20 experts": 60.0}
LEAST_ROWS_A_SECOND = {"linear": 150_000, "trees": 15_000}


def cases(n_cases: int, n_features: int, n_experts: int, *, seed: int = 0) -> pd.DataFrame:
    """Draw three classes by a bent law, and experts who each know one side of a column."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_cases, n_features)).astype(np.float32)
    logits = features[:, :6] @ rng.normal(size=(6, 3)) + np.sin(2 * features[:, 6:9])
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    skill = np.where(features[:, np.arange(n_experts) % n_features] > 0, 0.9, 0.6)
    wrong = (labels[:, None] + rng.integers(1, 3, skill.shape)) % 3
    answers = np.where(rng.random(skill.shape) < skill, labels[:, None], wrong)
    names = np.array(["low", "middle", "high"], dtype=object)
    columns = {f"x{i}": features[:, i] for i in range(n_features)}
    experts = {f"expert_{j}": names[answers[:, j]] for j in range(n_experts)}
    return pd.DataFrame({**columns, **experts, "label": names[labels]})


def fit(table: str, n_experts: int, model: str, folder: Path, *options: str) -> dict[str, float]:
    """Run `defero fit` and return its seconds and memory."""
    experts = ",".join(f"expert_{j}" for j in range(n_experts))
    return measured(["fit", table, "--label", "label", "--experts", experts, "--out", model, *options], folder)


def run() -> dict[str, dict[str, float]]:
    """Return the figures of each command beside its limit."""
    os.environ["OMP_NUM_THREADS"] = "1"
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases(600, 10, 6).to_csv(folder / "small.csv", index=False)
        table = cases(20_000, N_FEATURES, 20)
        table.to_parquet(folder / "cases.parquet", index=False)
        # The best of five: a start of Python on a shared machine varies by a fifth.
        small = [fit("small.csv", 6, f"small {number}", folder) for number in range(5)]
        figures["fit 600 x 6 experts"] = min(small, key=lambda one: one["cpu_s"])
        figures["fit 20,000 x 32, 20 experts"] = fit("cases.parquet", 20, "auto", folder)
        for what, most in MOST_SECONDS.items():
            figures[what] |= {"most_cpu_s": most, "within": float(figures[what]["cpu_s"] <= most)}
        many = cases(N_ROUTED, N_FEATURES, 0, seed=1).drop(columns="label")
        many.to_parquet(folder / "many.parquet", index=False)
        for net, least in LEAST_ROWS_A_SECOND.items():
            fit("cases.parquet", 20, net, folder, "--net", "auto" if net == "trees" else net)
            route = measured(["route", net, "many.parquet", "--out", f"{net}.parquet"], folder)
            speed = round(N_ROUTED / route["cpu_s"])
            figures[f"route 1,000,000 x 32, {net}"] = {
                **route,
                "rows_a_cpu_s": speed,
                "least_rows_a_cpu_s": least,
                "within": float(speed >= least),
            }
    return figures
