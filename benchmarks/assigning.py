"""Assigning a batch: CPU seconds, peak memory and distance from the dual bound, by the linear program and by prices.

    OMP_NUM_THREADS=1 python -m benchmarks.assigning

A gain is a normal P(right) of an expert minus the model's and a fee of 0.02. Every expert may get 2 % of the items,
five of them must get 1.5 %, and 35 % of the items may be asked about. "ties": gains rounded to one decimal; "same":
all gains equal; "absent": a third of the experts cannot be asked about an item; "budget": fees by case, half of the
money that the other limits would spend. Each batch is a process of its own, so that its peak memory is its own.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.data.model_folder import library_versions
from defero.decide import assign
from defero.decide.terms import Terms

N_EXPERTS = 20
BATCHES = (
    (10_000, "plain", "exact"),
    (10_000, "ties", "exact"),
    (10_000, "plain", "prices"),
    (10_000, "ties", "prices"),
    (10_000, "budget", "prices"),
    (1_000_000, "plain", "prices"),
    (1_000_000, "ties", "prices"),
    (1_000_000, "same", "prices"),
    (1_000_000, "absent", "prices"),
    (1_000_000, "budget", "prices"),
)


def gains(n_items: int, kind: str) -> FloatArray:
    """Return gains of asking, (n, 20)."""
    rng = np.random.default_rng(0)
    model = rng.beta(4, 2, n_items)
    value = rng.standard_normal((n_items, N_EXPERTS))
    value *= 0.15
    value += rng.beta(6, 3, N_EXPERTS)
    value -= model[:, None] + 0.02
    if kind == "ties":
        np.round(value, 1, out=value)
    if kind == "same":
        value[:] = 0.5
    if kind == "absent":
        value[rng.random(value.shape) < 1 / 3] = -np.inf
    return value


def one_batch(n_items: int, kind: str, method: str) -> dict[str, Any]:
    """Assign a batch; return what it took, and whether a limit was exceeded."""
    value = gains(n_items, kind)
    upper = np.full(N_EXPERTS, n_items // 50)
    lower = np.where(np.arange(N_EXPERTS) < 5, 3 * n_items // 200, 0)
    fees = np.random.default_rng(1).uniform(0.5, 3.0, value.shape) if kind == "budget" else None
    budget = 0.175 * n_items if kind == "budget" else None
    began = time.process_time()
    batch = assign(
        value,
        terms=Terms(capacity=np.column_stack([lower, upper]), at_most_asked=0.35, fees=fees, budget=budget),
        method=method,
    )
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = np.flatnonzero(batch.deferred)
    spent = 0.0 if fees is None else float(fees[rows, batch.expert[rows]].sum())
    exceeded = (
        (batch.load > upper).any()
        or (batch.load < lower).any()
        or len(rows) > 0.35 * n_items
        or (budget is not None and spent > budget)
    )
    net = value - batch.prices - batch.deferral_price - (0.0 if fees is None else batch.money_price * fees)
    chosen = np.where(net.max(axis=1) > 0, net.argmax(axis=1), -1)
    return {
        "cpu_s": round(seconds, 2),
        "peak_mb": round(peak),
        "gain": round(batch.saved, 3),
        "percent_below_the_dual_bound": round(100 * batch.gap / batch.saved, 6),
        "limits_exceeded": bool(exceeded),
        "items_that_prices_alone_place_elsewhere": int((chosen != batch.expert).sum()),
    }


def main() -> None:
    """Measure every batch in a process of its own, and keep the figures in benchmarks/results/assigning.json."""
    if len(sys.argv) > 1:
        print(json.dumps(one_batch(int(sys.argv[1]), sys.argv[2], sys.argv[3])))
        return
    figures = {}
    for n_items, kind, method in BATCHES:
        command = [sys.executable, "-m", "benchmarks.assigning", str(n_items), kind, method]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        name = f"{n_items:,} x {N_EXPERTS}, {kind}, {method}"
        figures[name] = json.loads(done.stdout)
        print(name, figures[name], flush=True)
    facts = {
        "command": "OMP_NUM_THREADS=1 python -m benchmarks.assigning",
        "what": "One run of each batch, seed 0. peak_mb is the whole process, the gains of 160 MB included (with a "
        "budget also fees of 160 MB). The dual bound is what no assignment within the limits can exceed. Where gains "
        "tie, prices alone cannot place the items.",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, one thread",
        "versions": library_versions(),
        "figures": figures,
    }
    target = Path(__file__).parent / "results" / "assigning.json"
    target.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
