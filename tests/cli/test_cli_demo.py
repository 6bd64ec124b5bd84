"""`defero demo`: what it prints and leaves behind. A quick model: the numbers are another test's."""

import json
import re
from pathlib import Path

import pytest
from clinic import run

from defero.estimators.deferral import DeferralClassifier
from defero.estimators.recipe import Recipe


@pytest.fixture
def quick(monkeypatch, tmp_path):
    def train_little(**options):
        return DeferralClassifier("linear", recipe=Recipe(weight_decay=0.01), **options)

    monkeypatch.setattr("defero.estimators.deferral.DeferralClassifier", train_little)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_compares_and_leaves_a_model_behind(quick):
    result = json.loads(run("demo", "--seeds", 2, "--json").out)
    human = run("demo", "--seeds", 2, "--out", "again")
    assert (human.code, human.err) == (0, "")
    assert (result["seeds"], len(result["experts"])) == (2, 10)
    shown = {"the team": result["team"], "the model alone": result["model"], **result["experts"]}
    for name, share in shown.items():
        assert re.search(rf"^{name} +{100 * share:.1f} %$", human.out, re.MULTILINE)
    low, high = 100 * result["gain_low"], 100 * result["gain_high"]
    assert f"{100 * result['gain']:+.2f} points (95 % interval {low:+.2f} to {high:+.2f}" in human.out
    assert result["gain"] == pytest.approx(result["team"] - result["model"])
    assert f"The model decides {100 * result['coverage']:.1f} % of the cases itself" in human.out
    (command,) = (line.split() for line in human.out.splitlines() if line.startswith("  defero route"))
    assert command == ["defero", "route", "again/model", "again/cases.csv", "--out", "again/decisions.csv"]
    assert run(*command[1:]).out.startswith(f"{result['left_cases']} decisions in again/decisions.csv:")
    judged = json.loads(run("evaluate", "defero-demo/model", "defero-demo/cases.csv", "--json").out)
    assert (judged["rows"], judged["seen_by_fit"]) == (result["left_cases"], 0)
    assert result["report"] == "defero-demo/report.html"
    assert "The report on the last team, to be opened in a browser: again/report.html" in human.out
    page = Path("defero-demo/report.html").read_text(encoding="utf-8")
    assert f"{100 * judged['test']['team']['accuracy']:.1f}\u00a0%" in page
    assert "defero report defero-demo/model defero-demo/cases.csv --out defero-demo/report.html" in page


@pytest.mark.parametrize(("options", "said"), [(["--seeds", 1], "'--seeds'"), (["--seed", -1], "'--seed'")])
def test_a_wrong_option_is_told(quick, options, said):
    outcome = run("demo", *options)
    assert outcome.code == 2
    assert f"Invalid value for {said}" in outcome.err
    assert list(quick.iterdir()) == []


def test_a_seed_that_would_grow_too_large_is_told(quick):
    outcome = run("demo", "--seeds", 2, "--seed", 2**32 - 1)
    assert outcome.code == 2
    assert outcome.err == "defero: --seed must be at most 4294967294 with --seeds 2, got 4294967295.\n"
    assert list(quick.iterdir()) == []
