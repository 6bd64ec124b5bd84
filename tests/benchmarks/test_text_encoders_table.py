"""The table on docs/howto/text.md is that of the benchmark's results."""

import json
from pathlib import Path

import pytest
from benchmarks.text_encoders import MEASURES, SPLITS, page_table

ROOT = Path(__file__).parents[2]
RESULTS = json.loads((ROOT / "benchmarks" / "results" / "text_encoders.json").read_text(encoding="utf-8"))


def test_the_table_stands_on_the_page():
    rows = page_table(RESULTS["figures"])
    assert len(rows) == 2 + len(SPLITS) * len(MEASURES)
    assert "\n".join(rows) in (ROOT / "docs" / "howto" / "text.md").read_text(encoding="utf-8")


def test_every_set_has_five_splits_and_paired_differences():
    for name in SPLITS:
        entry = RESULTS["figures"][name]
        assert entry["splits"] >= 5
        for measure in MEASURES:
            by_split = [m - t for m, t in zip(entry["minilm"][measure], entry["tfidf"][measure], strict=True)]
            change = entry["difference"][measure]
            assert change["mean"] == pytest.approx(sum(by_split) / len(by_split))
            assert change["low"] <= change["mean"] <= change["high"]
