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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.people.crowd import PeopleSet
from benchmarks.people.discover import all_sets, chosen
from benchmarks.people.ledger import Ledger, code_version
from benchmarks.people.run import Job, loaded
from benchmarks.people.systems.our_sequential_panel import CALIBRATED
from benchmarks.people.systems.our_team import SYSTEMS as OUR_TEAM
from benchmarks.people.trial import Trial
from defero import InputError
from defero.data.model_folder import library_versions
from defero.metrics.statistics.resampled import nadeau_bengio

RESULTS = Path(__file__).parents[1] / "results"
WAYS = {OUR_TEAM[0].name: "one expert", CALIBRATED.name: "in turn"}
SYSTEMS = {system.name: system for system in (OUR_TEAM[0], CALIBRATED)}
MOST_GAP = 0.01
"""A total gap up to this is small, whatever its interval."""
ENOUGH = 5
"""Splits from which on a set is judged: with two or three every interval holds 0."""


def promise_figures(sets: Iterable[str], trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """Return promised, kept and their difference of each set and way of asking, with an interval from two splits on."""
    by_key: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.system in WAYS and not math.isnan(trial.promised_total):
            by_key.setdefault((trial.crowd, trial.system), []).append(trial)
    return [_figures(by_key[name, system]) for name in sets for system in WAYS if (name, system) in by_key]


def _figures(trials: Sequence[Trial]) -> dict[str, Any]:
    gaps = [trial.promised_total - trial.accuracy for trial in trials]
    figures: dict[str, Any] = {
        "set": trials[0].crowd,
        "way": WAYS[trials[0].system],
        "splits": len(trials),
        "questions": float(np.mean([trial.questions for trial in trials])),
        "promised": float(np.mean([trial.promised_total for trial in trials])),
        "kept": float(np.mean([trial.accuracy for trial in trials])),
        "gap": float(np.mean(gaps)),
    }
    if len(trials) > 1:
        spread = nadeau_bengio(gaps, n_train=trials[0].n_train, n_test=trials[0].n_test)
        figures |= {"low": spread.low, "high": spread.high}
    return figures


def verdict(figures: Mapping[str, Any]) -> str:
    """Say whether the promise was kept: a gap of at most 1 point, or 0 inside its interval."""
    if figures["splits"] < ENOUGH:
        return "too few splits"
    if abs(figures["gap"]) <= MOST_GAP:
        return "kept: at most 1 point"
    if figures["low"] <= 0 <= figures["high"]:
        return "kept: 0 inside the interval"
    return "promises too much" if figures["gap"] > 0 else "promises too little"


def promises_section(facts: Mapping[str, Any] | None, left_out: Mapping[str, str]) -> str:
    """Return the table, with the verdict of each set; nothing without trials."""
    if not facts or not facts["figures"]:
        return ""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    judged = [verdict(one) for one in facts["figures"]]
    n_kept, n_judged = sum(word.startswith("kept") for word in judged), sum(word != "too few splits" for word in judged)
    rows = [
        "## Promised and kept over all cases",
        "",
        f"`python -m benchmarks.people.promises`; code {', '.join(facts['code'])}; {versions}; every trial is a line of",
        "`people_promises.jsonl`.",
        "",
        "*Promised* is the mean P(the label is right) of whoever settles a case: the model where it answers, else the",
        "expert (our team) or the verdict of those heard (our sequential panel, fee 0.01, calibrated). *Kept* is how",
        "often the label is right. A promise counts as kept if the difference is at most 1 point or its 95 % interval",
        f"(Nadeau and Bengio) holds 0. That is so for {n_kept} of {n_judged} rows with at least {ENOUGH} splits.",
        "",
        "| set, way of asking (splits) | questions | promised | kept | promised minus kept, points | verdict |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for one, word in zip(facts["figures"], judged, strict=True):
        spread = "" if "low" not in one else f" [{100 * one['low']:+.2f}, {100 * one['high']:+.2f}]"
        rows.append(
            f"| {one['set']}, {one['way']} ({one['splits']}) | {one['questions']:.2f} | {100 * one['promised']:.1f} | "
            f"{100 * one['kept']:.1f} | {100 * one['gap']:+.2f}{spread} | {word} |"
        )
    rows += [f"\n{name} has no row here: {why}" for name, why in left_out.items()]
    return "\n".join(rows)


def stored(path: Path) -> dict[str, Any] | None:
    """Return the facts of the trials in a file; None where there are none."""
    ledger = Ledger(path, code_version(), any_version=True)
    trials = list(ledger.read().values())
    if not trials:
        return None
    return {
        "code": ledger.versions(trials),
        "versions": library_versions(),
        "figures": promise_figures([one.name for one in all_sets()], trials),
    }


def run_missing(sets: Sequence[PeopleSet], ledger: Ledger, *, n_splits: int, seconds: float) -> dict[str, str]:
    """Run what is not in the ledger, one split of every set after the other; return which sets cannot be read."""
    began, left_out, done = time.monotonic(), {}, ledger.read()
    for split in range(n_splits):
        for one in sets:
            missing = tuple(SYSTEMS[name] for name in WAYS if (one.name, name, split) not in done)
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
    run_missing(sets, ledger, n_splits=options.splits, seconds=options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
