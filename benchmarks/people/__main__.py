"""`python -m benchmarks.people`: run what is missing, and write people.json and people.md."""

import argparse
import json
import os
import platform
import sys
from pathlib import Path

from benchmarks.people.discover import all_sets, all_systems, chosen, in_order
from benchmarks.people.ledger import Ledger, cache_folder, code_version
from benchmarks.people.page import page
from benchmarks.people.promises import stored
from benchmarks.people.run import run_all
from benchmarks.people.summary import summarise
from benchmarks.people.systems.our_sequential_panel import FEES, sequential
from defero import InputError
from defero.data.model_folder import library_versions

RESULTS = Path(__file__).parents[1] / "results"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = _parser().parse_args(arguments)
    fees = sorted({*options.fee} - {*FEES}, reverse=True)
    systems = in_order([*all_systems(), *(sequential(fee) for fee in fees)])
    try:
        sets = chosen(all_sets(), options.sets, what="--sets")
        systems = chosen(systems, options.systems, what="--systems")
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    ledger = Ledger(options.cache / "trials.jsonl", code_version(), any_version=options.any_code)
    finished = run_all(sets, systems, n_splits=options.splits, ledger=ledger, workers=options.workers)
    facts = {
        "command": " ".join(
            ["python -m benchmarks.people", *_quoted(sys.argv[1:] if arguments is None else arguments)]
        ),
        "seeds": list(range(options.splits)),
        "code": ledger.versions(finished.trials),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "not set"),
        "versions": library_versions(),
        "made_on": options.made_on,
        "skipped": finished.skipped,
        "figures": summarise(sets, finished.trials),
        "promises": stored(options.out / "people_promises.jsonl"),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "people.json").write_text(json.dumps(facts, indent=1) + "\n")
    (options.out / "people.md").write_text(page(facts))
    print(f"wrote {options.out / 'people.json'} and people.md")
    return 0


def _quoted(arguments: list[str]) -> list[str]:
    return [f'"{one}"' if " " in one else one for one in arguments]


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text}.")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.people", description=__doc__)
    parser.add_argument("--sets", nargs="+", help="names of data sets; all by default")
    parser.add_argument("--systems", nargs="+", help="names of systems; all by default")
    parser.add_argument("--splits", type=_count, default=20, help="how many 70/30 splits")
    parser.add_argument("--workers", type=_count, default=1, help="how many processes")
    parser.add_argument("--fee", type=float, nargs="*", default=[], help="more fees for the sequential panel")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where people.json and people.md go")
    parser.add_argument("--cache", type=Path, default=cache_folder(), help="where finished trials are kept")
    parser.add_argument("--made-on", default="", help="machine and versions of the trials, where not all are from here")
    parser.add_argument("--any-code", action="store_true", help="take up trials that other versions of the code made")
    return parser


if __name__ == "__main__":
    sys.exit(main())
