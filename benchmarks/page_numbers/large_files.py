"""The figures of docs/howto/large_data.md."""

import json
from pathlib import Path
from typing import Any

from benchmarks.page_numbers.blocks import Block, table

RESULTS = Path(__file__).parents[1] / "results"
ROWS, FACTOR = (1_000_000, 10_000_000), 10


def sizes() -> str:
    """Return CPU seconds and memory of route and evaluate; a line for ten times the rows is calculated."""
    figures, lines = _facts("large_files")["figures"], []
    for command in ("route", "evaluate"):
        few, many = (figures[f"{command}, {rows:,} rows"] for rows in ROWS)
        for rows, one in zip(ROWS, (few, many), strict=True):
            lines.append((f"`{command}`", f"{rows:,}", f"{one['cpu_s']:.0f}", f"{one['peak_mb']:,} MB"))
        slope = (many["cpu_s"] - few["cpu_s"]) / (ROWS[1] - ROWS[0])
        seconds = many["cpu_s"] + slope * (FACTOR - 1) * ROWS[1]
        lines.append((f"`{command}`", f"{FACTOR * ROWS[1]:,} *", f"{seconds:.0f}", f"{many['peak_mb']:,} MB"))
    return table(("command", "rows", "CPU seconds", "memory"), lines)


def beside() -> str:
    """Return what decide and route take beside a plain program."""
    figures = _facts("large_files")["figures"]
    one = next(values for name, values in figures.items() if name.startswith("beside a plain program"))
    plain = one["read_s"] + one["product_s"]
    usual, fastest = plain + one["write_s"], plain + one["write_of_texts_as_dictionaries_s"]
    rows = [
        ("`Team.decide`", one["decide_s"], "read and product", plain, 1 / one["decide_share_of_plain"]),
        ("`route`", one["route_s"], "with a write, pyarrow's defaults", usual, one["route_over_plain"]),
        ("`route`", one["route_s"], "with a write, fastest settings", fastest, one["route_over_fastest_plain"]),
    ]
    return table(
        ("1,000,000 rows", "CPU s", "a plain program", "CPU s", "ratio"),
        [(name, f"{ours:.2f}", what, f"{theirs:.2f}", f"{ratio:.2f}") for name, ours, what, theirs, ratio in rows],
    )


def growth() -> str:
    """Return the exponents of the time of fit."""
    facts = _facts("ratios")["growth"]
    rows = []
    for name, one in facts["exponents"].items():
        _, net, along = name.split(", ")
        along = along.removeprefix("by ")
        mine = [point for point in facts["points"] if (point["net"], point["along"]) == (net, along)]
        ends = [next(point["cpu_s"] for point in mine if point[along] == size) for size in (one["from"], one["to"])]
        fixed = "4 experts" if along == "rows" else "10,000 rows"
        seconds = f"{ends[0]:.3g}, {ends[1]:.3g}"
        rows.append((net, f"{along}, {fixed}", f"{one['from']:,} to {one['to']:,}", seconds, f"{one['exponent']:.2f}"))
    return table(("learner", "grows with", "from, to", "CPU s there", "exponent"), rows)


BLOCKS: dict[str, Block] = {"sizes": sizes, "beside": beside, "growth": growth}


def _facts(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return facts
