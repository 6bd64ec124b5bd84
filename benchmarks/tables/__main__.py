"""`python -m benchmarks.tables`: run what is missing, keep each trial, and write the page."""

import argparse
import sys
import time
from pathlib import Path

from benchmarks.tables import ours, plain
from benchmarks.tables.outcome import System
from benchmarks.tables.page import page
from benchmarks.tables.sets import SETTINGS
from benchmarks.tables.setting import Setting
from benchmarks.tables.trial import PLAIN, Results, run_trial
from defero import InputError
from defero.core.wording import did_you_mean

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
        run(settings, systems, results, splits=splits, tag=options.tag, seconds=options.seconds)
    (options.out / "tables.md").write_text(page(results.read(), SETTINGS, SYSTEMS, tag=options.tag))
    print(f"wrote {options.out / 'tables.md'}")
    return 0


def quick(name: str) -> bool:
    """Return whether a set is in `--quick`."""
    return SETTINGS[name].quick


def run(
    settings: list[Setting], systems: list[System], results: Results, *, splits: int, tag: str, seconds: float
) -> None:
    """Run what is not in the results, split by split, until the time is used up."""
    done, began = results.read(), time.monotonic()
    for seed in range(splits):
        for setting in settings:
            missing = [
                system
                for system in systems
                if seed < system.most_splits and (setting.name, system.name, seed, _tag(system, tag)) not in done
            ]
            if not missing:
                continue
            split = setting.draw(seed)
            for system in missing:
                if time.monotonic() - began > seconds:
                    return
                try:
                    line = run_trial(setting.name, system, split)
                except InputError as error:
                    print(f"{setting.name}, {system.name}: left out: {str(error)[:200]}", flush=True)
                    continue
                results.append(line, tag=_tag(system, tag))
                turn = f", in turn {line['turn_accuracy']:.4f}" if "turn_accuracy" in line else ""
                print(
                    f"{setting.name} {seed} {system.name}: {line['accuracy']:.4f} (model {line['model_accuracy']:.4f}, "
                    f"promised {line['promised']:.4f}, questions {line['questions']:.2f}{turn}), "
                    f"{line['fit_s']:.1f} + {line['answer_s']:.1f} s",
                    flush=True,
                )


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
    parser.add_argument("--page-only", action="store_true", help="write the page from the trials that there are")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where tables.jsonl and tables.md go")
    return parser


if __name__ == "__main__":
    sys.exit(main())
