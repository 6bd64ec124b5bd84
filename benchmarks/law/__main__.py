"""`python -m benchmarks.law`: run what is missing, and keep each trial in benchmarks/results/law*.jsonl.

DEFERO_DATA=... python -m benchmarks.law                    # everything: ten splits, eight shuffles
python -m benchmarks.law --quick --sets rte_text decoys     # two splits of two sets
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.law import consensus
from benchmarks.law.sets import SETS
from benchmarks.law.trial import run_trial
from benchmarks.tables.trial import Results
from defero.core.wording import did_you_mean

RESULTS = Path(__file__).parents[1] / "results"
QUICK = 2
TAG = "now"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = _parser().parse_args(arguments)
    known = (*SETS, *consensus.SETS)
    for name in options.sets or ():
        if name not in known:
            print(f"--sets: there is no {name!r}{did_you_mean(name, known)}", file=sys.stderr)
            return 2
    chosen = options.sets or known
    for seed in range(min(options.splits, QUICK) if options.quick else options.splits):
        halves(seed, [name for name in chosen if name in SETS], Results(options.out / "law.jsonl"), options.tag)
        if seed < consensus.N_SHUFFLES:
            of_kelly = [name for name in chosen if name in consensus.SETS]
            shuffles(seed, of_kelly, Results(options.out / "law_consensus.jsonl"), options.tag)
    return 0


def halves(seed: int, names: Sequence[str], results: Results, tag: str) -> None:
    """Run what is missing of a split."""
    for name in names:
        if (name, "law", seed, tag) in results.read():
            continue
        began = time.monotonic()
        line = run_trial(SETS[name], seed)
        results.append(line, tag=tag)
        print(f"{name} {seed}: {json.dumps(line['honesty'])}, {time.monotonic() - began:.0f} s", flush=True)


def shuffles(seed: int, names: Sequence[str], results: Results, tag: str) -> None:
    """Run what is missing of a shuffle of Kelly's sets."""
    for name in names:
        for n_learn in consensus.LEARN:
            system = f"law, {n_learn} cases"
            if (name, system, seed, tag) in results.read():
                continue
            line = consensus.run_shuffle(consensus.read(name), name, seed, n_learn) | {"system": system}
            results.append(line, tag=tag)
            print(f"{name} {seed}, {n_learn} cases: area {line['area']}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.law", description=__doc__)
    parser.add_argument("--sets", nargs="+", help="names of sets; all by default")
    parser.add_argument("--splits", type=int, default=10, help="how many splits")
    parser.add_argument("--quick", action="store_true", help="two splits")
    parser.add_argument("--tag", default=TAG, help="what the trials are kept under")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where law.jsonl goes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
