"""`defero` on tables with answers in a log of their own, without a truth, and with texts."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run
from crowd import fit, log_of, told, write_log

from defero import Team
from defero.data.tables.read import read_frame

LONG = ["--label", "truth", "--answers", "log.csv", "--net", "linear"]


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    enter(tmp_path_factory, tmp_path, monkeypatch)
    write_log(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def long_model(tmp_path_factory):
    """A model of the items and their log, and what `fit` printed."""
    made = tmp_path_factory.mktemp("long")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        write_log(made)
        outcome = fit(*LONG)
    assert outcome.code == 0, outcome.err
    return made / "other", outcome


@pytest.fixture
def other(folder, long_model):
    """A copy of that model in the current folder."""
    shutil.copytree(long_model[0], "other")


@pytest.mark.usefixtures("other")
def test_a_log_gives_the_same_team_as_the_wide_table(long_model):
    _, outcome = long_model
    assert "Label: truth. Key: case. Experts: 3, of whom 2.1 answered a case on average." in outcome.out
    wide, long = Team.load("model"), Team.load("other")
    assert long.expert_names == wide.expert_names == tuple(DOCTORS)
    assert long.facts.spec.key == "case"
    new = lesions(40, seed=5)
    np.testing.assert_allclose(long.scores(new).expert_proba, wide.scores(new).expert_proba)


@pytest.mark.usefixtures("other")
def test_the_other_commands_read_the_log_too(folder):
    long = told(run("evaluate", "other", "items.csv", "--answers", "log.csv", "--json"))
    wide = told(run("evaluate", "model", "cases.csv", "--json"))
    assert long["test"] == wide["test"]
    assert told(run("evaluate", "other", "cases.csv", "--json"))["test"] == wide["test"]
    page = told(run("report", "other", "items.csv", "--answers", "log.csv", "--json", "--out", "page.html"))
    assert page["test"] == wide["test"]
    assert "--answers log.csv" in (folder / "page.html").read_text()
    rival = told(run("evaluate", "other", "items.csv", "--answers", "log.csv", "--against", "model", "--json"))
    assert rival["against"][0]["difference"] == 0
    assert run("route", "other", "items.csv", "--out", "d.csv").code == 0
    assert read_frame("d.csv", as_text=["case"])["case"].tolist() == lesions()["case"].tolist()


def test_columns_of_the_log_can_be_named(folder):
    cases = lesions()
    log = log_of(cases).rename(columns={"case": "lesion", "reader": "who", "answer": "said"})
    log.to_csv("log.csv", index=False)
    outcome = fit(*LONG)
    assert outcome.code == 2
    assert outcome.err.startswith("defero: log.csv: no column has a usual name of the item (item, task,")
    assert "; name it with --item. The columns are lesion, who, said." in outcome.err
    assert "name it with --expert." in fit(*LONG, "--item", "lesion").err
    assert "name it with --answer." in fit(*LONG, "--item", "lesion", "--expert", "who").err
    named = ["--item", "lesion", "--expert", "who", "--answer", "said"]
    assert fit(*LONG, *named).code == 0
    judged = told(run("evaluate", "other", "items.csv", "--answers", "log.csv", *named, "--json"))
    assert judged["rows"] == 160
    assert told(run("evaluate", "other", "items.csv", "--answers", "log.csv", "--json")) == judged
    assert run("report", "other", "items.csv", "--answers", "log.csv").code == 0
    assert "no column 'lesio' for the item; did you mean 'lesion'?" in fit(*LONG, "--item", "lesio").err


def test_columns_of_the_log_are_remembered_where_they_are_there(folder):
    odd = log_of(lesions()).rename(columns={"case": "lesion", "reader": "who", "answer": "said"})
    odd.to_csv("odd.csv", index=False)
    assert (
        fit(
            *LONG[:2], "--answers", "odd.csv", *LONG[4:], "--item", "lesion", "--expert", "who", "--answer", "said"
        ).code
        == 0
    )
    assert Team.load("other").facts.spec.log_columns == {"item": "lesion", "annotator": "who", "answer": "said"}
    usual = told(run("evaluate", "other", "items.csv", "--answers", "log.csv", "--json"))
    assert usual == told(run("evaluate", "other", "items.csv", "--answers", "odd.csv", "--json"))
    odd.rename(columns={"who": "said", "said": "who"}).to_csv("turned.csv", index=False)
    turned = ["--expert", "said", "--answer", "who"]
    assert usual == told(run("evaluate", "other", "items.csv", "--answers", "turned.csv", *turned, "--json"))
    swapped = run("evaluate", "other", "items.csv", "--answers", "turned.csv", "--expert", "said")
    assert "no column has a usual name of the answer" in swapped.err
    odd.assign(who=odd.who.replace("dr_c", "dr_d")).to_csv("later.csv", index=False)
    added = run("add-expert", "other", "items.csv", "--answers", "later.csv", "--expert", "dr_d", "--out", "more")
    assert added.code == 0, added.err


@pytest.mark.usefixtures("other")
def test_models_that_remember_no_columns_find_them_by_name():
    team = Team.load("other")
    assert team.facts.spec.log_columns == {"item": None, "annotator": None, "answer": None}
    replace(team, facts=replace(team.facts, spec=team.facts.spec.but(log=False))).save("old")
    new, before = (
        told(run("evaluate", model, "items.csv", "--answers", "log.csv", "--json")) for model in ("other", "old")
    )
    assert before["test"] == new["test"]


def test_answers_to_other_items_are_left_out_and_counted(folder):
    lesions().drop(columns=DOCTORS).iloc[:120].to_csv("items.csv", index=False)
    unknown = int(lesions().iloc[120:][DOCTORS].notna().sum().sum())
    assert f"note: log.csv: {unknown} answers to items that are not in the table: ignored.\n" in fit(*LONG).err
    log_of(lesions()).assign(case=lambda frame: "x" + frame["case"]).to_csv("log.csv", index=False)
    outcome = fit(*LONG)
    assert outcome.code == 2
    assert re.match(r"defero: log\.csv: row 2, column case: items\.csv has no item 'xP\d+'; 3\d\d of", outcome.err)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "maybe"}, "log.csv: row 2, column answer: answer 'maybe' is not one of benign, malign"),
        ({"reader": None}, "log.csv: row 2, column reader: the annotator is blank;"),
        ({"case": None}, "log.csv: row 2, column case: the item's key is blank"),
    ],
)
def test_a_wrong_log_is_told(folder, change, message):
    log = log_of(lesions()).reset_index(drop=True)
    log.loc[0, list(change)] = list(change.values())
    log.to_csv("log.csv", index=False)
    outcome = fit(*LONG)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_some_people_of_the_log_can_be_chosen(folder):
    outcome = fit(*LONG, "--experts", "dr_c,dr_a")
    assert "note: log.csv: answers of 1 other expert are not used." in outcome.err
    assert Team.load("other").expert_names == ("dr_c", "dr_a")
    wrong = fit(*LONG, "--experts", "dr_c,dra")
    assert wrong.err.startswith("defero: log.csv: no answer of the expert 'dra'; did you mean 'dr_a'? The experts are")
    strangers = log_of(lesions()).assign(reader="dr_x")
    strangers.to_csv("log.csv", index=False)
    assert run("evaluate", "model", "items.csv", "--answers", "log.csv").err == (
        "defero: log.csv: nobody of the team answered; it has dr_a, dr_b, dr_c, the answers are of dr_x.\n"
    )


def test_items_without_a_label_are_left_out_and_counted(folder):
    cases = lesions().drop(columns=DOCTORS)
    cases.assign(truth=cases.truth.where(cases.index % 4 > 0)).to_csv("items.csv", index=False)
    outcome = fit(*LONG)
    assert "note: items.csv: 40 of 160 cases have no label and are left out." in outcome.err
    assert outcome.out.startswith("120 cases of items.csv:")
    blank = cases.truth.where(cases.index % 4 > 0)
    cases.assign(truth=blank, age=cases.age.where(cases.index != 15, float("inf"))).to_csv("items.csv", index=False)
    assert fit(*LONG).err.startswith("defero: items.csv: row 17, column age: 'inf' is not a finite number")
    cases.assign(truth=None).to_csv("items.csv", index=False)
    assert fit(*LONG).err == (
        "defero: items.csv: column truth: no row has a label; fill it in, or pass --majority-label.\n"
    )


def test_a_label_to_be_judged_by_is_one_that_fit_saw(folder):
    cases = lesions().drop(columns=DOCTORS)
    cases.assign(truth=cases.truth.where(cases.index != 7, "unsure")).to_csv("items.csv", index=False)
    assert run("evaluate", "model", "items.csv", "--answers", "log.csv").err.startswith(
        "defero: items.csv: row 9, column truth: label 'unsure' is not one of benign, malign"
    )


def test_the_majority_stands_in_for_a_truth_and_every_command_says_so(folder):
    cases = lesions().drop(columns="truth").assign(majority=lambda frame: frame.age % 7)
    cases.drop(columns=DOCTORS).to_csv("items.csv", index=False)
    options = ["--answers", "log.csv"]
    outcome = fit("--majority-label", *options, "--net", "linear")
    assert outcome.code == 0, outcome.err
    answered = cases[DOCTORS].notna().any(axis=1).sum()
    votes = cases[DOCTORS].stack().groupby(level=0).value_counts().unstack(fill_value=0)
    tied = int((votes["benign"] == votes["malign"]).sum())
    warning = (
        f"note: {answered} of {answered} labels are no recorded truth but the most frequent answer, {tied} of them by "
        "the rule for ties (the answer that is more frequent over all cases, then the first in order): the experts are "
        "judged by their own majority, so each looks better than they are.\n"
    )
    assert warning in outcome.out
    assert "Label: the majority of the answers. Key: case." in outcome.out
    assert f"{160 - answered} of 160 cases have no label and are left out." in outcome.err
    assert "\n  majority: a number" in outcome.out
    assert Team.load("other").facts.spec.majority_label
    for command in ("evaluate", "report"):
        again = run(command, "other", "items.csv", *options)
        assert again.code == 0, again.err
        assert warning.removeprefix("note: ") in again.out
    judged = told(run("evaluate", "other", "items.csv", *options, "--json"))
    assert judged["test"]["cautions"][0] == warning.removeprefix("note: ").strip()
    assert warning.removeprefix("note: ").strip() in " ".join(
        re.sub(r"<[^>]*>", " ", (folder / "report.html").read_text()).split()
    )


def test_the_majority_fills_labels_that_are_blank(folder):
    cases = lesions()
    cases.assign(truth=cases.truth.where(cases.index % 2 > 0)).to_csv("cases.csv", index=False)
    outcome = fit(*FIT, "--majority-label", table="cases.csv")
    assert outcome.code == 0
    filled = int(cases[cases.index % 2 == 0][DOCTORS].notna().any(axis=1).sum())
    assert f"note: {filled} of {80 + filled} labels are no recorded truth" in outcome.out
    assert "Label: truth." in outcome.out
    cases.assign(dr_b=["benign", "unsure"] * 80).to_csv("cases.csv", index=False)
    assert run("evaluate", "model", "cases.csv", "--majority-label").err.startswith(
        "defero: cases.csv: row 3, column dr_b: answer 'unsure' is not one of benign, malign"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--label", "truth"],
            "cases.csv: no experts are named; pass --experts with the columns of their answers, or --answers",
        ),
        (["--experts", "dr_a"], "cases.csv: name the column with the truth with --label, or pass --majority-label"),
        ([*FIT, "--format", "excel"], "--format must be one of label-studio, prodigy, table, got 'excel'."),
        ([*FIT, "--text", "sit"], "cases.csv: no column 'sit' for the text; did you mean 'site'?"),
        ([*FIT, "--text", "truth"], "cases.csv: column 'truth' is named as the label and as the text; choose one."),
        ([*FIT, "--text", "age"], "cases.csv: column age is named as text and holds"),
        ([*FIT, "--split", "site", "--test-share", "0.3"], "--test-share: the column site says which cases are for"),
    ],
)
def test_a_wrong_description_is_told(folder, options, message):
    outcome = fit(*options, table="cases.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not (folder / "other").exists()


@pytest.mark.filterwarnings("default")
def test_text_is_a_feature_where_it_is_named(folder):
    words = {"benign": "smooth and pale, as before", "malign": "grown, dark and ragged"}
    cases = lesions()
    letters = [f"{words[truth]} number {row}" for row, truth in enumerate(cases.truth)]
    cases.assign(letter=letters).to_csv("cases.csv", index=False)
    assert "  letter: not used, free text" in fit(*FIT, table="cases.csv").out
    outcome = fit(*FIT, "--features", "age", "--text", "letter", table="cases.csv")
    assert outcome.code == 0, outcome.err
    assert re.search(r"^  letter: \d+ words of text", outcome.out, re.MULTILINE)
    assert Team.load("other").recipe.text == ("letter",)
    assert run("route", "other", "cases.csv", "--out", "d.csv").code == 0
    assert read_frame("d.csv").model_says.eq(cases.truth).mean() > 0.95
    cases.assign(letter=None).to_csv("new.csv", index=False)
    assert (
        "note: letter: blank, read as no words, in 160 rows." in run("route", "other", "new.csv", "--out", "d.csv").err
    )


@pytest.mark.usefixtures("other")
def test_a_team_of_a_log_asks_for_the_log():
    for command in ("evaluate", "report"):
        assert run(command, "other", "items.csv").err == (
            "defero: other: was fitted with a log of answers, and items.csv has no column of an expert; pass "
            "--answers, with one row per answer.\n"
        )


@pytest.mark.parametrize("option", ["--item", "--expert", "--answer"])
def test_columns_of_a_log_need_the_log(folder, option):
    message = f"defero: {option} case: names a column of the log of answers, and there is none; pass --answers.\n"
    assert fit(*FIT, option, "case", table="cases.csv").err == message
    assert run("evaluate", "model", "cases.csv", option, "case").err == message
    assert fit(*FIT, "--control", "dx", table="cases.csv").err == (
        "defero: --control dx: is a question of a Label Studio export, and cases.csv is read as table; leave it out, "
        "or pass --format label-studio.\n"
    )


def test_the_majority_fills_blank_labels_of_numbers(folder):
    cases = lesions()
    coded = cases.assign(**{name: cases[name].map({"benign": 0, "malign": 1}) for name in [*DOCTORS, "truth"]})
    coded.astype(dict.fromkeys([*DOCTORS, "truth"], "Int64")).assign(
        truth=coded.truth.astype("Int64").mask(coded.index % 2 == 0)
    ).to_csv("cases.csv", index=False)
    outcome = fit(*FIT, "--majority-label", table="cases.csv")
    assert outcome.code == 0, outcome.err
    assert Team.load("other").classes.tolist() == [0, 1]
    assert "labels are no recorded truth but the most frequent answer" in outcome.out
