"""Copies in a crowd: too few shared answers among the held-out cases, enough in all answers of the table."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from clinic import run

from defero import read_cases
from defero.core import ExpertTable
from defero.study import fit as fit_team

FIT = ["--answers", "log.csv", "--label", "truth", "--net", "linear", "--out", "model"]
SAID = "In all answers of the table of fit: ann_00 and ann_01 err together: count them as one person."


def crowd(*, n=400, people=12, each=4, copies=True, seed=0):
    """Return items and a log of answers, of which ann_01's are those of ann_00 where both answered."""
    rng = np.random.default_rng(seed)
    x, truth = rng.normal(size=n).round(3), rng.choice(["a", "b", "c"], n)
    said = np.where(rng.random((n, people)) < 0.65, truth[:, None], rng.choice(["a", "b", "c"], (n, people)))
    given = rng.random((n, people)).argsort(axis=1).argsort(axis=1) < each
    if copies:
        said[:, 1] = said[:, 0]
        given[: n // 4, :2] = True
        given[n // 4 :, 1] &= ~given[n // 4 :, 0]
    items = pd.DataFrame({"item": np.arange(n), "x": x, "truth": truth})
    rows, who = np.nonzero(given)
    log = pd.DataFrame({"item": rows, "worker": [f"ann_{j:02d}" for j in who], "answer": said[rows, who]})
    return items, log.sample(frac=1, random_state=0)


def write(**options):
    items, log = crowd(**options)
    items.to_csv("items.csv", index=False)
    log.to_csv("log.csv", index=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_copies_are_named_by_fit_and_by_those_who_judge(folder):
    write()
    outcome = run("fit", "items.csv", *FIT)
    assert outcome.code == 0, outcome.err
    assert SAID in outcome.out
    told = json.loads(run("evaluate", "model", "items.csv", "--answers", "log.csv", "--json").out)
    assert told["shared_errors"]["groups"] == [["ann_00", "ann_01"]]
    assert sum(SAID in caution for caution in told["test"]["cautions"]) == 1
    assert run("report", "model", "items.csv", "--answers", "log.csv").code == 0
    assert SAID in (folder / "report.html").read_text(encoding="utf-8")


def test_strangers_are_not_named():
    items, log = crowd(copies=False)
    found = fit_team.shared_in(read_cases(items, answers=log, label="truth"))
    assert (found.sentences, found.groups) == ((), ())


def test_of_a_majority_nothing_is_asked():
    items, log = crowd()
    cases = read_cases(items.drop(columns="truth"), answers=log, majority_label=True)
    assert fit_team.shared_in(cases) is None


def test_of_a_huge_table_some_cases_are_looked_at(monkeypatch):
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=600)
    said = np.where(rng.random((600, 4)) < 0.6, truth[:, None], rng.integers(3, size=(600, 4)))
    said[:, 3] = said[:, 0]
    table = ExpertTable(features=np.zeros((600, 1)), labels=truth, answers=said, expert_names=list("abcd"))
    monkeypatch.setattr(fit_team, "MOST_CELLS", 1200)
    found = fit_team.shared_in(SimpleNamespace(table=table, n_majority=0))
    assert found.groups == (("a", "d"),)
    assert "of 300 shared cases" in found.sentences[-1]
