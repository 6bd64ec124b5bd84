"""Ten thousand cases, 800 experts, five answers each: the seconds and the memory that each estimator's fit takes.

    python -m benchmarks.few_answers

Each fit runs in a process of its own and must stay under 120 s and 4 GB on two cores. What its memory grows with is
told by the same 50,000 answers given by 80, 800 and 2,400 experts: a grid of cases and experts would grow by 30.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse

from defero.core.checks.arrays import FloatArray, IntArray
from defero.data.model_folder import library_versions
from defero.estimators.base import DeferralEstimator
from defero.estimators.baselines import BestExpert, ConfidenceThreshold, ModelOnly, RandomExpert
from defero.estimators.deferral import DeferralClassifier
from defero.estimators.recipe import Recipe
from defero.estimators.two_stage import TwoStageDeferral

N_CASES, N_FEATURES, N_CLASSES, N_EXPERTS, EACH = 10_000, 20, 5, 800, 5
MOST_SECONDS, MOST_BYTES = 120.0, 4e9
NETWORKS = [(net, loss) for net in ("linear", "mlp") for loss in ("softmax", "ova", "decoupled", "asymmetric", "moe")]
ESTIMATORS: Mapping[str, Callable[[], DeferralEstimator]] = {
    **{f"{net} {loss}": partial(DeferralClassifier, net, loss=loss, random_state=0) for net, loss in NETWORKS},
    "two-stage": TwoStageDeferral,
    "model only": ModelOnly,
    "best expert": BestExpert,
    "random expert": partial(RandomExpert, random_state=0),
    "confidence threshold": ConfidenceThreshold,
}


def cases(n_experts: int = N_EXPERTS, *, seed: int = 0) -> tuple[FloatArray, IntArray, scipy.sparse.csr_array]:
    """Draw features, labels from a linear model of them, and answers of experts of different skill."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(N_CASES, N_FEATURES))
    logits = features @ rng.normal(size=(N_FEATURES, N_CLASSES)) * 0.6
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    one_in_each = n_experts // EACH
    who = rng.integers(0, one_in_each, (N_CASES, EACH)) + np.arange(EACH) * one_in_each
    right = rng.random(who.shape) < rng.uniform(0.5, 0.95, n_experts)[who]
    said = np.where(right, labels[:, None], rng.integers(0, N_CLASSES, who.shape))
    starts = np.arange(0, who.size + 1, EACH)
    return features, labels, scipy.sparse.csr_array((said.ravel() + 1, who.ravel(), starts), shape=(N_CASES, n_experts))


def peak_mb() -> float:
    """Return the largest resident memory of this process so far, in 1e6 bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux hands the peak of whoever started a process on to it in ru_maxrss
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def fit_one(name: str, n_experts: int, max_epochs: int | None) -> dict[str, float]:
    """Fit in this process: wall and CPU seconds of fit, its peak memory, and how much of that it added."""
    features, labels, experts = cases(n_experts)
    estimator = ESTIMATORS[name]()
    if max_epochs is not None and isinstance(estimator, DeferralClassifier):
        estimator.set_params(recipe=Recipe(max_epochs=max_epochs))
    before, wall, cpu = peak_mb(), time.perf_counter(), time.process_time()
    estimator.fit(features, labels, experts=experts)
    return {
        "wall_s": round(time.perf_counter() - wall, 1),
        "cpu_s": round(time.process_time() - cpu, 1),
        "peak_mb": round(peak_mb()),
        "added_mb": round(peak_mb() - before),
    }


def measured(name: str, n_experts: int, *, max_epochs: int | None = None) -> dict[str, float]:
    """Fit in a process of its own; raises with what it said where it fails."""
    asked = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.few_answers",
        name,
        str(n_experts),
        str(max_epochs or ""),
    ]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    if told.returncode:
        raise RuntimeError(told.stderr[-2_000:])
    figures: dict[str, float] = json.loads(told.stdout)
    return figures


def run() -> dict[str, dict[str, float]]:
    """Return each estimator's seconds and memory, the worst of them, and the memory for fewer and more experts.

    Memory for other numbers of experts is that of two epochs: more of them take longer and no more room.
    """
    figures = {name: measured(name, N_EXPERTS) for name in ESTIMATORS}
    worst = {key: max(one[key] for one in figures.values()) for key in ("wall_s", "cpu_s", "peak_mb")}
    within = worst["wall_s"] <= MOST_SECONDS and 1e6 * worst["peak_mb"] <= MOST_BYTES
    grown = {
        f"{name}: MB added with so many experts": {
            f"{n:,}": measured(name, n, max_epochs=2)["added_mb"] for n in (80, 800, 2_400)
        }
        for name in ESTIMATORS
    }
    return {**figures, "worst": {**worst, "within_120_s_and_4_GB": float(within)}, **grown}


def main() -> None:
    """Measure, print the figures, and keep them in benchmarks/results/; with arguments, fit one estimator."""
    if sys.argv[1:]:
        name, n_experts, max_epochs = sys.argv[1:]
        print(json.dumps(fit_one(name, int(n_experts), int(max_epochs) if max_epochs else None)))
        return
    figures = run()
    facts = {
        "command": "python -m benchmarks.few_answers",
        "unit": "wall_s, cpu_s: seconds of fit; peak_mb: largest resident memory of the process, in 1e6 bytes, and "
        "added_mb: by how much fit raised it; one run",
        "data": f"{N_CASES:,} cases, {N_FEATURES} numbers, {N_CLASSES} classes, {N_EXPERTS} experts, {EACH} answers",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS')}",
        "versions": library_versions(),
        "figures": figures,
    }
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "few_answers.json").write_text(json.dumps(facts, indent=1) + "\n")
    for what, figure in figures.items():
        print(f"{what}: {figure}")


if __name__ == "__main__":
    main()
