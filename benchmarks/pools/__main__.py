"""`python -m benchmarks.pools`: run what is missing, keep each trial, and write the page."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.pools.cascades import run_cascades
from benchmarks.pools.cold_start import run_cold_start
from benchmarks.pools.page import page
from benchmarks.pools.router_dc import SEEDS, run_router_dc
from benchmarks.pools.sets import SETS, load
from benchmarks.pools.systems import SYSTEMS
from benchmarks.pools.trial import run_trial
from benchmarks.tables.trial import where

RESULTS = Path(__file__).parents[1] / "results"
Line = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pools", description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--studies", default="choice,cold start,cascade,router dc", help="studies, separated by commas")
    parser.add_argument("--page-only", action="store_true", help="write the page from the kept trials")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    kept = options.out / "pools.jsonl"
    if not options.page_only:
        for study in options.studies.split(","):
            STUDIES[study](kept, options.splits)
    (options.out / "pools.md").write_text(page(read(kept)))
    print(f"wrote {options.out / 'pools.md'}")
    return 0


def read(path: Path) -> list[Line]:
    """Return the kept trials."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def _append(path: Path, lines: Iterable[Line]) -> None:
    with path.open("a") as file:
        for line in lines:
            file.write(json.dumps({**line, **where()}) + "\n")


def _done(path: Path, study: str) -> set[tuple[Any, ...]]:
    return {
        (line["set"], line.get("task"), line.get("system"), line["split"])
        for line in read(path)
        if line["study"] == study
    }


def _choice(path: Path, splits: int) -> None:
    done = _done(path, "choice")
    for seed in range(splits):
        for name in SETS:
            for task in (True, False):
                for system in SYSTEMS.values():
                    same = system.needs_task or system.name in ("best single", "random")
                    if (name, task, system.name, seed) not in done and (task or not same):
                        _append(path, [run_trial(load(name), system, seed, task=task)])


def _each(path: Path, splits: int, study: str, names: tuple[str, ...], run: Any) -> None:
    done = _done(path, study)
    for seed in range(splits):
        for name in names:
            if (name, None, None, seed) not in done:
                _append(path, run(load(name), seed))


def _cold_start(path: Path, splits: int) -> None:
    _each(path, splits, "cold start", SETS, run_cold_start)


def _cascade(path: Path, splits: int) -> None:
    _each(path, splits, "cascade", SETS[:1], run_cascades)


def _router_dc(path: Path, splits: int) -> None:
    done = {key[3] for key in _done(path, "router dc")}
    for seed in range(min(splits, SEEDS)):
        if seed not in done:
            _append(path, run_router_dc(load(SETS[1]), seed))


STUDIES = {"choice": _choice, "cold start": _cold_start, "cascade": _cascade, "router dc": _router_dc}

if __name__ == "__main__":
    raise SystemExit(main())
