"""A case unlike those that were learned from: marked, of bounded certainty, and on request given to a person."""

import json

import pandas as pd
import pytest
from clinic import DOCTORS, enter, lesions, run

from defero import Study, Team

NEW = lesions(6, seed=20).drop(columns=[*DOCTORS, "truth"])
NEW.loc[:1, "age"] = 9999
NEW.loc[2, "site"] = "ear"
NEW.loc[[0, 3, 4, 5], "site"] = "leg"


@pytest.fixture
def folder(tmp_path, tmp_path_factory, monkeypatch):
    enter(tmp_path_factory, tmp_path, monkeypatch)
    NEW.to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


def routed(folder, *options):
    outcome = run("route", folder / "model", folder / "new.csv", "--out", folder / "decisions.csv", *options)
    assert outcome.code == 0, outcome.err
    return pd.read_csv(folder / "decisions.csv", keep_default_na=False), outcome


def test_a_typing_error_makes_nobody_sure(folder):
    decisions, outcome = routed(folder)
    columns = list(decisions.columns)
    assert columns.index("unusual") == columns.index("model_says") + 1 == columns.index("p_model") - 1
    assert decisions.unusual.tolist() == ["age", "age", "site", "", "", ""]
    calibrator = Team.load(folder / "model").calibrator
    odd = decisions.iloc[:3]
    assert (odd.p_model <= round(calibrator.model_accuracy, 6)).all()
    assert (odd.p_model < 0.99).all()
    for name, most in zip(DOCTORS, calibrator.accuracy, strict=True):
        assert (odd[f"p_{name}"] <= round(most, 6)).all()
    assert (odd.expected_cost > 0.01).all()
    assert [("unusual: age" in one, "unusual" in one) for one in decisions.reason][::3] == [
        (True, True),
        (False, False),
    ]
    assert "3 cases unlike" in outcome.err + outcome.out
    assert "--unusual ask" in outcome.err + outcome.out


def test_no_advice_is_given_that_would_be_refused(folder):
    """Limits and asking in turn do not go with --unusual ask."""
    for options in (["--ask", "sequential"], ["--capacity", "all=5"]):
        _, outcome = routed(folder, *options)
        assert "3 cases unlike" in outcome.err + outcome.out
        assert "--unusual ask" not in outcome.err + outcome.out


def test_who_is_counted_for_a_panel_is_said(folder):
    _, outcome = routed(folder, "--ask", "panel", "--unusual", "ask")
    assert "the column ask names the whole panel" in outcome.err + outcome.out
    _, outcome = routed(folder)
    assert "the whole panel" not in outcome.err + outcome.out


def test_ask_gives_an_unusual_case_to_a_person(folder):
    fees = [f"--fee={name}=0.5" for name in DOCTORS]
    flagged, _ = routed(folder, *fees)
    asked, _ = routed(folder, "--unusual", "ask", *fees)
    assert (flagged.route == "model").all()
    assert (asked.route[:3] != "model").all()
    assert (asked.route[3:] == "model").all()
    assert (asked.panel[:3] != "").all()
    assert asked.reason[0].startswith("ask dr_")
    assert asked.reason[0].endswith(" by the model; unusual: age")
    only, _ = routed(folder, "--unusual", "ask", "--absent", "dr_a", "--absent", "dr_b")
    assert (only.route[:3] == "dr_c").all()
    nobody, _ = routed(folder, "--unusual", "ask", *[f"--absent={name}" for name in DOCTORS])
    assert (nobody.route == "model").all()
    assert "no expert available" in nobody.reason[0]


def test_json_and_python_count_them(folder):
    answer = json.loads(routed(folder, "--json")[1].out)
    assert answer["unusual"] == 3
    assert answer["notes"]["age: far beyond the training range"] == 2
    routing = Study.load(folder / "model").route(NEW, unusual="ask")
    assert routing.unusual == 3
    assert (routing.to_frame().route[:3] != "model").all()


def test_a_wrong_choice_is_told(folder):
    outcome = run("route", folder / "model", folder / "new.csv", "--out", folder / "d.csv", "--unusual", "aks")
    assert outcome.code == 2
    assert all(word in outcome.err for word in ("--unusual", "aks", "flag", "ask"))


def test_evaluate_and_report_say_how_many(folder):
    cases = lesions(40, seed=21).assign(case=[f"Q{number}" for number in range(40)])
    cases.loc[:1, "age"] = -999
    cases.to_csv(folder / "more.csv", index=False)
    judged = json.loads(run("evaluate", folder / "model", folder / "more.csv", "--json").out)
    assert judged["test"]["unusual"] == 2
    assert any("learned from: 2 of 40 cases" in one for one in judged["test"]["cautions"])
    assert any("age: far beyond the training range" in one for one in judged["notes"])
    assert run("report", folder / "model", folder / "more.csv", "--out", folder / "page.html").code == 0
    assert "learned from: 2 of 40 cases" in (folder / "page.html").read_text()
