"""`python -m benchmarks.many_experts`: run what is missing of a plan, keep each run, and write the page.

    PYTHONPATH=src:papers/verma2023/src:. DEFERO_DATA=FOLDER python3 -m benchmarks.many_experts --plan table --out OUT

FOLDER has CIFAR-10 (cifar10/train1.webp ... or arrays). Meant for a GPU; `--limit 600 --epochs 1` tries it out without.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.gpu_setting import machine_facts
from benchmarks.many_experts.methods import METHODS, Method
from benchmarks.many_experts.page import page
from benchmarks.many_experts.records import append_run, read_runs, run_key
from benchmarks.many_experts.training import QUICK, WIDE, Nets, run
from defero_verma2023.training.cifar10_parts import load_parts

RESULTS = Path(__file__).parents[1] / "results"
N_EXPERTS = (4, 12, 20)
Run = tuple[Method, int, int, Nets, int]


def table(seeds: range, epochs: int | None) -> Iterator[Run]:
    """Every method with 4, 12 and 20 experts, seed by seed; one classifier once a seed."""
    nets = _for_epochs(epochs)
    for seed in seeds:
        for method in METHODS.values():
            for n_experts in N_EXPERTS if method.experts else (0,):
                if method.branches != "two":  # twice the time: a plan of its own
                    yield method, n_experts, seed, nets, 0


def ten(seeds: range, epochs: int | None) -> Iterator[Run]:
    """One classifier and the cure with 20 experts."""
    for seed in seeds:
        for name, n_experts in (("classifier", 0), ("heads", 20)):
            yield METHODS[name], n_experts, seed, _for_epochs(epochs), 0


def two_trunks(seeds: range, epochs: int | None) -> Iterator[Run]:
    """Train a trunk for the classes and one for the experts."""
    for seed in seeds:
        for n_experts in N_EXPERTS:
            yield METHODS["two-trunks"], n_experts, seed, _for_epochs(epochs), 0


def length(seeds: range, epochs: int | None) -> Iterator[Run]:
    """Both losses of the paper and the cure, each 18, 36 and 72 epochs long: Figure 2b without the length's part."""
    orders = [("classifier", 0), *((name, n) for n in (20, 4, 12, 8) for name in ("ova", "softmax", "heads"))]
    for seed in seeds:
        for n_epochs in (18, 36, 72) if epochs is None else (epochs,):
            for name, n_experts in orders:
                yield METHODS[name], n_experts, seed, _for_epochs(n_epochs), 0


def _for_epochs(epochs: int | None) -> Nets:
    return WIDE if epochs is None else replace(WIDE, settings=replace(WIDE.settings, epochs=epochs))


def trials(seeds: range, epochs: int | None) -> Iterator[Run]:
    """Recipes for one classifier, and the speed of both trunks."""
    base = QUICK.settings
    changes: list[dict[str, Any]] = [
        {},
        {"epochs": 10},
        {"learning_rate": 0.1},
        {"learning_rate": 0.35},
        {"momentum": 0.9, "learning_rate": 0.1},
        {"ema_decay": 0.99},
        {"batch_size": 500},
        {"batch_size": 2000},
        {"weight_decay": 5e-4},
        {"epochs": 32},
        {"epochs": 64},
        {"epochs": 32, "learning_rate": 0.1},
    ]
    for seed in seeds:
        for change in changes:
            yield METHODS["classifier"], 0, seed, replace(QUICK, settings=replace(base, **change)), 0
        yield METHODS["classifier"], 0, seed, replace(QUICK, settings=replace(base, epochs=64)), 8
        yield METHODS["heads"], 20, seed, QUICK, 0
        yield METHODS["softmax"], 20, seed, QUICK, 0
        yield METHODS["classifier"], 0, seed, replace(WIDE, settings=replace(WIDE.settings, epochs=10)), 0


PLANS = {"table": table, "ten": ten, "two-trunks": two_trunks, "length": length, "trials": trials}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="benchmarks.many_experts")
    parser.add_argument("--plan", nargs="+", choices=PLANS, default=["table", "ten"])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 3), metavar=("FIRST", "END"))
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--experts", type=int, nargs="+", help="numbers of experts; all of the plan by default")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no run after so many")
    parser.add_argument("--limit", type=int, help="pictures of each part, to try it out")
    parser.add_argument("--page-only", action="store_true")
    options = parser.parse_args()
    path = options.out / "many_experts.jsonl"
    began = time.monotonic()
    if not options.page_only:
        parts, facts = load_parts(limit=options.limit), machine_facts()
        done = {run_key(record) for record in read_runs(path)}
        for plan in options.plan:
            for method, n_experts, seed, nets, cutout in PLANS[plan](range(*options.seeds), options.epochs):
                if time.monotonic() - began > options.seconds:
                    break
                if method.name not in options.methods or (options.experts and n_experts not in (0, *options.experts)):
                    continue
                if (method.name, n_experts, seed, nets.trunk, nets.settings.epochs) in done and plan != "trials":
                    continue
                record = run(parts, method, n_experts=n_experts, seed=seed, nets=nets, cutout=cutout)
                print(json.dumps({k: v for k, v in record.items() if k != "settings"}), flush=True)
                append_run(path, {"plan": plan, **record, "machine": facts})
    if "trials" not in options.plan:
        (options.out / "many_experts.md").write_text(page(read_runs(path)))


if __name__ == "__main__":
    main()
