"""The table of docs/studies/money.md."""

import json
from pathlib import Path
from typing import Any

from benchmarks.page_numbers.blocks import Block, table

RESULTS = Path(__file__).parents[1] / "results" / "money.json"
WAYS = {
    "model": "model",
    "one": "one expert",
    "sequential": "one after the other",
    "panel": "panel",
    "everybody_bayes": "everybody (Bayes vote)",
}


def totals() -> str:
    """Return the total cost of each way of asking by set and fee, the smallest in bold."""
    sets: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))["sets"]
    rows = []
    for name in sorted(sets):
        for fee, facts in sets[name]["verdict"].items():
            shown = {way: f"{facts['mean_total'][way]:.1f}" for way in WAYS}
            least = min(shown.values(), key=float)
            cells = [f"**{value}**" if value == least else value for value in shown.values()]
            rows.append((f"{name}, {fee.removeprefix('fee ')}", *cells))
    return table(("set, fee", *WAYS.values()), rows)


BLOCKS: dict[str, Block] = {"totals": totals}
