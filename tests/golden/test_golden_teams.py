"""Teams fitted with the same data and seed decide as they did before the workflow moved out of the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from golden_teams import TEAMS, write_files

from defero.cli.main import main

HERE = Path(__file__).parent
FAST = ("linear_softmax", "times")
PROBABILITIES = 2e-5
"""Probabilities were written with six digits."""


@pytest.mark.parametrize(
    "team", [team if team in FAST else pytest.param(team, marks=pytest.mark.slow) for team in TEAMS]
)
def test_the_same_rows_go_to_the_same_people(team, tmp_path, monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr("sys.argv", ["defero", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert not stop.value.code, printed.err
        return printed.out

    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    told = json.loads(run("fit", *TEAMS[team], "--out", team, "--json"))
    run("route", team, "new.csv", "--key", "visit", "--out", "decided.csv")

    golden = pd.read_csv(HERE / "decisions.csv", keep_default_na=False).query("team == @team").reset_index(drop=True)
    decided = pd.read_csv("decided.csv", keep_default_na=False)
    assert decided["case"].tolist() == golden["visit"].tolist()
    for column in ("route", "panel", "model_says"):
        assert decided[column].tolist() == golden[column].tolist(), column
    numbers = ["p_model", "p_dr_a", "p_dr_b", "p_dr_c", "p_dr_d", "expected_cost"]
    assert np.abs(decided[numbers] - golden[numbers]).to_numpy().max() < PROBABILITIES

    figures = json.loads((HERE / "figures.json").read_text())[team]
    assert told["rows"] == figures["rows"]
    for who in ("team", "model"):
        assert told["test"][who]["accuracy"] == pytest.approx(figures["test"][who]["accuracy"], abs=1e-9)
