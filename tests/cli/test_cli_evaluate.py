"""`defero evaluate`: judged on what training did not see, and the count of what it did see is said."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run, trained

from defero import DeferralClassifier, Team, read_cases
from defero.data.fingerprint import held_out, row_fingerprints


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


@pytest.fixture
def cases():
    return lesions()


def seen_rows(folder):
    """Tell which rows of cases.csv `fit` has learned from."""
    table = read_cases(folder / "cases.csv", label="truth", expert_names=DOCTORS, key="case").table
    return ~held_out(Team.load(folder / "model").all_seen(), row_fingerprints(table.features))


def test_the_table_of_fit_is_judged_on_its_held_out_part(folder, tmp_path_factory):
    outcome = run("evaluate", "model", "cases.csv")
    assert outcome.code == 0
    assert outcome.err == "note: blank cells, filled with the training median: size_mm in 1 row.\n"
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
        shown = rf"^{line['class']} +{line['n']} +{100 * line['team']:.1f} % .* {100 * line['model']:.1f} %"
        assert re.search(shown, human, re.MULTILINE)
    panel = result["test"]["panel"]
    assert (panel["target"], panel["alpha"]) == ("any-correct", 0.1)
    assert f"  {100 * panel['kept']:.1f} %  ({100 * panel['low']:.1f} to {100 * panel['high']:.1f})\n" in human
    assert f"  {panel['raw_size']:.1f} ± {panel['raw_size_half']:.1f}\n" in human
    gained, lost = result["test"]["only_team_right"], result["test"]["only_model_right"]
    assert f"wrong on {gained} cases, and wrong where it is right on {lost}." in human


def test_the_gain_and_its_doubts_are_told(folder):
    test = json.loads(run("evaluate", "model", "cases.csv", "--json").out)["test"]
    human = run("evaluate", "model", "cases.csv").out
    gain = test["team_minus_model"]
    shown = f"{100 * gain['difference']:+.1f}  ({100 * gain['low']:+.1f} to {100 * gain['high']:+.1f})"
    assert f"Team minus model, in points: {shown}; McNemar's p = {gain['p_value']:.2g}." in human
    for expert in test["experts"]:
        ends = [100 * expert[name] for name in ("smooth_error", "smooth_error_low", "smooth_error_high")]
        shown = r"{:.1f} %  \({:.1f} to {:.1f}\)".format(*ends)
        assert re.search(rf"^{expert['name']} .* {shown}$", human, re.MULTILINE)
    notes = [line.removeprefix("note: ") for line in human.splitlines() if line.startswith("note: ")]
    assert notes == test["cautions"]
    assert notes[0] == "32 cases are too few to judge by: look at the intervals."


def test_every_way_of_asking_is_shown_and_one_can_be_chosen(folder):
    result = json.loads(run("evaluate", "model", "cases.csv", "--json").out)["test"]
    human = run("evaluate", "model", "cases.csv").out
    assert (result["ask"], result["questions"]) == ("one", result["ways"]["one"]["questions"])
    for name, words in (("sequential", "asking one after the other"), ("everybody_bayes", "a Bayes vote of everybody")):
        way = result["ways"][name]
        shown = rf"^{words} +{100 * way['accuracy']:.1f} % .* {way['questions']:.2f} +{way['cost']:.3f} "
        assert re.search(shown, human, re.MULTILINE)
    assert "0.01 of an error" in human
    for ask in ("sequential", "panel"):
        chosen = json.loads(run("evaluate", "model", "cases.csv", "--ask", ask, "--json").out)["test"]
        assert chosen["team"]["accuracy"] == result["ways"][ask]["accuracy"] == chosen["kept"]
        assert chosen["questions"] == result["ways"][ask]["questions"]
    wrong = run("evaluate", "model", "cases.csv", "--ask", "everybody")
    assert wrong.code == 2
    assert all(word in wrong.err for word in ("--ask", "everybody", "sequential"))
    assert run("report", "model", "cases.csv", "--ask", "sequential", "--out", "page.html").code == 0
    assert "--ask sequential" in (folder / "page.html").read_text()


def test_the_seed_settles_the_draws(folder):
    told = [run("evaluate", "model", "cases.csv", "--json", "--seed", seed).out for seed in (0, 0, 4)]
    assert told[0] == told[1]
    first, other = (json.loads(text)["test"] for text in told[1:])
    assert first["team"] == other["team"]
    assert first["experts"][0]["smooth_error_high"] != other["experts"][0]["smooth_error_high"]
    assert "Invalid value for '--seed'" in run("evaluate", "model", "cases.csv", "--seed", "-1").err
    assert "Invalid value for '--seed'" in run("evaluate", "model", "cases.csv", "--seed", 2**32).err


def test_two_teams_are_compared_on_rows_that_neither_saw(folder):
    other = ["--label", "truth", "--experts", "dr_b,dr_c", "--features", "age,size_mm,site", "--seed", "2"]
    assert run("fit", "cases.csv", *other, "--out", "other").code == 0
    result = json.loads(run("evaluate", "model", "cases.csv", "--against", "other", "--json").out)
    rival = result["against"][0]
    fresh = {}
    for name, experts in [("model", DOCTORS), ("other", DOCTORS[1:])]:
        router = Team.load(folder / name)
        ask = {"label": "truth", "expert_names": experts, "features": router.facts.columns}
        table = read_cases("cases.csv", **ask).table
        fresh[name] = router, table, held_out(router.all_seen(), row_fingerprints(table.features))
    common = fresh["model"][2] & fresh["other"][2]
    right = {}
    for name, (router, table, _) in fresh.items():
        rows = table.take(common)
        right[name] = router.answer(rows.features, rows.answers, vote="expert").label == rows.labels
    assert 0 < rival["n"] == common.sum() < 32
    assert rival["first"] == pytest.approx(right["model"].mean())
    assert rival["second"] == pytest.approx(right["other"].mean())
    assert rival["only_first"] == (right["model"] & ~right["other"]).sum()
    assert rival["p_value_adjusted"] == rival["p_value"]
    human = run("evaluate", "model", "cases.csv", "--against", "other").out
    difference = f"{100 * rival['difference']:+.1f}  ({100 * rival['low']:+.1f} to {100 * rival['high']:+.1f})"
    assert "On the cases that neither team saw (95 % paired score intervals; McNemar's exact p):" in human
    assert re.search(rf"^other +{rival['n']} .*{re.escape(difference)} +{rival['p_value']:.3g}$", human, re.MULTILINE)
    assert "Holm" not in human


def test_several_comparisons_are_adjusted(folder):
    lesions(300, seed=9).to_csv("fresh.csv", index=False)
    fit = ["--label", "truth", "--experts", "dr_c", "--features", "size_mm", "--alpha", "0.5"]
    assert run("fit", "cases.csv", *fit, "--out", "weak").code == 0
    options = ["--against", "weak", "--against", "model"]
    result = json.loads(run("evaluate", "model", "fresh.csv", *options, "--json").out)
    weak, same = result["against"]
    assert (same["difference"], same["p_value"], same["n"]) == (0, 1, result["test"]["items"])
    assert weak["p_value_adjusted"] == pytest.approx(min(1, 2 * weak["p_value"]))
    human = run("evaluate", "model", "fresh.csv", *options).out
    assert re.search(r"^against +cases +this team +the other +difference, in points +p +p, adjusted$", human, re.M)
    assert human.endswith("The p values are adjusted for being 2 (Holm).\n")


def test_teams_that_cannot_be_compared_are_told(folder, cases):
    cases.assign(biopsy=cases.truth).drop(columns="truth").to_csv("biopsies.csv", index=False)
    other = ["--label", "biopsy", "--experts", "dr_a", "--features", "age"]
    assert run("fit", "biopsies.csv", *other, "--out", "biopsy").code == 0
    lesions(20, seed=9).to_csv("fresh.csv", index=False)
    assert run("evaluate", "model", "fresh.csv", "--against", "biopsy").err == (
        "defero: --against biopsy: was fitted on the label column 'biopsy', model on 'truth'; if one column holds the "
        "truth for both, name it with --label.\n"
    )
    assert run("evaluate", "model", "fresh.csv", "--against", "biopsy", "--label", "truth").code == 0
    shades = cases.replace({"benign": "pale", "malign": "dark"})
    shades.to_csv("shades.csv", index=False)
    assert run("fit", "shades.csv", *FIT, "--out", "shades").code == 0
    assert run("evaluate", "model", "fresh.csv", "--against", "shades").err == (
        "defero: --against shades: has the classes dark, pale, model has benign, malign; only teams with the same "
        "classes can be compared, so fit one of them anew.\n"
    )
    missing = run("evaluate", "model", "fresh.csv", "--against", "none")
    assert (missing.code, missing.out) == (2, "")
    assert "none: no such model folder" in missing.err
    assert run("evaluate", "model", "fresh.csv", "--against", "fresh.csv").err == (
        "defero: fresh.csv: is a file and not a model folder; --against takes a folder that fit wrote.\n"
    )


def test_a_table_without_the_other_teams_columns_is_told(folder, cases):
    fit = ["--label", "truth", "--experts", "dr_d", "--features", "age,site"]
    cases.rename(columns={"dr_c": "dr_d"}).to_csv("others.csv", index=False)
    assert run("fit", "others.csv", *fit, "--out", "other").code == 0
    outcome = run("evaluate", "model", "cases.csv", "--against", "other")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("defero: --against other: cases.csv: no column 'dr_d' for an expert; did you mean")


def test_rows_that_one_of_two_teams_saw_cannot_compare_them(folder, cases):
    cases[~seen_rows(folder)].to_csv("rest.csv", index=False)
    answers, frame = cases[DOCTORS], cases[["age", "size_mm", "site"]]
    half = np.flatnonzero(~seen_rows(folder))
    DeferralClassifier("linear", loss="ova").fit(
        frame.iloc[half], cases.truth.iloc[half], experts=answers.iloc[half]
    ).save("rest")
    outcome = run("evaluate", "model", "cases.csv", "--against", "rest")
    assert (outcome.code, outcome.err) == (
        2,
        "defero: --against rest: no row of cases.csv is new to both model and rest; pass other cases.\n",
    )
    seen = run("evaluate", "model", "rest.csv", "--against", "rest")
    assert seen.err.startswith("defero: --against rest: rest.csv: all 32 rows were seen by fit")


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


def test_what_the_model_decides_where_everybody_can_be_asked_is_what_route_gives_it(folder, cases):
    cases[~seen_rows(folder)].to_csv("rest.csv", index=False)
    result = json.loads(run("evaluate", "model", "rest.csv", "--json").out)["test"]
    run("route", "model", "rest.csv", "--out", "decisions.csv")
    decided = (pd.read_csv("decisions.csv")["route"] == "model").mean()
    assert result["coverage_with_all"] == pytest.approx(decided)
    assert result["coverage"] >= decided
    told = f"it would decide {100 * decided:.1f} % if everybody could be asked, as in route."
    assert told in run("evaluate", "model", "rest.csv").out


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
        (
            {"age": "old"},
            "column age: 'old' (20 cells) is not a number, first in row 2. Correct them, or pass --bad-rows skip",
        ),
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
    DeferralClassifier("linear", loss="ova").fit(frame, cases.truth, experts=answers).save("python")
    assert run("evaluate", "python", "cases.csv").err == (
        "defero: python: was fitted in Python and does not know the label's column; name it with --label.\n"
    )
    assert "all 160 rows were seen by fit" in run("evaluate", "python", "cases.csv", "--label", "truth").err
    DeferralClassifier("linear", loss="ova").fit(cases[["age"]].to_numpy(), cases.truth, experts=answers).save("matrix")
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
        ("none", "none: no such model folder; name the folder that fit or save wrote."),
        ("cut", "cut/weights.safetensors: the model folder is damaged (its checksum is not the one in model.json);"),
        (".", ".: holds no model.json, so it is no model folder; name the folder that fit or save wrote."),
    ]:
        outcome = run(command, name, "cases.csv", *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"defero: {message}")
    assert not (folder / "decisions.csv").exists()


@pytest.mark.parametrize("command", ["evaluate", "route", "report", "add-expert"])
def test_a_table_in_the_place_of_the_model_is_told(folder, command):
    out = {"route": ["--out", "d.csv"], "add-expert": ["--expert", "dr_d", "--out", "more"]}
    outcome = run(command, "cases.csv", "model", *out.get(command, []))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "defero: cases.csv: is a file and not a model folder; the model comes first, then the table of cases.\n"
    )


def test_a_column_that_is_not_used_makes_no_new_case(folder, cases):
    cases.assign(visit="2024-03-01").to_csv("cases.csv", index=False)
    assert run("fit", "cases.csv", *FIT, "--out", "dated").code == 0
    cases.assign(visit="2025-03-01").to_csv("cases.csv", index=False)
    assert run("evaluate", "dated", "cases.csv").out.startswith("128 of 160 rows were seen by fit and are left out.")
