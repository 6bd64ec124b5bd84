"""The table of docs/explanation/calibration.md."""

import json

from benchmarks.page_numbers.blocks import Block, table
from benchmarks.page_numbers.losses import STUDIES

FACTORS = ("1", "1.25", "1.5", "2.5")
ROWS = {
    "30 answers an expert": "30 items, all answers",
    "3 to 27 answers, uneven": "30 items, uneven",
    "500 answers an expert": "500 items, all answers",
    "50 to 450, uneven": "500 items, uneven",
}


def recalibration() -> str:
    """Return the experts' calibration error before and after, by the factor of their log-odds."""
    study = json.loads((STUDIES / "recalibration.json").read_text(encoding="utf-8"))["rows"]
    cells = []
    for words, name in ROWS.items():
        rows = [study[f"{name}, factor {factor}"] for factor in FACTORS]
        cells.append((words, *(f"{row['before']:.3f}, {row['after']:.3f}" for row in rows)))
    return table(("before, after", *(f"factor {factor}" for factor in FACTORS)), cells)


BLOCKS: dict[str, Block] = {"recalibration": recalibration}
