"""`defero route`: who decides each row, in any format, whatever the order of columns or the size of the pieces."""

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run

from defero import Team
from defero.data.tables import read as reading
from defero.data.tables.read import read_frame
from defero.data.tables.write import write_decisions
from defero.study.routing.decisions import blank_where
from defero.team.panel import with_decider

PROBABILITIES = ["p_model", "p_dr_a", "p_dr_b", "p_dr_c"]
COLUMNS = ["case", "ask", "label", "p_right", "p_used", "expected_cost", "route", "panel", "model_says", "unusual"]
COLUMNS += [*PROBABILITIES, "reason"]


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


@pytest.fixture
def new(folder):
    """New cases: no label, no answers."""
    table = lesions().drop(columns=[*DOCTORS, "truth"]).assign(age=lambda frame: frame.age + 1)
    table.to_csv("new.csv", index=False)
    return table


def route(table="new.csv", *options, out="decisions.csv"):
    return run("route", "model", table, "--out", out, *options)


def test_every_row_gets_a_decision(new):
    outcome = route()
    decisions = read_frame("decisions.csv")
    assert outcome.code == 0
    assert list(decisions.columns) == COLUMNS
    assert decisions["case"].tolist() == new["case"].tolist()
    team = Team.load("model")
    decision = team.decide(new)
    assert decisions.route.tolist() == decision.name.tolist()
    assert decisions.reason.tolist() == decision.reason
    np.testing.assert_allclose(decisions.p_dr_b, team.scores(new).expert_proba[:, 1], atol=1e-6)
    np.testing.assert_allclose(decisions.expected_cost, decision.expected_cost, atol=1e-6)
    heard = with_decider(team.predict_set(new), decision)
    panels = ["; ".join(name for name, on in zip(DOCTORS, row, strict=True) if on) for row in heard]
    assert all(who in panel for who, panel in zip(decision.name, panels, strict=True) if who != "model")
    assert decisions.panel.fillna("").tolist() == panels
    assert decisions.model_says.tolist() == team.predict(new).tolist()
    asked = decisions.route != "model"
    assert decisions.ask.fillna("").tolist() == decisions.route.where(asked, "").tolist()
    assert decisions.label.fillna("").tolist() == decisions.model_says.where(~asked, "").tolist()
    for name in ("p_right", "p_used"):
        assert decisions[name].fillna(-1).tolist() == decisions.p_model.where(~asked, -1).tolist()
    for name in ("model", *DOCTORS):
        n = int((decision.name == name).sum())
        assert f"  {name}: {n} ({100 * (n / 160):.1f} %)\n" in outcome.out
    blank = int(new.size_mm.isna().sum())
    assert outcome.err == f"note: blank cells, filled with the training median: size_mm in {blank} rows.\n"


def test_json_says_what_the_table_says(new):
    human, result = route().out, json.loads(route("new.csv", "--json").out)
    assert (result["rows"], result["decisions"], result["ignored_columns"]) == (160, "decisions.csv", [])
    assert sum(result["load"].values()) == 160
    for name in ("model", *DOCTORS):
        assert f"  {name}: {result['load'][name]} (" in human


def test_the_order_of_the_columns_does_not_matter(folder, new):
    route(out="plain.csv")
    new[["site", "size_mm", "case", "age"]].to_csv("turned.csv", index=False)
    route("turned.csv", out="turned_decisions.csv")
    assert (folder / "plain.csv").read_bytes() == (folder / "turned_decisions.csv").read_bytes()


def test_pieces_of_any_size_give_the_same_file(folder, new, monkeypatch):
    outcome = route(out="whole.csv")
    for rows in (1, 7, 160):
        monkeypatch.setattr(reading, "read_chunks", functools.partial(reading.read_chunks, rows=rows))
        pieces = route(out="pieces.csv")
        assert (folder / "pieces.csv").read_bytes() == (folder / "whole.csv").read_bytes()
        assert pieces.err == outcome.err
        assert pieces.out == outcome.out.replace("whole.csv", "pieces.csv")
        monkeypatch.undo()
        monkeypatch.chdir(folder)


def test_a_wrong_cell_in_a_later_piece_is_told_with_its_row(folder, new, monkeypatch):
    new.astype({"age": object}).assign(age=lambda t: t.age.mask(t.index == 98, "old")).to_csv("new.csv", index=False)
    monkeypatch.setattr(reading, "read_chunks", functools.partial(reading.read_chunks, rows=10))
    outcome = route()
    assert (outcome.code, outcome.out) == (2, "")
    assert "new.csv: row 100, column age: 'old' is not a number" in outcome.err
    assert not (folder / "decisions.csv").exists()


@pytest.mark.parametrize("ending", ["tsv", "jsonl", "parquet", "csv.gz"])
def test_decisions_in_every_format_say_the_same(new, ending):
    route()
    assert route(out=f"decisions.{ending}").code == 0
    plain, other = read_frame("decisions.csv"), read_frame(f"decisions.{ending}")
    for blank in ("ask", "label", "panel", "unusual"):
        plain[blank], other[blank] = plain[blank].astype(object).fillna(""), other[blank].astype(object).fillna("")
    pd.testing.assert_frame_equal(plain, other, check_dtype=False)


@pytest.mark.parametrize("ending", ["tsv", "jsonl", "parquet"])
def test_tables_in_every_format_are_decided_alike(folder, new, ending):
    route(out="plain.csv")
    if ending == "tsv":
        new.to_csv("new.tsv", sep="\t", index=False)
    elif ending == "jsonl":
        new.to_json("new.jsonl", orient="records", lines=True)
    else:
        new.to_parquet("new.parquet", index=False)
    route(f"new.{ending}", out="other.csv")
    assert (folder / "plain.csv").read_bytes() == (folder / "other.csv").read_bytes()


def test_a_missing_column_is_told_with_the_nearest_name(new):
    new.rename(columns={"site": "sites"}).to_csv("new.csv", index=False)
    outcome = route()
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "defero: new.csv: no column 'site', which training had; did you mean 'sites'?\n"


def test_an_extra_column_is_ignored_and_said(folder, new):
    route(out="plain.csv")
    new.assign(ward="7b", nurse="kim").to_csv("new.csv", index=False)
    outcome = route(out="extra.csv")
    assert "note: columns that the model does not know are ignored: ward, nurse.\n" in outcome.err
    assert (folder / "plain.csv").read_bytes() == (folder / "extra.csv").read_bytes()
    assert json.loads(route("new.csv", "--json").out)["ignored_columns"] == ["ward", "nurse"]


def test_columns_of_the_past_are_no_extra_columns(folder):
    assert "ignored" not in route("cases.csv").err


def test_a_new_category_is_said(new):
    new.assign(site=new.site.mask(new.index < 3, "knee")).to_csv("new.csv", index=False)
    assert "note: site: a category never seen in training, in 3 rows.\n" in route().err


def test_without_a_key_rows_are_numbered_as_in_the_file(new):
    new.drop(columns="case").to_csv("new.csv", index=False)
    assert route().code == 0
    assert read_frame("decisions.csv")["case"].tolist() == list(range(2, 162))


def test_another_key_can_be_named(new):
    new.assign(patient=[f"00{number}" for number in range(160)]).to_csv("new.csv", index=False)
    assert route("new.csv", "--key", "patient").code == 0
    assert read_frame("decisions.csv", as_text=["case"])["case"].tolist()[:2] == ["000", "001"]
    missing = route("new.csv", "--key", "patent")
    assert (missing.code, missing.out) == (2, "")
    assert "new.csv: no column 'patent' for the key; did you mean 'patient'?" in missing.err
    new.drop(columns="case").to_csv("keyless.csv", index=False)
    assert "keyless.csv: no column 'case' for the key" in route("keyless.csv", "--key", "case").err
    new.assign(route="north").to_csv("new.csv", index=False)
    assert route("new.csv", "--key", "route").code == 0
    assert set(read_frame("decisions.csv")["case"]) == {"north"}


def test_fees_and_absences_enter_here(new):
    plain = json.loads(route("new.csv", "--json").out)["load"]
    assert min(plain.values()) > 0
    dear = json.loads(route("new.csv", "--json", "--fee", "dr_a=1.5").out)["load"]
    assert dear["dr_a"] == 0
    away = json.loads(route("new.csv", "--json", "--absent", "dr_a").out)["load"]
    assert away == dear
    both = json.loads(route("new.csv", "--json", "--absent", "dr_a", "--absent", "dr_b").out)["load"]
    assert (both["dr_a"], both["dr_b"]) == (0, 0)
    route("new.csv", *(word for name in DOCTORS for word in ("--absent", name)))
    decisions = read_frame("decisions.csv")
    assert set(decisions.route) == {"model"}
    assert set(decisions.reason) == {"no expert available"}


FEES = "other fees than in fit (fit with --fee dr_a=0.1 for panels that keep it)"
ABSENT = "absent experts (fit without them for panels that keep it)"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--fee", "dr_a=0.1"], FEES),
        (["--absent", "dr_b"], ABSENT),
        (["--fee", "dr_a=0.1", "--absent", "dr_b"], f"{FEES} and {ABSENT}"),
    ],
)
def test_what_voids_the_promise_is_said_once_with_what_to_do(new, options, why, monkeypatch):
    monkeypatch.setattr(reading, "read_chunks", functools.partial(reading.read_chunks, rows=50))
    said = f"the panels' promise does not hold with {why}."
    assert route("new.csv", *options).err.count("promise") == 1
    assert f"note: {said}\n" in route("new.csv", *options).err
    told = json.loads(route("new.csv", *options, "--json").out)
    about_promise = [one for one in told["cautions"] if "have no fee" not in one]
    assert (told["promise_holds"], about_promise) == (False, [said])
    plain = json.loads(route("new.csv", "--json").out)
    assert (plain["promise_holds"], plain["cautions"]) == (True, [])


def test_fees_that_are_left_out_again_are_said(folder, new):
    assert run("fit", "cases.csv", *FIT, "--fee", "dr_a=0.2", "--out", "dear").code == 0
    outcome = run("route", "dear", "new.csv", "--out", "d.csv", "--fee", "dr_a=0")
    assert "with other fees than in fit (fit without --fee for panels that keep it)." in outcome.err


@pytest.mark.parametrize("rows", [7, 160])
def test_doubt_stands_beside_each_probability(folder, new, monkeypatch, rows):
    assert run("fit", "cases.csv", *FIT, "--net", "auto", "--out", "model").code == 0
    route(out="plain.csv")
    monkeypatch.setattr(reading, "read_chunks", functools.partial(reading.read_chunks, rows=rows))
    outcome = route("new.csv", "--uncertainty")
    assert outcome.code == 0
    told = read_frame("decisions.csv")
    each = [word for name in DOCTORS for word in (f"p_{name}", f"sd_{name}")]
    first = COLUMNS.index("p_dr_a")
    assert list(told.columns) == [*COLUMNS[:first], *each, COLUMNS[-1]]
    found = Team.load("model").expert_sd(new)
    assert (found > 0).all()
    np.testing.assert_allclose(told[[f"sd_{name}" for name in DOCTORS]], found, atol=1e-6)
    pd.testing.assert_frame_equal(told[COLUMNS], read_frame("plain.csv"))
    assert "no standard deviations" not in outcome.err


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_doubt_that_nobody_knows_is_blank_and_said(folder, new, ending):
    outcome = run("route", "model", "new.csv", "--out", f"d.{ending}", "--uncertainty")
    assert outcome.code == 0
    why = "this model does not know its experts by their skill; fit with --net auto."
    assert f"note: no standard deviations: {why}\n" in outcome.err
    assert read_frame(f"d.{ending}").sd_dr_a.isna().all()


@pytest.mark.parametrize(
    "arguments", [["evaluate", "model", "cases.csv"], ["route", "model", "new.csv", "--out", "d.csv"]]
)
def test_a_reader_who_has_had_enough_is_no_error(folder, new, arguments):
    """As in `defero ... | head`: the pipe is closed before anything is written to it."""
    there, here = os.pipe()
    os.close(there)
    with os.fdopen(here, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "defero", *arguments], stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 0
    assert "pipe" not in done.stderr.lower()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fee", "dr_x=1"], "--fee: no expert dr_x; did you mean 'dr_c'? There are dr_a, dr_b, dr_c."),
        (["--fee", "dr_a=-1"], "--fee dr_a=-1: a fee must not be negative."),
        (["--fee", "dr_a"], "--fee dr_a: expected NAME=MONEY with a number, such as dr_a=0.05, or"),
        (["--fee", "dr_a=much"], "--fee dr_a=much: expected NAME=MONEY with a number, such as dr_a=0.05, or"),
        (["--fee", "dr_a=nan"], "--fee dr_a=nan: the fee must be finite; to rule an expert out pass --absent dr_a."),
        (["--absent", "dr_x"], "--absent dr_x: no such expert; did you mean 'dr_c'? The model knows dr_a, dr_b, dr_c."),
        (["--control", "dx"], "--control dx: is a question of a Label Studio export, and new.csv is read as table"),
        (["--out", "new.csv"], "--out new.csv: is the table of cases itself; choose another name."),
        (["--out", "d.xlsx"], "d.xlsx: the ending of the name is no table format; the known endings are .csv,"),
        (["--out", "no/d.csv"], "no/d.csv: the folder no does not exist; make it first."),
    ],
)
def test_a_wrong_option_is_told(folder, new, options, message):
    before = (folder / "new.csv").read_bytes()
    outcome = run("route", "model", "new.csv", "--out", "d.csv", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"defero: {message}")
    assert sorted(path.name for path in folder.iterdir()) == ["cases.csv", "model", "new.csv"]
    assert (folder / "new.csv").read_bytes() == before


@pytest.mark.parametrize("rows", [7, 50_000])
def test_keys_that_stand_in_several_rows_are_said(folder, new, monkeypatch, rows):
    monkeypatch.setattr(reading, "read_chunks", functools.partial(reading.read_chunks, rows=rows))
    assert "a key that" not in route().err
    new.assign(case=[f"{i // 2:03d}" for i in range(len(new))]).to_csv("new.csv", index=False)
    said = "column case: 80 rows with a key that an earlier row has too; each row has a decision."
    assert f"note: {said}\n" in route().err
    assert said in json.loads(route("new.csv", "--key", "case", "--json").out)["cautions"]
    new.assign(case=["P1", "P1", None, None, *new.case[4:]]).to_csv("new.csv", index=False)
    assert "note: column case: 1 row with a key that an earlier" in route().err


def test_an_empty_table_is_told(folder):
    (folder / "new.csv").write_text("")
    assert route().err == "defero: new.csv: is empty.\n"
    (folder / "new.csv").write_text("age,site,size_mm\n")
    assert route().err == "defero: new.csv: has a header but no rows.\n"


def test_all_of_the_panel_are_asked(new):
    route(out="one.csv")
    assert route("new.csv", "--ask", "panel").code == 0
    one, panel = read_frame("one.csv"), read_frame("decisions.csv")
    assert panel.ask.fillna("").tolist() == one.panel.fillna("").tolist()
    pd.testing.assert_frame_equal(panel.drop(columns="ask"), one.drop(columns="ask"))


def test_asking_in_turn_begins_with_the_first_question(new):
    outcome = route("new.csv", "--ask", "sequential")
    assert outcome.code == 0
    assert "a question costs 0.01 of an error; --fee sets what it costs." in outcome.err
    decisions, steps = read_frame("decisions.csv"), Team.load("model").next_step(new)
    assert decisions.ask.fillna("").tolist() == ["" if j < 0 else DOCTORS[j] for j in steps.ask]
    np.testing.assert_allclose(decisions.expected_cost, steps.expected_cost, atol=1e-6)
    pd.DataFrame(columns=["case", "expert", "answer"]).to_csv("log.csv", index=False)
    assert route("new.csv", "--answers", "log.csv", out="first_round.csv").code == 0
    pd.testing.assert_frame_equal(read_frame("first_round.csv"), decisions)


def test_asking_in_turn_keeps_limits(new):
    assert route("new.csv", "--ask", "sequential", "--capacity", "all=7").code == 0
    decisions = read_frame("decisions.csv")
    assert decisions.ask.dropna().value_counts().max() == 7
    assert (decisions.label.notna() == decisions.ask.isna()).all()


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        (["--ask", "panl"], "--ask must be one of one, sequential, panel, got 'panl'; did you mean 'panel'?"),
        (["--ask", "panel", "--capacity", "all=7"], "--ask panel: limits are for single questions"),
        (
            ["--ask", "one", "--answers", "log.csv"],
            "--ask one: with --answers cases are asked about one after the other",
        ),
        (["--ask", "sequential", "--unusual", "ask"], "--unusual ask gives cases to experts whatever it costs"),
    ],
)
def test_ways_of_asking_that_cannot_be_had(folder, new, options, facts):
    pd.DataFrame(columns=["case", "expert", "answer"]).to_csv("log.csv", index=False)
    outcome = route("new.csv", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert facts in outcome.err
    assert not (folder / "decisions.csv").exists()


@pytest.mark.parametrize(
    ("labels", "written"), [(np.array([7, 8]), [None, 8]), (np.array([True, False]), [None, False])]
)
def test_labels_that_are_no_text_keep_their_type_in_parquet(tmp_path, labels, written):
    with write_decisions(tmp_path / "decisions.parquet") as decisions:
        for asked in ([True, True], [True, False]):
            decisions.write({"label": blank_where(np.array(asked), labels)})
    assert pq.read_table(tmp_path / "decisions.parquet")["label"].to_pylist() == [None, None, *written]
