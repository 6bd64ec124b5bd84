"""`make bench-check`, and the figures that it compares with.

`python -m benchmarks.ratios` measures and keeps the ratios, with `--growth` the fits of growing size and their
picture; `--check` measures and exits with 1 if a ratio is 1.5 times worse than what is kept. One thread:
OMP_NUM_THREADS=1.
"""

import argparse
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.ratios.growth import exponents, measure_point, points
from benchmarks.ratios.operations import OPERATIONS
from benchmarks.ratios.picture import draw_growth
from benchmarks.ratios.timing import measure
from defero.data.model_folder import library_versions

RESULTS = Path(__file__).parents[1] / "results" / "ratios.json"
MOST_WORSE = 1.5
TRIES = 3


def worse(now: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]]) -> list[str]:
    """Return a sentence for each operation whose ratio became more than 1.5 times as large."""
    return [
        f"{name}: {figures['ratio']} times {figures['beside']}, {before[name]['ratio']} before"
        for name, figures in now.items()
        if name in before and figures["ratio"] > MOST_WORSE * before[name]["ratio"]
    ]


def check(before: dict[str, dict[str, Any]], names: list[str]) -> list[str]:
    """Measure anew and return what became worse; an operation that seems to is measured three times."""
    left = list(names)
    sentences: list[str] = []
    for _ in range(TRIES):
        sentences = []
        for name in list(left):
            figures = measure(OPERATIONS[name]())
            print(f"{name}: {figures['ratio']} (before {before[name]['ratio']})", flush=True)
            complaint = worse({name: figures}, before)
            sentences += complaint
            if not complaint:
                left.remove(name)
        if not left:
            break
    return sentences


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="benchmarks.ratios")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no point after so many seconds")
    options = parser.parse_args()
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    if options.check:
        sentences = check(kept["ratios"], [name for name in OPERATIONS if name in kept["ratios"]])
        print("\n".join(sentences) or "no ratio is 1.5 times worse")
        return 1 if sentences else 0
    kept |= {
        "command": "OMP_NUM_THREADS=1 python -m benchmarks.ratios",
        "unit": "CPU seconds, one thread; ratios: best of five in turns; growth: one fit a point",
        "machine": f"{platform.machine()}, shared",
        "versions": library_versions(),
    }
    if options.growth:
        kept.setdefault("growth", {"points": []})
        began = time.monotonic()
        for point in points():
            if any(all(other[name] == point[name] for name in point) for other in kept["growth"]["points"]):
                continue
            if time.monotonic() - began > options.seconds:
                print("the time is used up; the same command goes on with the next point", flush=True)
                break
            kept["growth"]["points"].append({**point, "cpu_s": round(measure_point(point), 2)})
            kept["growth"]["exponents"] = exponents(kept["growth"]["points"])
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
            print(kept["growth"]["points"][-1], flush=True)
        draw_growth(kept["growth"]["points"], RESULTS.with_name("growth.svg"))
        return 0
    kept["ratios"] = {}
    for name, operation in OPERATIONS.items():
        kept["ratios"][name] = measure(operation())
        print(name, kept["ratios"][name], flush=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
