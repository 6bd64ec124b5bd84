"""Were answers given at random? What `fit` finds is said once, remembered, and said again where the team is judged."""

import json
import re
import shutil

import numpy as np
import pytest
from clinic import DOCTORS, FIT, lesions, run
from crowd import write_log

FOUND = re.compile(r"Whether a case was answered depends on its label, beyond what the features predict \(p = ")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reviewed(n=400, *, by="truth"):
    """Return lesions of which doctors saw the malign ones, or those of the old, far more often than the others."""
    cases, rng = lesions(n), np.random.default_rng(0)
    often = cases.truth.eq("malign") if by == "truth" else cases.age.gt(55)
    for doctor in DOCTORS:
        cases[doctor] = cases[doctor].mask(rng.random(n) > np.where(often, 1.0, 0.2))
    return cases


def fit(*options, table="cases.csv"):
    return run("fit", table, *FIT, "--out", "model", *options)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A folder with the reviewed cases and a model fitted on them, and what `fit` printed."""
    made = tmp_path_factory.mktemp("reviewed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        reviewed().to_csv("cases.csv", index=False)
        outcome = fit()
    assert outcome.code == 0
    return made, outcome


def test_answers_that_go_by_the_label_are_told_with_what_to_do(first):
    _, outcome = first
    assert "\nWho answered what, among the cases to learn from:\n  Whether a case was answered" in outcome.out
    assert FOUND.search(outcome.out)
    assert "; use --answer-weights label.\n" in outcome.out
    assert "answer_weights(" not in outcome.out
    assert "Recorded answers were not random" not in outcome.out


def test_the_model_remembers_it_and_the_judges_say_it(first, folder):
    shutil.copytree(first[0], folder, dirs_exist_ok=True)
    human, told = (
        run("evaluate", "model", "cases.csv").out,
        json.loads(run("evaluate", "model", "cases.csv", "--json").out),
    )
    said = told["answering"]["sentences"]
    assert (told["answering"]["depends_on_label"], told["answering"]["depends_on_features"]) == (True, False)
    assert all(sentence in first[1].out for sentence in said)
    assert not any("not random" in sentence for sentence in told["test"]["cautions"])
    assert "Who answered what, when it was fitted:\n" in human
    assert all(human.count(sentence) == 1 for sentence in said)
    assert run("report", "model", "cases.csv").code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Were answers given at random?" in page
    assert all(sentence.replace('"', "&quot;") in page or sentence in page for sentence in said)
    assert "Recorded answers were not random" not in human + page


def test_weights_are_handed_on_and_told(folder):
    weights = "label+features"
    reviewed().to_csv("cases.csv", index=False)
    told = json.loads(fit("--json", "--net", "auto", "--answer-weights", weights).out)
    [said] = told["answering"]["sentences"]
    assert said.endswith(f"; the model was fitted with --answer-weights {weights}.")
    kept = json.loads((folder / "model/model.json").read_text())["facts"]["parameters"]["answer_weights"]
    assert kept == weights


def test_answers_that_go_by_the_features_are_no_alarm(folder):
    reviewed(by="age").to_csv("cases.csv", index=False)
    outcome = fit("--json")
    told = json.loads(outcome.out)["answering"]
    assert (told["depends_on_label"], told["depends_on_features"]) == (False, True)
    assert "use --answer-weights label+features." in told["sentences"][0]


def test_nothing_found_is_nothing_said(folder):
    lesions().to_csv("cases.csv", index=False)
    assert "Who answered what" not in fit().out
    assert json.loads(run("evaluate", "model", "cases.csv", "--json").out)["answering"]["sentences"] == []
    assert "Who answered what" not in run("evaluate", "model", "cases.csv").out
    assert "given at random" not in (run("report", "model", "cases.csv").out, (folder / "report.html").read_text())[1]


def test_the_cases_at_hand_are_judged_where_fit_found_nothing(folder):
    """The record asks of the held-out cases what `fit` asked of its own; one of the two speaks."""
    lesions().to_csv("cases.csv", index=False)
    assert fit().code == 0
    fresh = lesions(300, seed=9)
    often = fresh.truth.eq("malign")
    fresh.assign(dr_a=fresh.dr_a.where(often)).to_csv("fresh.csv", index=False)
    assert "note: Recorded answers were not random (p = " in run("evaluate", "model", "fresh.csv").out


def test_a_majority_is_not_asked_about(folder):
    write_log(folder, reviewed().drop(columns="truth"))
    options = ["--answers", "log.csv", "--majority-label", "--net", "linear", "--json", "--out", "model"]
    assert json.loads(run("fit", "items.csv", *options).out)["answering"] is None


def test_without_experts_nothing_is_asked(folder):
    lesions().to_csv("cases.csv", index=False)
    assert json.loads(fit("--json", "--experts", "", "--features", "age").out)["answering"] is None


def test_what_texts_say_is_read_by_others_than_the_text_itself(folder):
    """In-sample scores of words know the label; out of fold, words at random foretell nothing, and the alarm stays."""
    cases, rng = reviewed(), np.random.default_rng(3)
    words = [f"w{number}" for number in range(300)]
    cases["note"] = [" ".join(rng.choice(words, 30)) for _ in range(len(cases))]
    cases[["case", "note", *DOCTORS, "truth"]].to_csv("cases.csv", index=False)
    told = json.loads(fit("--json", "--text", "note").out)["answering"]
    assert (told["depends_on_label"], told["depends_on_features"]) == (True, False)
    assert "use --answer-weights label." in " ".join(told["sentences"])
