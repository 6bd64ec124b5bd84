"""`defero evaluate`: judged on what training did not see, and the count of what it did see is said."""

import json
import re
import shutil

import pandas as pd
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run, trained

from defero import DeferralClassifier, Router
from defero.data.fingerprint import held_out, row_fingerprints
from defero.data.wide import read_table


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


@pytest.fixture
def cases():
    return lesions()


def seen_rows(folder):
    """Tell which rows of cases.csv `fit` has learned from."""
    table = read_table(folder / "cases.csv", label="truth", experts=DOCTORS, key="case")
    return ~held_out(Router.load(folder / "model").all_seen(), row_fingerprints(table.features))


def test_the_table_of_fit_is_judged_on_its_held_out_part(folder, tmp_path_factory):
    outcome = run("evaluate", "model", "cases.csv")
    assert (outcome.code, outcome.err) == (0, "")
    note, _, record = outcome.out.partition("\n\n")
    assert note == "128 of 160 rows were seen by fit and are left out."
    assert record.strip() in trained(tmp_path_factory)[1]


def test_json_says_what_the_table_says(folder):
    result = json.loads(run("evaluate", "model", "cases.csv", "--json").out)
    human = run("evaluate", "model", "cases.csv").out
    assert (result["rows"], result["seen_by_fit"], result["test"]["items"]) == (160, 128, 32)
    team, model = result["test"]["team"]["accuracy"], result["test"]["model"]["accuracy"]
    assert re.search(rf"^team +{100 * team:.1f} %", human, re.MULTILINE)
    assert re.search(
        rf"^model +{100 * model:.1f} %  \(.*\) +{100 * result['test']['coverage']:.1f} %", human, re.MULTILINE
    )
    for line in result["test"]["recall"]:
        shown = rf"^{line['class']} +{line['n']} +{100 * line['team']:.1f} % +{100 * line['model']:.1f} %$"
        assert re.search(shown, human, re.MULTILINE)
    panel = result["test"]["panel"]
    assert (panel["target"], panel["alpha"]) == ("any-correct", 0.1)
    assert f"kept {100 * panel['kept']:.1f} % ({100 * panel['low']:.1f} to {100 * panel['high']:.1f})" in human
    assert f"A panel has {panel['raw_size']:.1f} ± {panel['raw_size_half']:.1f} experts on average" in human
    gained, lost = result["test"]["only_team_right"], result["test"]["only_model_right"]
    assert f"wrong on {gained} cases, and wrong where it is right on {lost}." in human


def test_only_rows_that_fit_saw_are_refused(folder, cases):
    seen = seen_rows(folder)
    cases[seen].to_csv("seen.csv", index=False)
    outcome = run("evaluate", "model", "seen.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "defero: seen.csv: all 128 rows were seen by fit, and a team cannot be judged on what it learned from; "
        "pass other cases.\n"
    )


def test_fresh_rows_are_all_used(folder):
    lesions(50, seed=9).to_csv("fresh.csv", index=False)
    outcome = run("evaluate", "model", "fresh.csv")
    assert outcome.code == 0
    assert "seen by fit" not in outcome.out
    assert "On 50 held-out cases" in outcome.out


def test_the_order_and_the_format_of_the_table_do_not_matter(folder, cases):
    cases.iloc[::-1, ::-1].to_parquet("turned.parquet", index=False)
    plain, turned = (json.loads(run("evaluate", "model", t, "--json").out) for t in ("cases.csv", "turned.parquet"))
    for name in ("items", "team", "model", "recall", "only_team_right"):
        assert turned["test"][name] == plain["test"][name]


def test_rows_that_stand_twice_are_counted_right(folder, cases):
    """Of two equal rows one may be learned from and the other held out; both are not thrown away."""
    twice = pd.concat([cases, cases.assign(case=cases["case"] + "x")])
    twice.to_csv("twice.csv", index=False)
    parts = json.loads(run("fit", "twice.csv", *FIT, "--out", "other", "--json").out)["rows"]
    result = json.loads(run("evaluate", "other", "twice.csv", "--json").out)
    assert (result["rows"], result["seen_by_fit"], result["test"]["items"]) == (320, 320 - parts["test"], parts["test"])
    once = json.loads(run("evaluate", "model", "twice.csv", "--json").out)
    assert (once["rows"], once["seen_by_fit"]) == (320, 128)


def test_a_key_is_not_needed_to_judge(folder, cases):
    cases.drop(columns="case").to_csv("cases.csv", index=False)
    assert run("evaluate", "model", "cases.csv").out.startswith("128 of 160 rows were seen by fit")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"drop": "dr_b"}, "table.csv: no column 'dr_b' for an expert; did you mean"),
        ({"drop": "truth"}, "table.csv: no column 'truth' for the label"),
        ({"drop": "site"}, "table.csv: no column 'site' for a feature"),
        ({"dr_a": "maybe"}, "table.csv: row 2, column dr_a: answer 'maybe' is not one of benign, malign"),
        ({"truth": "unsure"}, "table.csv: row 2, column truth: label 'unsure' is not one of benign, malign"),
        ({"age": "old"}, "table.csv: row 2, column age: 'old' is not a number; leave the cell blank"),
    ],
)
def test_a_wrong_table_is_told(folder, change, message):
    fresh = lesions(20, seed=9)
    fresh = fresh.drop(columns=change["drop"]) if "drop" in change else fresh.assign(**change)
    fresh.to_csv("table.csv", index=False)
    outcome = run("evaluate", "model", "table.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_the_label_can_be_named(folder):
    lesions(30, seed=9).rename(columns={"truth": "biopsy"}).to_csv("renamed.csv", index=False)
    assert run("evaluate", "model", "renamed.csv", "--label", "biopsy").code == 0
    assert (
        "no column 'bopsy' for the label; did you mean 'biopsy'?"
        in run("evaluate", "model", "renamed.csv", "--label", "bopsy").err
    )


def test_a_model_made_in_python_is_judged_once_the_label_is_named(folder, cases):
    answers, frame = cases[DOCTORS], cases[["age", "site"]]
    DeferralClassifier("linear").fit(frame, cases.truth, experts=answers).save("python")
    assert run("evaluate", "python", "cases.csv").err == (
        "defero: python: was fitted in Python and does not know the label's column; name it with --label.\n"
    )
    assert "all 160 rows were seen by fit" in run("evaluate", "python", "cases.csv", "--label", "truth").err
    DeferralClassifier("linear").fit(cases[["age"]].to_numpy(), cases.truth, experts=answers).save("matrix")
    assert run("evaluate", "matrix", "cases.csv", "--label", "truth").err == (
        "defero: matrix: was fitted on a matrix, not on a table; call its score in Python.\n"
    )
    assert (
        "matrix: was fitted on a matrix, not on a table; call its decide in Python."
        in run("route", "matrix", "cases.csv", "--out", "d.csv").err
    )


@pytest.mark.parametrize("command", ["evaluate", "route"])
def test_a_damaged_model_is_told(folder, command):
    options = ["--out", "decisions.csv"] if command == "route" else []
    shutil.copytree("model", "cut")
    (folder / "cut" / "weights.safetensors").write_bytes(b"cut")
    for name, message in [
        ("none", "none: no such model folder; `defero fit ... --out none` makes one."),
        ("cut", "cut/weights.safetensors: the model folder is damaged (its checksum is not the one in model.json);"),
        (".", ".: holds no model.json, so it is no model folder; name the folder that `defero fit` or save wrote."),
    ]:
        outcome = run(command, name, "cases.csv", *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"defero: {message}")
    assert not (folder / "decisions.csv").exists()
