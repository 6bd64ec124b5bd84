"""`python -m benchmarks.people.promises`: what our teams promise of all cases beside what they keep, on every set.

The main table looks at the cases on which somebody was heard. Here the model's own cases count as well: *promised* is
the mean P(the label is right) of whoever settles a case, *kept* how often that label is right. Every trial is a line of
`people_promises.jsonl`; the table stands at the top of `people.md`.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.people.crowd import PeopleSet
from benchmarks.people.discover import all_sets, all_systems, chosen
from benchmarks.people.ledger import Ledger, code_version
from benchmarks.people.page import page
from benchmarks.people.promise_table import WAYS, promise_figures
from benchmarks.people.run import Job, loaded
from defero import InputError
from defero.data.model_folder import library_versions

RESULTS = Path(__file__).parents[1] / "results"


def stored(path: Path) -> dict[str, Any] | None:
    """Return the facts of the trials in a file; None where there are none."""
    ledger = Ledger(path, code_version(), any_version=True)
    trials = list(ledger.read().values())
    if not trials:
        return None
    return {
        "code": ledger.versions(trials),
        "versions": library_versions(),
        "notes": {one.name: one.note for one in all_sets()},
        "figures": promise_figures([one.name for one in all_sets()], trials),
    }


def write_page(out: Path) -> None:
    """Write the table into people.json and people.md, whose other figures stay as they are; nothing without them."""
    source = out / "people.json"
    if source.is_file():
        facts = {**json.loads(source.read_text()), "promises": stored(out / "people_promises.jsonl")}
        source.write_text(json.dumps(facts, indent=1) + "\n")
        (out / "people.md").write_text(page(facts))


def run_missing(sets: Sequence[PeopleSet], ledger: Ledger, *, n_splits: int, seconds: float) -> dict[str, str]:
    """Run what is not in the ledger, one split of every set after the other; return which sets cannot be read."""
    began, left_out, done = time.monotonic(), {}, ledger.read()
    systems = {system.name: system for system in all_systems()}
    for split in range(n_splits):
        for one in sets:
            missing = tuple(systems[name] for name in WAYS if (one.name, name, split) not in done)
            if not missing or one.name in left_out or time.monotonic() - began > seconds:
                continue
            try:
                loaded(one)
            except InputError as error:
                left_out[one.name] = str(error)
                continue
            for trial in Job(one, split, missing).run(ledger):
                print(
                    f"{trial.crowd} {split} {trial.system}: promised {trial.promised_total:.4f}, kept "
                    f"{trial.accuracy:.4f}, {trial.seconds:.1f} s",
                    flush=True,
                )
    return left_out


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.people.promises", description=__doc__)
    parser.add_argument("--sets", nargs="+", help="names of data sets; all by default")
    parser.add_argument("--splits", type=int, default=10, help="how many 70/30 splits")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no trial after so many seconds")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where people_promises.jsonl and people.md are")
    options = parser.parse_args(arguments)
    try:
        sets = chosen(all_sets(), options.sets, what="--sets")
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    ledger = Ledger(options.out / "people_promises.jsonl", code_version(), any_version=True)
    for name, why in run_missing(sets, ledger, n_splits=options.splits, seconds=options.seconds).items():
        print(f"{name}: left out: {why}", file=sys.stderr)
    write_page(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
