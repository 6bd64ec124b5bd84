"""`--rename` and `--blank`: the mapping that is offered is taken again by every command."""

import json
import shutil
from pathlib import Path

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
    bad.loc[rows[4:], "dr_a"] = "skip"
    meant.loc[rows[4:], "dr_a"] = None
    bad.to_csv("bad.csv", index=False)
    meant.to_csv("meant.csv", index=False)


def test_fit_offers_a_mapping_that_it_takes(folder, bad):
    before = set(folder.iterdir())
    outcome = run("fit", "bad.csv", *FIT, "--out", "other")
    assert (outcome.code, outcome.out) == (2, "")
    for fact in ("'skip': 5 answers, first in row ", "did you mean 'benign'?", "--rename bad.rename.csv"):
        assert fact in outcome.err
    assert {path.name for path in set(folder.iterdir()) - before} == {"bad.rename.csv"}
    again = run("fit", "bad.csv", *FIT, "--out", "other", "--rename", "bad.rename.csv", "--json")
    assert again.code == 0, again.err
    meant = run("fit", "meant.csv", *FIT, "--out", "other", "--json")
    assert json.loads(again.out)["test"] == json.loads(meant.out)["test"]


def test_the_mapping_of_somebody_is_not_overwritten(folder, bad):
    (folder / "bad.rename.csv").write_text("from,to\nskip,\n")
    outcome = run("evaluate", "model", "bad.csv", "--rename", "bad.rename.csv")
    assert outcome.code == 2
    assert "--rename bad.rename-2.csv" in outcome.err
    assert (folder / "bad.rename.csv").read_text() == "from,to\nskip,\n"
    whole = pd.read_csv("bad.rename-2.csv", keep_default_na=False)
    assert {"skip", "Benign"} <= set(whole["from"])
    judged = run("evaluate", "model", "bad.csv", "--rename", "bad.rename-2.csv", "--json")
    assert judged.out == run("evaluate", "model", "meant.csv", "--json").out


def test_blank_values_are_none(folder):
    cases = lesions()
    cases.to_csv("meant.csv", index=False)
    cases.assign(dr_a=cases.dr_a.fillna("-"), dr_b=cases.dr_b.fillna("skip")).to_csv("bad.csv", index=False)
    given = ["--blank", "-", "--blank", "skip"]
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
    outcome = run("route", "model", "new.csv", "--out", "third.csv", "--rename", "log.rename.csv")
    assert (outcome.code, "--rename" in outcome.err, "--answers" in outcome.err) == (2, True, True)


def test_the_mapping_of_fit_is_remembered_and_one_that_is_given_now_wins(folder, bad):
    Path("map.csv").write_text("from,to\nBenign,benign\nMalign,malign\nskip,\n")
    assert run("fit", "bad.csv", *FIT, "--out", "other", "--rename", "map.csv").code == 0
    judged = run("evaluate", "other", "bad.csv", "--json")
    assert judged.code == 0, judged.err
    assert judged.out == run("evaluate", "other", "bad.csv", "--rename", "map.csv", "--json").out
    assert run("report", "other", "bad.csv").code == 0
    facts = json.loads(Path("other/model.json").read_text())["facts"]
    assert facts["spec"]["rename"] == {"Benign": "benign", "Malign": "malign", "skip": ""}

    lesions(40, seed=9).assign(dr_a="skip").to_csv("new.csv", index=False)
    Path("now.csv").write_text("from,to\nskip,malign\n")
    judged = json.loads(run("evaluate", "other", "new.csv", "--rename", "now.csv", "--json").out)
    lesions(40, seed=9).assign(dr_a="malign").to_csv("new.csv", index=False)
    assert judged["test"] == json.loads(run("evaluate", "other", "new.csv", "--json").out)["test"]


def write_unknown_ages():
    """Write cases and new cases with n/a in columns of numbers, categories and answers, and the same with blanks."""
    for name, cases in (("past", lesions()), ("new", lesions(30, seed=9))):
        meant = cases.astype({"age": object})
        meant.loc[meant.index[3:9], "age"] = None
        meant.loc[meant.index[5:7], "site"] = None
        meant.to_csv(f"{name}_meant.csv", index=False)
        meant.fillna({"age": "n/a", "site": "n/a", "dr_a": "n/a"}).to_csv(f"{name}.csv", index=False)


@pytest.fixture(scope="module")
def fitted_on_them(tmp_path_factory):
    """A folder with these tables, a model of each in other and plain, and what `fit` printed."""
    made = tmp_path_factory.mktemp("unknown")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        write_unknown_ages()
        fitted = run("fit", "past.csv", *FIT, "--out", "other", "--blank", "n/a", "--json")
        meant = run("fit", "past_meant.csv", *FIT, "--out", "plain", "--json")
    assert fitted.code == 0, fitted.err
    return made, fitted, meant


@pytest.fixture
def unknown_ages(folder, fitted_on_them):
    shutil.copytree(fitted_on_them[0], folder, dirs_exist_ok=True)


def test_a_value_that_means_none_does_so_in_features_too(fitted_on_them):
    _, fitted, meant = fitted_on_them
    assert any("age: a number" in line for line in json.loads(fitted.out)["features"])
    assert json.loads(fitted.out)["test"] == json.loads(meant.out)["test"]
    assert json.loads(fitted.out)["features"] == json.loads(meant.out)["features"]


@pytest.mark.usefixtures("unknown_ages")
def test_it_is_remembered_for_other_commands():
    judged = run("evaluate", "other", "new.csv", "--json")
    assert judged.code == 0, judged.err
    assert json.loads(judged.out)["test"] == json.loads(run("evaluate", "other", "new_meant.csv", "--json").out)["test"]
    for name in ("new", "new_meant"):
        assert run("route", "other", f"{name}.csv", "--out", f"{name}_decisions.csv").code == 0
    assert Path("new_decisions.csv").read_text() == Path("new_meant_decisions.csv").read_text()


@pytest.mark.usefixtures("unknown_ages")
def test_a_value_of_one_file_is_said_with_that_file():
    refused = run("route", "plain", "new.csv", "--out", "a.csv")
    assert refused.code == 2
    assert "'n/a' (6 cells) is not a number" in refused.err
    assert "Correct them, or pass --blank n/a, or pass --bad-rows skip" in refused.err
    assert run("route", "plain", "new.csv", "--out", "a.csv", "--blank", "n/a").code == 0
    assert run("route", "plain", "new_meant.csv", "--out", "b.csv").code == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


@pytest.mark.usefixtures("unknown_ages")
def test_workers_that_share_a_folder_read_the_value_too():
    for name in ("new", "new_meant"):
        Path(name).mkdir()
        pd.read_csv(f"{name}.csv", keep_default_na=name == "new_meant").to_parquet(f"{name}/part.parquet")
        assert run("route", "other", name, "--out", f"{name}_out", "--workers", "1").code == 0
    first, second = (pd.read_parquet(f"{name}_out/part.parquet") for name in ("new", "new_meant"))
    pd.testing.assert_frame_equal(first, second)
    judge = ["evaluate", "other", "--workers", "1", "--json"]
    judged = [json.loads(run(*judge, name).out) for name in ("new", "new_meant")]
    assert judged[0]["test"] == judged[1]["test"]


def test_the_key_is_never_blank(folder):
    lesions().to_csv("cases.csv", index=False)
    with_blank = run("fit", "cases.csv", *FIT, "--out", "other", "--blank", lesions().case.iloc[0], "--json")
    assert with_blank.code == 0, with_blank.err
    assert sum(json.loads(with_blank.out)["rows"].values()) == 160


def test_marks_of_an_expert_who_is_not_sure_are_refused_with_the_option_to_pass(folder):
    cases = lesions()
    cases.assign(dr_b=cases.dr_b.fillna("?"), dr_a=cases.dr_a.fillna("n/a")).to_csv("bad.csv", index=False)
    refused = run("fit", "bad.csv", *FIT, "--out", "other")
    assert refused.code == 2
    assert "If '?' means that there is no answer, pass --blank '?'.\n" in refused.err
    fitted = run("fit", "bad.csv", *FIT, "--out", "other", "--blank", "?")
    assert fitted.code == 0, fitted.err
    n_blank = int(cases.dr_a.isna().sum())
    assert f"bad.csv: {n_blank} answers are read as no answer: 'n/a' ({n_blank})." in fitted.err


def test_a_newcomer_can_spell_classes_in_another_way(folder):
    fresh = lesions(40, seed=9)
    fresh.assign(dr_d=fresh.truth.str.title().where(fresh.age > 40, "unsure")).to_csv("new.csv", index=False)
    join = ["add-expert", "model", "new.csv", "--expert", "dr_d", "--out", "more"]
    refused = run(*join)
    assert refused.code == 2
    assert "--blank unsure" in refused.err
    assert "--rename new.rename.csv" in refused.err
    joined = run(*join, "--rename", "new.rename.csv", "--json")
    assert joined.code == 0, joined.err
    assert json.loads(joined.out)["answers"] == int((fresh.age > 40).sum())
