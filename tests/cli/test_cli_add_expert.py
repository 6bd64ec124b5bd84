"""`defero add-expert`: a new model with one more expert; the old one, and a wrong input's target, stay as they are."""

import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run

from defero import DeferralClassifier, ModelOnly, Team

JOIN = ["--expert", "dr_d", "--out", "more"]


def newcomers(n=80, *, seed=9, share=0.75):
    """Return new cases, most of which dr_d answered, nine of ten right."""
    rng = np.random.default_rng(seed)
    fresh = lesions(n, seed=seed)
    wrong = fresh.truth.map({"benign": "malign", "malign": "benign"})
    said = fresh.truth.where(rng.random(n) < 0.9, wrong)
    return fresh.assign(dr_d=said.where(rng.random(n) < share))


def contents(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    entered = enter(tmp_path_factory, tmp_path, monkeypatch)
    newcomers().to_csv("new.csv", index=False)
    return entered


def test_the_expert_joins_a_copy_of_the_model(folder):
    before = contents(folder / "model")
    outcome = run("add-expert", "model", "new.csv", *JOIN)
    assert (outcome.code, outcome.err) == (0, "")
    assert contents(folder / "model") == before
    old, new = Team.load("model"), Team.load("more")
    assert new.expert_names == ("dr_a", "dr_b", "dr_c", "dr_d")
    table = newcomers()
    answered = table.dr_d.notna()
    assert new.answer_counts[3] == answered.sum()
    scores = new.scores(table)
    np.testing.assert_allclose(scores.expert_proba[:, :3], old.scores(table).expert_proba, rtol=1e-12)
    right = (table.dr_d == table.truth).sum()
    assert outcome.out.startswith(
        f"dr_d joins dr_a, dr_b, dr_c: {answered.sum()} answers to the 80 cases of new.csv, {right} of them right "
        f"({100 * right / answered.sum():.1f} %).\n"
    )
    mean, sd = scores.expert_proba[:, 3].mean(), new.expert_sd(table)[:, 3].mean()
    assert f"Their mean P(right) on these cases: {mean:.2f} (standard deviation {sd:.2f}). Without any" in outcome.out
    assert "They can be asked from now on." in outcome.out
    assert (
        f"\nThe cases that they answered ({answered.sum()}) count as used now: evaluate and report leave them out. "
        "Keep other answers of dr_d for the test.\n" in outcome.out
    )
    assert "All their answers were right" not in outcome.out
    assert "The panels are dropped" in outcome.out
    assert outcome.out.endswith("Saved in more. Next: defero route more NEW_CASES --out decisions.csv\n")


def test_json_says_the_same(folder):
    told = json.loads(run("add-expert", "model", "new.csv", *JOIN, "--json").out)
    human = run("add-expert", "model", "new.csv", *JOIN).out
    assert (told["model"], told["expert"], told["rows"]) == ("more", "dr_d", 80)
    assert f"{told['answers']} answers to the 80 cases of new.csv, {told['right']} of them right" in human
    for who in ("believed", "population"):
        assert f"{told[who]['mean']:.2f} (standard deviation {told[who]['sd']:.2f})" in human
    assert told["population"]["sd"] > told["believed"]["sd"]
    assert (told["panel_dropped"], told["notes"]) == (True, [])


def test_the_commands_go_on_with_the_new_team(folder):
    assert run("add-expert", "model", "new.csv", *JOIN).code == 0
    outcome = run("evaluate", "more", "new.csv")
    answered = newcomers().dr_d.notna().sum()
    assert outcome.out.startswith(f"{answered} of 80 rows were seen by fit or add-expert and are left out.")
    assert re.search(r"^dr_d ", outcome.out, re.MULTILINE)
    newcomers(seed=11).to_csv("later.csv", index=False)
    assert "On 80 held-out cases" in run("evaluate", "more", "later.csv").out
    assert run("route", "more", "later.csv", "--out", "decisions.csv").code == 0
    assert "p_dr_d" in pd.read_csv("decisions.csv").columns
    again = run("add-expert", "more", "later.csv", "--expert", "dr_e", "--answer", "dr_d", "--out", "most")
    assert again.out.startswith("dr_e joins dr_a, dr_b, dr_c, dr_d: ")


def test_a_table_from_before_the_newcomer_is_judged_without_their_answers(folder):
    assert run("add-expert", "model", "new.csv", *JOIN).code == 0
    fresh = lesions(80, seed=21)
    fresh.to_csv("before.csv", index=False)
    fresh.assign(dr_d=None).to_csv("empty.csv", index=False)
    told, same = (json.loads(run("evaluate", "more", table, "--json").out) for table in ("before.csv", "empty.csv"))
    assert told["test"] == same["test"]
    assert told["notes"][0] == "before.csv: no column dr_d; joined after fit, so read as no answers of theirs."
    assert told["notes"][1:] == same["notes"]
    assert f"note: {told['notes'][0]}\n" in run("report", "more", "before.csv").err
    again = ["--expert", "dr_e", "--answer", "dr_d", "--out", "most"]
    assert run("add-expert", "more", "new.csv", *again).code == 0
    assert "no columns dr_d, dr_e; joined after fit" in run("evaluate", "most", "before.csv").err
    fresh.drop(columns="dr_b").to_csv("before.csv", index=False)
    assert "no column 'dr_b' for an expert; did you mean 'dr_" in run("evaluate", "more", "before.csv").err


def test_whoever_joined_in_python_is_remembered_as_well(folder):
    assert run("add-expert", "model", "new.csv", *JOIN).code == 0
    more = Team.load("more")
    assert more.facts.joined == ("dr_d",)
    table = newcomers(seed=31)
    with pytest.warns(UserWarning, match="drops the panel"):
        joined = Team.load("model").add_expert("dr_x", table, table.truth, table.dr_d)
    joined.save("python")
    lesions(80, seed=21).to_csv("before.csv", index=False)
    assert "no column dr_x; joined after fit" in run("evaluate", "python", "before.csv").err
    assert joined.rename_expert("dr_x", "dr_y").facts.joined == ("dr_y",)
    assert more.remove_expert("dr_d").facts.joined == ()


def test_a_model_in_the_way_is_replaced_and_that_is_said(folder):
    assert run("add-expert", "model", "new.csv", *JOIN).err == ""
    assert run("add-expert", "model", "new.csv", *JOIN).err == (
        "note: more: there was a model already; the new one has replaced it.\n"
    )


def test_an_expert_who_answered_nothing_is_the_population(folder):
    newcomers(share=0).to_csv("new.csv", index=False)
    outcome = run("add-expert", "model", "new.csv", *JOIN)
    assert outcome.code == 0
    assert "0 answers to the 80 cases of new.csv.\n" in outcome.out
    told = json.loads(run("add-expert", "model", "new.csv", *JOIN, "--json").out)
    assert told["believed"] == told["population"]
    fresh = lesions(50, seed=3)
    assert np.array_equal(Team.load("more").decide(fresh).expert, Team.load("model").decide(fresh).expert)


def test_an_expert_who_is_always_right_is_told(folder):
    fresh = lesions(40, seed=9)
    fresh.assign(dr_d=fresh.truth).to_csv("new.csv", index=False)
    outcome = run("add-expert", "model", "new.csv", *JOIN)
    assert outcome.code == 0
    assert (
        "\nAll their answers were right, so dr_d may get most of the work: judge them on others first.\n" in outcome.out
    )
    assert outcome.err.startswith("note: all 40 answers of dr_d are right. The model shrinks dr_d toward the average")
    assert json.loads(run("add-expert", "model", "new.csv", *JOIN, "--json").out)["notes"][0].startswith("all 40 answ")


def test_one_answer_is_one(folder):
    table = newcomers()
    table.assign(dr_d=table.truth.where(table.index == 3)).to_csv("new.csv", index=False)
    outcome = run("add-expert", "model", "new.csv", *JOIN)
    assert "dr_c: 1 answer to the 80 cases of new.csv, 1 of them right" in outcome.out
    assert "\nThe cases that they answered (1) count as used now: evaluate" in outcome.out
    assert "All their answers were right" not in outcome.out


def test_long_answers_of_one_person(folder):
    table = newcomers()
    table.drop(columns=[*DOCTORS, "dr_d"]).to_csv("items.csv", index=False)
    log = table.melt("case", ["dr_a", "dr_d"], "eyes", "said").dropna()
    log.to_csv("log.csv", index=False)
    names = ["--item", "case", "--expert-column", "eyes", "--answer", "said", "--key", "case"]
    long = run("add-expert", "model", "items.csv", "--answers", "log.csv", *names, *JOIN, "--json")
    assert (long.code, long.err) == (0, "")
    wide = json.loads(run("add-expert", "model", "new.csv", "--expert", "dr_d", "--out", "wide", "--json").out)
    told = json.loads(long.out)
    for key in ("rows", "answers", "right"):
        assert told[key] == wide[key]
    assert told["believed"] == pytest.approx(wide["believed"])
    assert told["notes"] == ["log.csv: answers of 1 other expert are not used."]
    np.testing.assert_allclose(
        Team.load("more").scores(table).expert_raw, Team.load("wide").scores(table).expert_raw, rtol=1e-9
    )
    bare = run("add-expert", "model", "items.csv", "--answers", "log.csv", "--expert", "dr_z", "--out", "no", *names)
    assert bare.err.startswith("defero: log.csv: no answer of the expert 'dr_z'")
    strange = run("add-expert", "model", "items.csv", "--answers", "log.csv", *JOIN, "--item", "case")
    assert strange.code == 2
    assert "name it with --expert-column. The columns are case, eyes, said." in strange.err


def without(*columns):
    return lambda table: table.drop(columns=list(columns))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            None,
            ["--expert", "dr_a"],
            "--expert: there is an expert 'dr_a' already; choose another name. More answers of theirs",
        ),
        (None, ["--expert", "model"], "--expert must not be 'model': that word names the model"),
        (None, ["--expert", " "], "--expert must not be blank, got ' '."),
        (None, ["--expert", "dr_x"], "new.csv: no column 'dr_x' for an expert"),
        (without("truth"), [], "new.csv: no column 'truth' for the label"),
        (without("site"), [], "new.csv: no column 'site' for a feature"),
        (lambda table: table.assign(truth=None), [], "new.csv: column truth: no row has a label; fill it in"),
        (lambda table: table.assign(dr_d="odd"), [], "new.csv: row 2, column dr_d: answer 'odd' is not one of benign"),
        (lambda table: table.assign(truth="odd"), [], "new.csv: row 2, column truth: label 'odd' is not one of benign"),
        (lambda table: table.assign(age="old"), [], "new.csv: row "),
        (None, ["--out", "model"], "--out model: is the model itself, which stays as it is; choose another name."),
        (None, ["--out", "."], ".: exists and is no model folder; choose another name, it was left as it is."),
        (None, ["--out", "nowhere/more"], "nowhere/more: the folder"),
    ],
)
def test_wrong_input_is_told_and_changes_nothing(folder, change, options, message):
    if change is not None:
        change(newcomers()).to_csv("new.csv", index=False)
    before = contents(folder)
    chosen = {"--expert": "dr_d", "--out": "more", **dict(zip(options[::2], options[1::2], strict=True))}
    outcome = run("add-expert", "model", "new.csv", *(word for pair in chosen.items() for word in pair))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"defero: {message}")
    other_files = {path: content for path, content in contents(folder).items() if not path.endswith("new.rename.csv")}
    assert other_files == before


def test_models_that_nobody_can_join_are_told(folder):
    table = lesions()
    answers, frame = table[DOCTORS], table[["age", "site"]]
    ModelOnly().fit(frame, table.truth, experts=answers).save("alone")
    DeferralClassifier("linear", loss="ova").fit(table[["age"]].to_numpy(), table.truth, experts=answers).save("matrix")
    DeferralClassifier("linear", loss="ova").fit(frame, table.truth, experts=answers).save("python")
    for model, message in {
        "alone": "add_expert: this model (two-stage) was made without the population of its experts",
        "matrix": "matrix: was fitted on a matrix, not on a table; call its add_expert in Python.",
        "python": "new.csv: without labels nobody can say which answers are right; name the column with the truth with",
    }.items():
        options = ["--label", "truth"] if model == "alone" else []
        outcome = run("add-expert", model, "new.csv", *JOIN, *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"defero: {message}")
    assert not (folder / "more").exists()
    assert run("add-expert", "python", "new.csv", *JOIN, "--label", "truth").code == 0


def test_groups_of_the_newcomers_cases_count_as_seen(folder):
    table = lesions().assign(patient=[f"p{i // 2}" for i in range(160)])
    table.to_csv("cases.csv", index=False)
    assert run("fit", "cases.csv", *FIT, "--group", "patient", "--out", "grouped").code == 0
    fresh = newcomers(share=1.1).assign(patient=[f"q{i // 2}" for i in range(80)])
    fresh.iloc[::2].to_csv("new.csv", index=False)
    assert run("add-expert", "grouped", "new.csv", *JOIN).code == 0
    fresh.to_csv("all.csv", index=False)
    told = run("evaluate", "more", "all.csv").err
    assert "rows were seen by fit or add-expert, or are of a patient that it saw" in told


def test_help_has_an_example():
    assert "defero add-expert model new_cases.csv --expert dr_d --out model_with_d" in run("add-expert", "--help").out


def test_new_panels_are_found_on_other_cases(folder):
    newcomers(seed=41).to_csv("panels.csv", index=False)
    outcome = run("add-expert", "model", "new.csv", *JOIN, "--panels", "panels.csv")
    assert outcome.code == 0, outcome.err
    assert "The panels are new" in outcome.out
    assert Team.load("more").panel is not None
    told = json.loads(run("add-expert", "model", "new.csv", *JOIN, "--panels", "panels.csv", "--json").out)
    assert (told["panel_dropped"], told["new_panels"]) == (False, True)
    newcomers(seed=51).to_csv("later.csv", index=False)
    assert json.loads(run("route", "more", "later.csv", "--out", "decisions.csv", "--json").out)["promise_holds"]
    newcomers().dropna(subset="dr_d").to_csv("same.csv", index=False)
    refused = run("add-expert", "model", "new.csv", *JOIN, "--panels", "same.csv")
    assert refused.code == 2
    assert "same.csv" in refused.err
    assert "pass other cases" in refused.err
