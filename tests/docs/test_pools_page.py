"""docs/howto/pools.md: its examples run, one after the other."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "pools.md"


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first, cascade, study = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    names = {}
    exec(compile(first, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    assert printed.count("Decision: 600 items") == 2
    assert printed.count("Assignment: 600 items") == 1
    assert "Curve: " in printed
    assert printed.rstrip().endswith("['large']") or "newcomer" in printed
    exec(compile(cascade, str(PAGE), "exec"), names)
    told = capsys.readouterr().out
    assert told.startswith("asked ['small', ")
    assert "kept small" not in told
    rng = np.random.default_rng(0)
    for name in ("prompts.csv", "new.csv"):
        words = rng.uniform(5, 90, 300)
        right = {"small": words + rng.normal(0, 9, 300) < 50, "large": rng.random(300) < 0.9}
        table = pd.DataFrame({"words": words, **right, "price": 0.02 * words})
        table.astype({"small": int, "large": int}).to_csv(name, index=False)
    exec(compile(study, str(PAGE), "exec"), names)
    assert "net value" in names["study"].evaluate("new.csv", terms=names["Terms"](error_cost=10)).summary()
