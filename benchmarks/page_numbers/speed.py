"""The tables of docs/studies/speed.md."""

import json
from pathlib import Path
from typing import Any

from benchmarks.page_numbers.blocks import Block, table

RESULTS = Path(__file__).parents[1] / "results"
AIMS = {"most_cpu_s": "at most {} CPU s", "least_rows_a_cpu_s": "at least {:,} rows a CPU s"}


def tables() -> str:
    """Return what fit and route of tables cost, beside what was aimed at."""
    rows = []
    for name, one in _figures("table_speed").items():
        if not isinstance(one, dict) or "cpu_s" not in one:
            continue
        aims = [words.format(one[key]) for key, words in AIMS.items() if key in one]
        speed = f"{one['rows_a_cpu_s']:,}" if "rows_a_cpu_s" in one else ""
        rows.append((name, f"{one['cpu_s']:.1f}", speed, f"{one['peak_mb']:,}", ", ".join(aims)))
    return table(("what", "CPU s", "rows a CPU s", "memory, MB", "aim"), rows)


def files() -> str:
    """Return what routing a million rows from file to file costs."""
    rows = [
        (name, f"{one['cpu_s']:.1f}", f"{one['rows_per_cpu_s']:,}", f"{one['peak_mb']:,}")
        for name, one in _figures("routing").items()
    ]
    return table(("1,000,000 rows, 6 experts, linear", "CPU s", "rows a CPU s", "memory, MB"), rows)


def start() -> str:
    """Return how long it takes until something happens."""
    return table(("command", "CPU s"), [(f"`{name}`", f"{value:.2f}") for name, value in _figures("start_up").items()])


def ratios() -> str:
    """Return how many times a plain formulation each operation takes, and what that formulation leaves out."""
    facts = json.loads((RESULTS / "ratios.json").read_text(encoding="utf-8"))["ratios"]
    rows = [(name, f"{one['ratio']:.3g}", f"{one['limit']:g}", one["beside"]) for name, one in facts.items()]
    return table(("operation", "times the plain one", "limit", "the plain one"), rows)


BLOCKS: dict[str, Block] = {"tables": tables, "files": files, "start": start, "ratios": ratios}


def _figures(name: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    return figures
