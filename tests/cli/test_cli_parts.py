"""`defero fit` by group, by time or by a column: what is cut apart stays apart, also when judged later."""

import re

import numpy as np
import pytest
from clinic import FIT, enter, lesions, run
from crowd import fit, told, write_log

from defero import Team

LONG = ["--label", "truth", "--answers", "log.csv", "--net", "linear"]


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    enter(tmp_path_factory, tmp_path, monkeypatch)
    write_log(tmp_path)
    return tmp_path


def test_a_column_called_split_is_no_feature_and_not_followed(folder):
    cases = lesions().assign(split=["train", "test"] * 80)
    cases.to_csv("cases.csv", index=False)
    outcome = fit(*FIT, table="cases.csv")
    assert outcome.err == (
        "note: cases.csv: column split says which part a case is in and is no feature; to split the table as it says, "
        "pass --split split.\n"
    )
    assert "81 to learn from, 23 to calibrate, 24 to conformalize, 32 for the test." in outcome.out
    assert "split" not in Team.load("other").facts.columns
    cases.assign(split=["north", "south"] * 80).to_csv("cases.csv", index=False)
    outcome = fit(*FIT, table="cases.csv", out="third")
    assert outcome.err == ""
    assert "  split: 2 categories (north, south)." in outcome.out


def seen_of(cases, out="other"):
    """Return the rows of the cases that each stage of a model saw, by position."""
    from defero.data.fingerprint import row_fingerprints

    team = Team.load(out)
    rows = row_fingerprints(cases[list(team.recipe.inputs)])
    return {stage: np.flatnonzero(np.isin(rows, team.seen[stage])) for stage in ("fit", "calibrate", "conformalize")}


def test_no_group_is_in_two_parts(folder):
    cases = lesions(200).assign(patient=lambda frame: "p" + (frame.index // 3).astype(str), unique=np.arange(200) / 7)
    cases.to_csv("cases.csv", index=False)
    result = fit(*FIT, "--group", "patient", table="cases.csv")
    assert result.code == 0
    assert "for the test; no patient is in two parts." in result.out
    parts = seen_of(cases)
    groups = [set(cases.patient.iloc[rows]) for rows in parts.values()]
    rest = np.setdiff1d(np.arange(200), np.concatenate(list(parts.values())))
    groups.append(set(cases.patient.iloc[rest]))
    assert sum(map(len, groups)) == cases.patient.nunique() == len(set.union(*groups))
    assert "patient" not in Team.load("other").facts.columns
    cases.assign(patient=cases.patient.where(cases.index != 4)).to_csv("cases.csv", index=False)
    assert fit(*FIT, "--group", "patient", table="cases.csv").err == (
        "defero: cases.csv: row 6, column patient: the group is blank; fill it in or drop the row.\n"
    )
    assert (
        "no column 'patent' for the groups; did you mean 'patient'?"
        in fit(*FIT, "--group", "patent", table="cases.csv").err
    )
    few = fit(*FIT, "--group", "site", table="cases.csv", out="few")
    assert "no site is in two parts" in few.out
    assert (
        "note: there are 4 values of site: 1 in the cases to learn from, 1 to calibrate, 1 to conformalize and 1 in "
        "the test. With so few, the figures may not hold for another site.\n"
    ) in few.err
    assert "values of patient" not in result.err
    assert Team.load("few").facts.spec.groups == "site"


def test_a_column_can_cut_the_table(folder):
    words = ["Train"] * 90 + ["val"] * 30 + ["TEST"] * 40
    cases = lesions().assign(part=words, unique=np.arange(160) / 7).sample(frac=1, random_state=1)
    cases.to_csv("cases.csv", index=False)
    result = fit(*FIT, "--split", "part", "--json", table="cases.csv")
    assert list(told(result)["rows"].values()) == [90, 15, 15, 40]
    parts = seen_of(cases)
    seen = np.concatenate(list(parts.values()))
    assert len(set(seen)) == len(seen) == 120
    assert not cases.part.iloc[seen].str.casefold().eq("test").any()
    assert set(cases.part.iloc[parts["fit"]].str.casefold()) == {"train"}


@pytest.mark.parametrize(("option", "row"), [("--time visit", 155), ("--split part", 130)])
def test_a_class_that_is_not_learned_is_told(folder, option, row):
    cases = lesions().assign(visit=range(160), part=["train"] * 120 + ["test"] * 40)
    cases.loc[[row, row + 3], "truth"] = "odd"
    cases.to_csv("cases.csv", index=False)
    assert fit(*FIT, *option.split(), table="cases.csv") == (
        2,
        "",
        f"defero: cases.csv: column truth: no case to learn from has the label 'odd' (2 have it, the first in row "
        f"{row + 2}), as {option} splits them; leave those rows out, or split in another way.\n",
    )


def test_a_class_that_no_group_to_learn_from_has_is_told(folder):
    cases = lesions().assign(patient=["a", "b", "c", "d"] * 40, truth=["benign", "malign"] * 80)
    cases.to_csv("cases.csv", index=False)
    outcome = fit(*FIT, "--group", "patient", table="cases.csv")
    assert outcome.code == 2
    assert re.search(r"label '(benign|malign)' \(80 have it, the first in row [23]\), as --group patient", outcome.err)


def test_new_cases_of_a_group_that_fit_saw_are_left_out(folder):
    cases = lesions(200).assign(patient=lambda frame: (frame.index // 4).astype(str))
    cases.to_csv("cases.csv", index=False)
    assert fit(*FIT, "--group", "patient", table="cases.csv").code == 0
    seen = set(cases.patient.iloc[np.concatenate(list(seen_of(cases).values()))])
    late = lesions(60, seed=8).assign(
        patient=[*map(float, sorted(map(int, seen)))][:20] + ["new", "newer"] * 20,
        case=[f"L{row}" for row in range(60)],
        age=lambda frame: frame.age + 0.5,
    )
    late.to_csv("late.csv", index=False)
    judged = told(run("evaluate", "other", "late.csv", "--json"))
    assert (judged["rows"], judged["seen_by_fit"], judged["of_seen_groups"], judged["test"]["items"]) == (60, 0, 20, 40)
    sentence = "20 of 60 rows are of a patient that fit saw and are left out."
    assert run("evaluate", "other", "late.csv").out.startswith(f"{sentence}\n\n")
    assert run("report", "other", "late.csv", "--out", "page.html").out.startswith(sentence)
    again = told(run("evaluate", "other", "cases.csv", "--json"))
    assert again["of_seen_groups"] == 0
    assert again["test"]["items"] == 200 - again["seen_by_fit"]
    late.iloc[:20].to_csv("old.csv", index=False)
    assert run("evaluate", "other", "old.csv").err == (
        "defero: old.csv: all 20 rows were seen by fit, or are of a patient that it saw, and a team cannot be judged "
        "on what it learned from; pass other cases.\n"
    )
    late.drop(columns="patient").to_csv("late.csv", index=False)
    outcome = run("evaluate", "other", "late.csv")
    assert outcome.code == 0
    assert "note: late.csv: no column patient, so cases of a patient that fit saw cannot be told" in outcome.err
    assert run("route", "other", "late.csv", "--out", "d.csv").code == 0
