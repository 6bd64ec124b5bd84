"""`python -m benchmarks.tables`: run what is missing, keep each trial, and write the page."""

import argparse
import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.tables import ours, plain
from benchmarks.tables.outcome import System
from benchmarks.tables.page import page
from benchmarks.tables.sets import SETTINGS
from benchmarks.tables.setting import Setting
from benchmarks.tables.split import Split
from benchmarks.tables.trial import PLAIN, Results, run_trial
from defero import InputError
from defero.core.wording import did_you_mean
from defero.study.engines import Engine, named_engine

RESULTS = Path(__file__).parents[1] / "results"
SYSTEMS = {system.name: system for system in (*ours.SYSTEMS, *plain.SYSTEMS)}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = _parser().parse_args(arguments)
    for what, names, known in (("--sets", options.sets, SETTINGS), ("--systems", options.systems, SYSTEMS)):
        for name in names or ():
            if name not in known:
                print(f"{what}: there is no {name!r}{did_you_mean(name, known)}", file=sys.stderr)
                return 2
    settings = [SETTINGS[name] for name in options.sets or SETTINGS if options.sets or not options.quick or quick(name)]
    systems = [SYSTEMS[name] for name in options.systems or SYSTEMS]
    results = Results(options.out / "tables.jsonl")
    if not options.page_only:
        splits = min(options.splits, 2) if options.quick else options.splits
        engine = named_engine(options.engine, workers=options.workers, address=options.address)
        run(settings, systems, results, splits=splits, tag=options.tag, seconds=options.seconds, engine=engine)
    (options.out / "tables.md").write_text(page(results.read(), SETTINGS, SYSTEMS, tag=options.tag))
    print(f"wrote {options.out / 'tables.md'}")
    return 0


def quick(name: str) -> bool:
    """Return whether a set is in `--quick`."""
    return SETTINGS[name].quick


def run(
    settings: list[Setting],
    systems: list[System],
    results: Results,
    *,
    splits: int,
    tag: str,
    seconds: float,
    engine: Engine | None = None,
) -> None:
    """Run what is not in the results, split by split, until the time is used up; on an engine, all of it."""
    done, began = results.read(), time.monotonic()
    jobs = [
        (setting.name, seed, system.name)
        for seed in range(splits)
        for setting in settings
        for system in systems
        if seed < system.most_splits and (setting.name, system.name, seed, _tag(system, tag)) not in done
    ]
    if engine is None:
        given = {one.name: one for one in settings}, {one.name: one for one in systems}
        lines = (trial(given, job) for job in jobs if time.monotonic() - began <= seconds)
    else:
        lines = (line for _, line in engine.run(trial, jobs, shared=None))
    for line in lines:
        if "left_out" in line:
            print(f"{line['set']}, {line['system']}: left out: {line['left_out']}", flush=True)
            continue
        results.append(line, tag=_tag(next(one for one in systems if one.name == line["system"]), tag))
        turn = f", in turn {line['turn_accuracy']:.4f}" if "turn_accuracy" in line else ""
        print(
            f"{line['set']} {line['split']} {line['system']}: {line['accuracy']:.4f} (model "
            f"{line['model_accuracy']:.4f}, promised {line['promised']:.4f}, questions {line['questions']:.2f}{turn}), "
            f"{line['fit_s']:.1f} + {line['answer_s']:.1f} s",
            flush=True,
        )


def trial(
    shared: tuple[Mapping[str, Setting], Mapping[str, System]] | None, job: tuple[str, int, str]
) -> dict[str, Any]:
    """Run one system on one split of one set; where they are not given, as on a worker, they are found by name."""
    name, seed, system = job
    settings, systems = shared or (SETTINGS, SYSTEMS)
    try:
        return dict(run_trial(name, systems[system], _drawn(settings[name], seed)))
    except InputError as error:
        return {"set": name, "split": seed, "system": system, "left_out": str(error)[:200]}


@lru_cache(maxsize=1)
def _drawn(setting: Setting, seed: int) -> Split:
    """Draw a split once for all systems that are tried on it one after the other."""
    return setting.draw(seed)


def _tag(system: System, tag: str) -> str:
    return tag if system.ours else PLAIN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--sets", nargs="+", help="names of data sets; all by default")
    parser.add_argument("--systems", nargs="+", help="names of systems; all by default")
    parser.add_argument("--splits", type=int, default=10, help="how many splits")
    parser.add_argument("--quick", action="store_true", help="two splits of a few sets")
    parser.add_argument("--tag", default="now", help="what trials of our own systems are kept under")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no trial after so many seconds")
    parser.add_argument("--engine", help="local or ray: several trials at once, each with one thread")
    parser.add_argument("--workers", type=int, help="how many trials at once")
    parser.add_argument("--address", help="of a Ray cluster")
    parser.add_argument("--page-only", action="store_true", help="write the page from the trials that there are")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where tables.jsonl and tables.md go")
    return parser


if __name__ == "__main__":
    sys.exit(main())
