"""`python -m benchmarks.long_training`: the long trainings that are missing, as many as end within a time limit.

    PYTHONPATH=src:papers/verma2023/src:. DEFERO_DATA=FOLDER \
        python3 -m benchmarks.long_training cifar10 --seconds 1500 --out OUT
    ... python3 -m benchmarks.long_training ham10000 --seed 0 --seconds 600 --out OUT

FOLDER has CIFAR-10 and HAM10000. Each run is a line in OUT as soon as it has ended; those that are in OUT or in the
results of the repository are not made again. Meant for a GPU; `--tiny` tries it out without.
"""

import argparse
import time
from pathlib import Path

from benchmarks.gpu_setting import machine_facts
from benchmarks.long_training import ham10000
from benchmarks.long_training.cifar10 import FILE, LongRuns
from benchmarks.long_training.queue import work
from defero_verma2023.training.cifar10_parts import load_parts

ROOT = Path(__file__).parents[2]
PACE = {"cifar10": 1.0, "ham10000": 2.5}
"""Seconds an epoch, as a first guess (H200)."""


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="benchmarks.long_training")
    parser.add_argument("data", choices=PACE)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when all must have ended")
    parser.add_argument("--seed", type=int, default=0, help="of ham10000's split and runs")
    parser.add_argument("--tiny", action="store_true", help="a few pictures and one epoch")
    options = parser.parse_args()
    began = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.data == "cifar10":
        parts = load_parts(limit=400 if options.tiny else None)
        earlier = ROOT / "benchmarks" / "results" / FILE
        jobs = LongRuns(parts, options.out, [earlier], machine_facts(), tiny=options.tiny).jobs()
    else:
        earlier = ROOT / "papers" / "verma2023" / "results" / ham10000.FILE
        jobs = ham10000.jobs(options.out, earlier, seed=options.seed, tiny=options.tiny)
    left = options.seconds - (time.monotonic() - began)  # reading the pictures takes some of it
    work(jobs, seconds=left, pace=PACE[options.data], say=lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
