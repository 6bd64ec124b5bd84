"""`python -m benchmarks.field`: run what is missing, keep each trial, and write the page.

python -m benchmarks.field                                    # everything that is missing, then the page
python -m benchmarks.field --method mine.py:Mine --out mine   # your class beside all others
"""

import argparse
import sys
import time
from pathlib import Path

from benchmarks.field.method import Entry, from_file, installed
from benchmarks.field.methods import METHODS
from benchmarks.field.page import page
from benchmarks.field.problem import FieldSet
from benchmarks.field.sets import SETS
from benchmarks.field.trial import run_trial
from benchmarks.tables.trial import Results
from defero import InputError
from defero.core.wording import did_you_mean

RESULTS = Path(__file__).parents[1] / "results"
TAG = "field"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        known = METHODS | {entry.name: entry for entry in (*installed(), *map(from_file, options.method))}
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    for what, names, choices in (("--sets", options.sets, SETS), ("--methods", options.methods, known)):
        for name in names or ():
            if name not in choices:
                print(f"{what}: there is no {name!r}{did_you_mean(name, choices)}", file=sys.stderr)
                return 2
    results = Results(options.out / "field.jsonl")
    if not options.page_only:
        run(
            [SETS[name] for name in options.sets or SETS],
            [known[name] for name in options.methods or known],
            results,
            splits=range(options.first_split, options.splits),
            seconds=options.seconds,
            earlier=Results(RESULTS / "field.jsonl"),
        )
    lines = Results(RESULTS / "field.jsonl").read() | results.read()
    (options.out / "field.md").write_text(page(lines, SETS, known), encoding="utf-8")
    print(f"wrote {options.out / 'field.md'}")
    return 0


def run(
    sets: list[FieldSet], entries: list[Entry], results: Results, *, splits: range, seconds: float, earlier: Results
) -> None:
    """Run what is in no file of results, split by split, until the time is used up."""
    done, began = earlier.read() | results.read(), time.monotonic()
    for seed in splits:
        for one in sets:
            missing = [
                entry
                for entry in entries
                if (one.votes or entry.kind == "one question") and (one.name, entry.name, seed, TAG) not in done
            ]
            problem = one.problem(seed) if missing else None
            for entry in missing:
                if time.monotonic() - began > seconds:
                    return
                assert problem is not None
                line = run_trial(one.name, entry, problem)
                results.append(line, tag=TAG)
                print(
                    f"{one.name} {seed} {entry.name}: {line['accuracy']:.4f} with {line['questions']:.2f} questions, "
                    f"{line['fit_s']:.1f} + {line['decide_s']:.1f} s",
                    flush=True,
                )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field", description=__doc__)
    parser.add_argument("--sets", nargs="+", help="names of data sets; all by default")
    parser.add_argument("--methods", nargs="+", help="names of methods; all by default")
    parser.add_argument(
        "--method", action="append", default=[], help="path/to/file.py:Class with fit and decide; adds your method"
    )
    parser.add_argument("--splits", type=int, default=5, help="how many splits")
    parser.add_argument("--first-split", type=int, default=0, help="begin with this split")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no trial after so many seconds")
    parser.add_argument("--page-only", action="store_true", help="write the page from the trials that there are")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where field.jsonl and field.md go")
    return parser


if __name__ == "__main__":
    sys.exit(main())
