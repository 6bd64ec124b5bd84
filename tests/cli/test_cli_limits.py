"""`defero route` under limits for the whole file, and round by round from a log of answers."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from clinic import DOCTORS, enter, lesions, run

from defero import Team
from defero.data.tables import read as reading
from defero.data.tables.read import read_frame
from defero.decide.terms import Terms

FIRST = ["case", "ask", "label", "p_right", "p_used", "expected_cost", "route", "panel", "model_says", "unusual"]
FIRST += ["p_model"]


@pytest.fixture
def new(tmp_path_factory, tmp_path, monkeypatch):
    """New cases: no label, no answers."""
    enter(tmp_path_factory, tmp_path, monkeypatch)
    table = lesions().drop(columns=[*DOCTORS, "truth"]).assign(age=lambda frame: frame.age + 1)
    table.to_csv("new.csv", index=False)
    return table


def route(*options, out="decisions.csv"):
    return run("route", "model", "new.csv", "--out", out, *options)


def loads(name="decisions.csv"):
    return read_frame(name).route.value_counts().reindex(["model", *DOCTORS], fill_value=0)


def test_capacity_holds_and_the_file_says_whom_to_ask(new):
    assert loads_of_plain() > 12
    outcome = route("--capacity", "dr_b=12", "--capacity", "dr_a=3:8", "--capacity", "all=20")
    assert outcome.code == 0
    decisions, load = read_frame("decisions.csv"), loads()
    assert load["dr_b"] <= 12
    assert 3 <= load["dr_a"] <= 8
    assert load["dr_c"] <= 20
    assert list(decisions.columns) == [*FIRST, *(f"p_{name}" for name in DOCTORS), "reason"]
    asked = decisions.route != "model"
    assert decisions.ask.fillna("").tolist() == decisions.route.where(asked, "").tolist()
    assert decisions.label[~asked].tolist() == decisions.model_says[~asked].tolist()
    assert decisions.label[asked].isna().all()
    assert "One more question" in outcome.err
    batch = Team.load("model").assign(new, terms=Terms(capacity={"dr_b": 12, "dr_a": (3, 8), "dr_c": 20}))
    assert decisions.route.tolist() == batch.name.tolist()
    assert decisions.reason.tolist() == batch.reason


def loads_of_plain():
    route(out="plain.csv")
    return loads("plain.csv")["dr_b"]


def test_shares_budgets_and_absences(new):
    assert route("--at-most-asked", "0.1").code == 0
    assert 0 < loads()[DOCTORS].sum() <= 16
    assert route("--budget", "0.5", "--fee", "dr_b=0.05", "--fee", "dr_a=0.05", "--fee", "dr_c=0.05").code == 0
    assert 0 < loads()[DOCTORS].sum() <= 10
    assert route("--capacity", "dr_a=5", "--absent", "dr_b").code == 0
    assert loads()["dr_b"] == 0


def test_pieces_of_any_size_give_the_same_file(new, monkeypatch):
    route("--capacity", "all=9", out="whole.csv")
    monkeypatch.setattr(reading, "read_chunks", partial(reading.read_chunks, rows=7))
    assert route("--capacity", "all=9", out="pieces.csv").code == 0
    assert read_frame("whole.csv").equals(read_frame("pieces.csv"))


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        (["--capacity", "dr_a=95:80"], ["--capacity", "dr_a", "80 questions", "95"]),
        (["--capacity", "dr_a=90:100", "--at-most-asked", "0.5"], ["--at-most-asked 0.5", "80 questions", "90"]),
        (["--capacity", "all=60:80"], ["160 cases", "180"]),
        (["--capacity", "dr_x=5"], ["--capacity", "dr_x", "dr_a"]),
        (["--capacity", "dr_a"], ["--capacity dr_a", "NAME=MOST"]),
        (["--capacity", "dr_a=-3"], ["--capacity dr_a=-3", "NAME=MOST"]),
        (["--capacity", "dr_a=5", "--capacity", "dr_a=9"], ["--capacity", "dr_a", "two entries"]),
        (["--capacity", "dr_a=5", "--fee", "dr_a=1", "--fee", "dr_a=2"], ["--fee", "dr_a", "two entries"]),
        (["--capacity", "dr_a=few"], ["--capacity dr_a=few", "NAME=MOST"]),
        (["--at-most-asked", "30"], ["--at-most-asked", "30"]),
        (["--budget", "5"], ["--budget", "--fee"]),
        (["--capacity", "dr_a=5", "--unusual", "ask"], ["--unusual ask"]),
    ],
)
def test_what_cannot_be_met_exits_2_and_writes_nothing(new, tmp_path, options, facts):
    outcome = route(*options)
    assert outcome.code == 2
    assert len(outcome.err.strip().splitlines()) == 1
    for fact in facts:
        assert fact in outcome.err
    assert not (tmp_path / "decisions.csv").exists()


def test_round_by_round_every_case_gets_its_label(new):
    truth = lesions()
    log = pd.DataFrame(columns=["case", "expert", "answer"])
    for _ in range(5):
        log.to_csv("log.csv", index=False)
        outcome = route("--answers", "log.csv")
        assert outcome.code == 0, outcome.err
        decisions = read_frame("decisions.csv")
        asked = decisions[decisions.ask.notna()]
        if asked.empty:
            break
        answers = [truth.loc[truth.case == one.case, one.ask].iloc[0] for one in asked.itertuples()]
        answers = ["benign" if pd.isna(one) else one for one in answers]
        more = pd.DataFrame({"case": asked.case, "expert": asked.ask, "answer": answers})
        assert not pd.concat([log, more]).duplicated(["case", "expert"]).any()
        log = pd.concat([log, more])
    assert len(log)
    assert decisions.label.notna().all()
    assert decisions.p_right.between(0, 1).all()
    wide = log.pivot(index="case", columns="expert", values="answer").reindex(new.case, columns=DOCTORS)
    steps = Team.load("model").next_step(new, answers=wide.astype(object).where(wide.notna(), None).to_numpy())
    np.testing.assert_allclose(
        decisions[["p_right", "p_used"]], np.column_stack([steps.p_right, steps.p_used]), atol=1e-6
    )
    assert decisions.label.tolist() == steps.label.tolist()
    load = json.loads(route("--answers", "log.csv", "--json").out)["load"]
    assert load == {"model": 160 - log.case.nunique(), "settled": log.case.nunique(), **dict.fromkeys(DOCTORS, 0)}
    heard = decisions.case.isin(log.case)
    assert decisions.route.tolist() == ["settled" if one else "model" for one in heard]
    for row in decisions[heard].itertuples():
        for one in log[log.case == row.case].itertuples():
            assert f"{one.expert} ({one.answer})" in row.reason
    assert f"settled: {log.case.nunique()}" in route("--answers", "log.csv").out


def test_a_later_answer_of_the_same_person_wins(new):
    rows = [("P0001", "dr_a", "benign"), ("P0002", "dr_a", "benign"), ("P0001", "dr_a", "malign")]
    pd.DataFrame(rows, columns=["case", "expert", "answer"]).to_csv("log.csv", index=False)
    pd.DataFrame(rows[1:], columns=["case", "expert", "answer"]).to_csv("last.csv", index=False)
    for log in ("log", "last"):
        assert route("--answers", f"{log}.csv", out=f"{log}_decisions.csv").code == 0
    assert read_frame("log_decisions.csv").equals(read_frame("last_decisions.csv"))


@pytest.mark.parametrize(
    ("row", "facts"),
    [
        (("P0001", "dr_z", "benign"), ["--answers", "dr_z"]),
        (("P9999", "dr_a", "benign"), ["log.csv", "P9999"]),
        (("P0001", "dr_a", "odd"), ["log.csv", "odd", "benign"]),
    ],
)
def test_an_unknown_name_case_or_answer_exits_2(new, tmp_path, row, facts):
    pd.DataFrame([row], columns=["case", "expert", "answer"]).to_csv("log.csv", index=False)
    outcome = route("--answers", "log.csv")
    assert outcome.code == 2
    for fact in facts:
        assert fact in outcome.err
    assert not (tmp_path / "decisions.csv").exists()


@pytest.mark.parametrize(
    "limits",
    [
        ["--capacity", "dr_b=12", "--capacity", "dr_a=2:8"],
        ["--budget", "1.2", "--fee", "all=0.05"],
        ["--at-most-asked", "0.1"],
        ["--at-most-asked", "0.1", "--capacity", "all=12", "--budget", "0.5", "--fee", "all=0.02", "--absent", "dr_b"],
    ],
)
def test_limits_hold_over_all_rounds(new, limits):
    """The same command in every round: the answers so far count toward the limits."""
    truth, log = lesions().set_index("case"), pd.DataFrame(columns=["case", "expert", "answer"])
    for _ in range(6):
        log.to_csv("log.csv", index=False)
        outcome = route("--answers", "log.csv", *limits)
        assert outcome.code == 0, outcome.err
        decisions = read_frame("decisions.csv")
        asked = decisions[decisions.ask.notna()]
        if asked.empty:
            break
        answers = [truth.truth[one.case] for one in asked.itertuples()]
        log = pd.concat([log, pd.DataFrame({"case": asked.case, "expert": asked.ask, "answer": answers})])
        assert not log.duplicated(["case", "expert"]).any()
    assert asked.empty
    load = log.expert.value_counts().reindex(DOCTORS, fill_value=0)
    assert len(log)
    if "dr_b=12" in limits:
        assert load["dr_b"] <= 12
        assert 2 <= load["dr_a"] <= 8
        assert decisions.reason.str.contains("capacity of dr_b is used up").any()
    if "1.2" in limits:
        assert len(log) <= 24
        assert decisions.reason.str.contains("budget is used up").any()
    if "--at-most-asked" in limits:
        assert log.case.nunique() <= 16
        assert decisions.reason.str.contains("used up").any()
    if "--absent" in limits:
        assert load["dr_b"] == 0


def test_the_columns_of_a_log_are_found_or_named(new):
    log = pd.DataFrame([("P0001", "dr_a", "benign"), ("P0002", "dr_a", "")], columns=["case", "who", "answer"])
    log.to_csv("log.csv", index=False)
    outcome = route("--answers", "log.csv")
    assert outcome.code == 2
    assert "--expert" in outcome.err
    named = route("--answers", "log.csv", "--expert", "who", "--item", "case", "--answer", "answer")
    assert named.code == 0, named.err
    assert "log.csv: 1 row without an answer" in named.err
    assert read_frame("decisions.csv").set_index("case").reason["P0001"].count("dr_a (benign)") <= 1


def test_evaluate_shows_the_team_under_limits_and_refuses_an_unknown_name(tmp_path_factory, tmp_path, monkeypatch):
    enter(tmp_path_factory, tmp_path, monkeypatch)
    lesions().assign(age=lambda frame: frame.age + 1).to_csv("more.csv", index=False)
    limits = ["--capacity", "all=5", "--at-most-asked", "0.1"]
    outcome = run("evaluate", "model", "more.csv", "--json", *limits)
    assert outcome.code == 0
    assert max(json.loads(outcome.out)["limits"]["load"].values()) <= 5
    assert "Under the limits the team is right on" in run("evaluate", "model", "more.csv", *limits).out
    wrong = run("evaluate", "model", "more.csv", "--capacity", "dr_x=5")
    assert wrong.code == 2
    assert "--capacity" in wrong.err
    assert "dr_x" in wrong.err
