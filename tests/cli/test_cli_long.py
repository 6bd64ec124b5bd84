"""`defero` on tables with answers in a log of their own, without a truth, and cut by group, time or column."""

import json
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run
from crowd import log_of, write_log

from defero import Router
from defero.data.read import read_frame

LONG = ["--label", "truth", "--answers", "log.csv", "--net", "linear"]


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    enter(tmp_path_factory, tmp_path, monkeypatch)
    write_log(tmp_path)
    return tmp_path


def fit(*options, table="items.csv", out="other"):
    return run("fit", table, "--out", out, *options)


def told(outcome):
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_a_log_gives_the_same_team_as_the_wide_table(folder):
    outcome = fit(*LONG)
    assert outcome.code == 0
    assert "Label: truth. Key: case. Experts: 3, of whom 2.1 answered a case on average." in outcome.out
    wide, long = Router.load("model"), Router.load("other")
    assert long.expert_names == wide.expert_names == tuple(DOCTORS)
    assert long.notes["key"] == "case"
    new = lesions(40, seed=5)
    np.testing.assert_allclose(long.scores(new).expert_proba, wide.scores(new).expert_proba)


def test_the_other_commands_read_the_log_too(folder):
    assert fit(*LONG).code == 0
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
    assert outcome.err.startswith("defero: log.csv: no column is called as the item usually is (item, task,")
    assert "; name it with --item. The columns are lesion, who, said." in outcome.err
    assert "name it with --expert." in fit(*LONG, "--item", "lesion").err
    assert "name it with --answer." in fit(*LONG, "--item", "lesion", "--expert", "who").err
    named = ["--item", "lesion", "--expert", "who", "--answer", "said"]
    assert fit(*LONG, *named).code == 0
    assert told(run("evaluate", "other", "items.csv", "--answers", "log.csv", *named, "--json"))["rows"] == 160
    assert "no column 'lesio' for the item; did you mean 'lesion'?" in fit(*LONG, "--item", "lesio").err


def test_answers_to_other_items_are_left_out_and_counted(folder):
    lesions().drop(columns=DOCTORS).iloc[:120].to_csv("items.csv", index=False)
    unknown = int(lesions().iloc[120:][DOCTORS].notna().sum().sum())
    assert f"note: log.csv: {unknown} answers are to items that are not in the table.\n" in fit(*LONG).err
    log_of(lesions()).assign(case=lambda frame: "x" + frame["case"]).to_csv("log.csv", index=False)
    outcome = fit(*LONG)
    assert outcome.code == 2
    assert re.match(r"defero: log\.csv: row 2, column case: items\.csv has no item 'xP\d+'; 3\d\d of", outcome.err)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "maybe"}, "log.csv: row 2, column answer: answer 'maybe' is not one of benign, malign"),
        ({"reader": None}, "log.csv: row 2, column reader: the annotator is blank; say who answered."),
        ({"case": None}, "log.csv: row 2, column case: the item's key is blank."),
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
    assert "note: log.csv: answers of 1 people who are not in the team are left out." in outcome.err
    assert Router.load("other").expert_names == ("dr_c", "dr_a")
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


@pytest.mark.parametrize("kind", ["wide", "long"])
def test_the_majority_stands_in_for_a_truth_and_every_command_says_so(folder, kind):
    cases = lesions().drop(columns="truth").assign(majority=lambda frame: frame.age % 7)
    cases.to_csv("cases.csv", index=False)
    cases.drop(columns=DOCTORS).to_csv("items.csv", index=False)
    table = "cases.csv" if kind == "wide" else "items.csv"
    who = ["--experts", ",".join(DOCTORS), "--key", "case"] if kind == "wide" else ["--answers", "log.csv"]
    outcome = fit("--majority-label", *who, "--net", "linear", table=table)
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
    assert Router.load("other").notes["majority_label"]
    options = [] if kind == "wide" else who
    for command in ("evaluate", "report"):
        again = run(command, "other", table, *options)
        assert again.code == 0, again.err
        assert warning.removeprefix("note: ") in again.out
    judged = told(run("evaluate", "other", table, *options, "--json"))
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


def test_a_column_called_split_is_no_feature_and_not_followed(folder):
    cases = lesions().assign(split=["train", "test"] * 80)
    cases.to_csv("cases.csv", index=False)
    outcome = fit(*FIT, table="cases.csv")
    assert outcome.err == (
        "note: cases.csv: column split says which part a case is in and is no feature; to cut the table as it says, "
        "pass --split split.\n"
    )
    assert "81 to learn from, 23 to calibrate, 24 to conformalise, 32 for the test." in outcome.out
    assert "split" not in Router.load("other").notes["columns"]
    cases.assign(split=["north", "south"] * 80).to_csv("cases.csv", index=False)
    outcome = fit(*FIT, table="cases.csv")
    assert outcome.err == ""
    assert "  split: 2 categories (north, south)." in outcome.out


def seen_of(cases, out="other"):
    """Return the rows of the cases that each stage of a model saw, by position."""
    from defero.data.fingerprint import row_fingerprints

    router = Router.load(out)
    rows = row_fingerprints(cases[list(router.recipe.inputs)])
    return {stage: np.flatnonzero(np.isin(rows, router.seen[stage])) for stage in ("fit", "calibrate", "conformalize")}


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
    assert "patient" not in Router.load("other").notes["columns"]
    cases.assign(patient=cases.patient.where(cases.index != 4)).to_csv("cases.csv", index=False)
    assert fit(*FIT, "--group", "patient", table="cases.csv").err == (
        "defero: cases.csv: row 6, column patient: the group is blank; fill it in or drop the row.\n"
    )
    assert (
        "no column 'patent' for the group; did you mean 'patient'?"
        in fit(*FIT, "--group", "patent", table="cases.csv").err
    )
    few = fit(*FIT, "--group", "site", table="cases.csv", out="few")
    assert few.code == 2 or Router.load("few").notes["group"] == "site"


@pytest.mark.parametrize("kind", ["dates", "numbers"])
def test_the_latest_cases_are_the_test(folder, kind):
    day = np.random.default_rng(0).permutation(160)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(day, "D") if kind == "dates" else day
    cases = lesions().assign(visit=when, unique=np.arange(160) / 7)
    cases.to_csv("cases.csv", index=False)
    result = fit(*FIT, "--time", "visit", table="cases.csv")
    assert result.code == 0, result.err
    assert "for the test; cut by visit, the latest for the test." in result.out
    parts = seen_of(cases)
    rest = np.setdiff1d(np.arange(160), np.concatenate(list(parts.values())))
    edges = [(day[rows].min(), day[rows].max()) for rows in (*parts.values(), rest)]
    assert all(earlier[1] < later[0] for earlier, later in pairwise(edges))
    assert edges[-1] == (128, 159)


def test_times_that_are_none_are_told(folder):
    cases = lesions()
    cases.assign(visit=["2024-05-01", "soon"] * 80).to_csv("cases.csv", index=False)
    assert fit(*FIT, "--time", "visit", table="cases.csv").err == (
        "defero: cases.csv: row 3, column visit: 'soon' is no time; expected a number, or a date as 2024-05-01 or "
        "2024-05-01T09:30, in every row.\n"
    )
    cases.assign(visit=2024).to_csv("cases.csv", index=False)
    outcome = fit(*FIT, "--time", "visit", table="cases.csv")
    assert outcome.err.startswith(
        "defero: cases.csv: column visit: rows of equal time stay together, which leaves none"
    )
    both = fit(*FIT, "--time", "age", "--group", "site", table="cases.csv")
    assert both.err.startswith("defero: --group and --time cannot both be kept")
    assert (
        "column 'age' is named as the time and as the split"
        in fit(*FIT, "--time", "age", "--split", "age", table="cases.csv").err
    )


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        (["train"] * 120 + ["test"] * 40, None),
        (["Train"] * 90 + ["val"] * 30 + ["TEST"] * 40, (90, 15, 15, 40)),
        (["train"] * 80 + ["calibration"] * 22 + ["dev"] * 18 + ["test"] * 40, (80, 22, 18, 40)),
        (["train"] * 80 + ["cal"] * 22 + ["conformal"] * 18 + ["test"] * 40, (80, 22, 18, 40)),
        (["train"] * 100 + ["cal"] * 20 + ["test"] * 40, None),
    ],
)
def test_a_column_can_cut_the_table(folder, words, sizes):
    cases = lesions().assign(part=words, unique=np.arange(160) / 7).sample(frac=1, random_state=1)
    cases.to_csv("cases.csv", index=False)
    result = fit(*FIT, "--split", "part", "--json", table="cases.csv")
    rows = tuple(told(result)["rows"].values())
    assert rows[3] == 40
    assert sizes is None or rows == sizes
    assert sum(rows) == 160
    assert min(rows) >= 10
    parts = seen_of(cases)
    seen = np.concatenate(list(parts.values()))
    assert len(set(seen)) == len(seen) == 120
    assert not cases.part.iloc[seen].str.casefold().eq("test").any()
    assert set(cases.part.iloc[parts["fit"]].str.casefold()) == {"train"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "exam"], "row 3, column part: 'exam' names no part; expected train, calibrate, conformalize, val"),
        (["train", None], "row 3, column part: the part is blank; fill it in or drop the row."),
        (["train", "train"], "column part: no case is for the test (test, testing,"),
        (["val", "test"], "column part: no case is to learn from (train, training,"),
    ],
)
def test_a_column_that_cannot_cut_is_told(folder, words, message):
    lesions().assign(part=words * 80).to_csv("cases.csv", index=False)
    outcome = fit(*FIT, "--split", "part", table="cases.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"defero: cases.csv: {message}" in outcome.err


def test_groups_that_a_column_tears_apart_are_told(folder):
    lesions().assign(part=["train", "test"] * 80, patient=["a", "a", "b", "c"] * 40).to_csv("cases.csv", index=False)
    outcome = fit(*FIT, "--split", "part", "--group", "patient", table="cases.csv")
    assert outcome.code == 2
    assert "cases.csv: column patient: " in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "truth"], "cases.csv: say who answered: --experts A,B,... names their columns, --answers FILE"),
        (["--experts", "dr_a"], "cases.csv: name the column with the truth with --label, or pass --majority-label"),
        ([*FIT, "--format", "excel"], "--format must be one of table, label-studio, prodigy, got 'excel'."),
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
    assert Router.load("other").recipe.text == ("letter",)
    assert run("route", "other", "cases.csv", "--out", "d.csv").code == 0
    assert read_frame("d.csv").model_says.eq(cases.truth).mean() > 0.95
    cases.assign(letter=None).to_csv("new.csv", index=False)
    assert (
        "note: letter: blank, read as no words, in 160 rows." in run("route", "other", "new.csv", "--out", "d.csv").err
    )


def test_a_team_of_a_log_asks_for_the_log(folder):
    assert fit(*LONG).code == 0
    for command in ("evaluate", "report"):
        assert run(command, "other", "items.csv").err == (
            "defero: other: was fitted with --answers, and items.csv has no column of an expert; pass --answers FILE, "
            "with one row per answer.\n"
        )


@pytest.mark.parametrize("option", ["--item", "--expert", "--answer"])
def test_columns_of_a_log_need_the_log(folder, option):
    message = f"defero: {option} case: names a column of the long answers, and there are none; pass --answers FILE.\n"
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
    assert Router.load("other").classes.tolist() == [0, 1]
    assert "labels are no recorded truth but the most frequent answer" in outcome.out


@pytest.mark.parametrize(("option", "row"), [("--time visit", 155), ("--split part", 130)])
def test_a_class_that_is_not_learned_is_told(folder, option, row):
    cases = lesions().assign(visit=range(160), part=["train"] * 120 + ["test"] * 40)
    cases.loc[[row, row + 3], "truth"] = "odd"
    cases.to_csv("cases.csv", index=False)
    assert fit(*FIT, *option.split(), table="cases.csv") == (
        2,
        "",
        f"defero: cases.csv: column truth: no case to learn from has the label 'odd' (2 have it, the first in row "
        f"{row + 2}), as {option} cuts them; leave those rows out, or cut in another way.\n",
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
