"""`defero fit` on two public crowds as they lie there: texts, a log of answers by hundreds of people, gold labels."""

import json
import os
import resource
from pathlib import Path

import pytest
from clinic import run

from defero.data.tables.read import read_frame


def crowd(name):
    """Return the two files of a crowd, or skip."""
    folder = Path(os.environ.get("DEFERO_DATA", "")) / name
    if not os.environ.get("DEFERO_DATA") or not folder.is_dir():
        pytest.skip(f"needs DEFERO_DATA with {name} (see docs/howto/datasets.md)")
    return folder / "items.csv.gz", folder / "annotations.csv.gz"


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def fitted(name, *, gain, experts):
    """Fit a team on a crowd, check what the command promises, and return the options to read the crowd again."""
    items, answers = crowd(name)
    began = cpu_seconds()
    outcome = run("fit", items, "--answers", answers, "--label", "gold", "--text", "text", "--out", "model", "--json")
    assert outcome.code == 0, outcome.err
    assert cpu_seconds() - began < 60
    test = json.loads(outcome.out)["test"]
    assert test["team_minus_model"]["difference"] >= gain
    assert len(test["experts"]) == experts
    return items, answers, test


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_crowd_on_toxic_posts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items, answers, test = fitted("keswani_toxicity", gain=0.02, experts=170)
    judged = run("evaluate", "model", items, "--answers", answers, "--json")
    assert json.loads(judged.out)["test"]["team"] == test["team"]
    assert run("route", "model", items, "--out", "decisions.csv").code == 0
    decisions = read_frame("decisions.csv")
    assert decisions["case"].tolist() == read_frame(items)["item"].tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_crowd_on_film_reviews(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items, answers, test = fitted("sentiment_polarity_crowd", gain=0.05, experts=203)
    judged = run("report", "model", items, "--answers", answers, "--json")
    assert json.loads(judged.out)["test"]["team"] == test["team"]
    lines = run("evaluate", "model", items, "--answers", answers).out.splitlines()
    assert "... and 183 experts who are asked less; to_dict (--json) has all." in lines
    told = run("route", "model", items, "--out", "decisions.csv").out.splitlines()
    assert len(told) <= 23
