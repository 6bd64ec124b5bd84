"""`--rename` and `--blank`: the mapping that is offered is taken again by every command."""

import json

import pandas as pd
import pytest
from clinic import FIT, enter, lesions, run


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


@pytest.fixture
def bad(folder):
    """A table with 9 bad answers in 3 spellings, and the same as it is meant."""
    meant = lesions()
    rows = meant.index[meant.dr_a.notna()][:9]
    bad = meant.copy()
    bad.loc[rows[:4], "dr_a"] = [f"{value.title()}" for value in meant.dr_a[rows[:4]]]
    bad.loc[rows[4:], "dr_a"] = "n/a"
    meant.loc[rows[4:], "dr_a"] = None
    bad.to_csv("bad.csv", index=False)
    meant.to_csv("meant.csv", index=False)


def test_fit_offers_a_mapping_that_it_takes(folder, bad):
    before = set(folder.iterdir())
    outcome = run("fit", "bad.csv", *FIT, "--out", "other")
    assert (outcome.code, outcome.out) == (2, "")
    for fact in ("'n/a': 5 answers, first in row ", "did you mean 'benign'?", "--rename bad.rename.csv"):
        assert fact in outcome.err
    assert {path.name for path in set(folder.iterdir()) - before} == {"bad.rename.csv"}
    again = run("fit", "bad.csv", *FIT, "--out", "other", "--rename", "bad.rename.csv", "--json")
    assert again.code == 0, again.err
    meant = run("fit", "meant.csv", *FIT, "--out", "other", "--json")
    assert json.loads(again.out)["test"] == json.loads(meant.out)["test"]


def test_the_mapping_of_somebody_is_not_overwritten(folder, bad):
    (folder / "bad.rename.csv").write_text("from,to\nn/a,\n")
    outcome = run("evaluate", "model", "bad.csv", "--rename", "bad.rename.csv")
    assert outcome.code == 2
    assert "--rename bad.rename-2.csv" in outcome.err
    assert (folder / "bad.rename.csv").read_text() == "from,to\nn/a,\n"
    whole = pd.read_csv("bad.rename-2.csv", keep_default_na=False)
    assert {"n/a", "Benign"} <= set(whole["from"])
    judged = run("evaluate", "model", "bad.csv", "--rename", "bad.rename-2.csv", "--json")
    assert judged.out == run("evaluate", "model", "meant.csv", "--json").out


def test_blank_values_are_none(folder):
    cases = lesions()
    cases.to_csv("meant.csv", index=False)
    cases.assign(dr_a=cases.dr_a.fillna("-"), dr_b=cases.dr_b.fillna("n/a")).to_csv("bad.csv", index=False)
    given = ["--blank", "-", "--blank", "n/a"]
    judged = run("evaluate", "model", "bad.csv", *given, "--json")
    assert judged.out == run("evaluate", "model", "meant.csv", "--json").out
    assert run("report", "model", "bad.csv", *given).code == 0


def test_route_respells_the_answers_so_far(folder):
    new = lesions(30, seed=9)
    new.to_csv("new.csv", index=False)
    log = pd.DataFrame({"case": new.case[:3], "reader": ["dr_a"] * 3, "answer": ["Benign", "-", "malign"]})
    log.to_csv("log.csv", index=False)
    route = ["route", "model", "new.csv", "--answers", "log.csv", "--out"]
    assert run(*route, "first.csv").code == 2
    assert not (folder / "first.csv").exists()
    assert (folder / "log.rename.csv").exists()
    assert run(*route, "first.csv", "--rename", "log.rename.csv").code == 0
    log.assign(answer=["benign", None, "malign"]).to_csv("log.csv", index=False)
    assert run(*route, "second.csv").code == 0
    assert (folder / "first.csv").read_text() == (folder / "second.csv").read_text()
    outcome = run("route", "model", "new.csv", "--out", "third.csv", "--blank", "-")
    assert (outcome.code, "--blank" in outcome.err, "--answers" in outcome.err) == (2, True, True)
