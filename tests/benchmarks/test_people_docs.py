"""The files that docs/studies/people.md shows do what the page says, and every system stands on it."""

import re
from pathlib import Path

import pandas as pd
from benchmarks.people.discover import all_systems
from benchmarks.people.trial import run_trial
from tiny_crowd import tiny_crowd

PAGE = (Path(__file__).parents[2] / "docs" / "studies" / "people.md").read_text()


def test_the_set_and_the_systems_shown_run(tmp_path, monkeypatch):
    shown = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(shown) == 2
    one_set, systems = ({"__name__": "shown"} for _ in shown)
    for code, into in zip(shown, (one_set, systems), strict=True):
        exec(compile(code, "docs/studies/people.md", "exec"), into)
    pd.DataFrame({"x": range(20), "dr_a": [0, 1] * 10, "dr_b": [1, 1] * 10, "truth": [0, 1] * 10}).to_csv(
        tmp_path / "clinic.csv", index=False
    )
    monkeypatch.chdir(tmp_path)
    fold, _ = one_set["SET"].load().fold(0)
    assert fold.train.expert_names == ("dr_a", "dr_b")
    fold, labels = tiny_crowd().fold(0)
    trials = [run_trial("tiny", system, fold, labels) for system in systems["SYSTEMS"]]
    assert [trial.system for trial in trials] == ["boosting", "boosting, recalibrated"]


def test_every_system_stands_on_the_page():
    stems = {
        re.sub(r" of all.*|, recalibrated|, fee.*|, not reading.*|^our ", "", system.name) for system in all_systems()
    }
    assert [stem for stem in stems if stem.lower() not in PAGE.lower()] == []
