"""Fees and costs of errors on the command line: what they change, what is reported, and what is refused."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run

from defero import Team
from defero.data.tables.read import read_frame
from defero.decide.terms import Terms

CLASSES = ("benign", "malign")
EVERYBODY = ["--fee", "all=2", "--error-cost", "40"]


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    enter(tmp_path_factory, tmp_path, monkeypatch)
    new = lesions(seed=4).assign(case=[f"Q{number}" for number in range(160)])
    new.assign(price=np.round(np.linspace(0, 30, 160), 2)).to_csv("new.csv", index=False)
    return tmp_path


def judged(*options):
    outcome = run("evaluate", "model", "new.csv", "--json", *options)
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)["test"]


def write_matrix(name="costs.csv", *, order=CLASSES, costs=((0, 10), (50, 0))):
    frame = pd.DataFrame(np.array(costs, dtype=object), index=["benign", "malign"], columns=["benign", "malign"])
    frame.loc[list(order), list(order)].rename_axis("truth").reset_index().to_csv(name, index=False)
    return ["--cost-matrix", name]


def test_costs_are_those_of_fees_and_errors(folder):
    test = judged(*EVERYBODY)
    n_items = test["items"]
    for name, way in test["ways"].items():
        cost = test["cost"]["ways"][name]
        assert cost["spent_on_questions"] == pytest.approx(2 * way["questions"])
        assert cost["cost_of_errors"] == pytest.approx(40 * (1 - way["accuracy"]))
        assert cost["total"]["per_case"] == pytest.approx(cost["spent_on_questions"] + cost["cost_of_errors"])
        assert cost["total"]["total"] == pytest.approx(n_items * cost["total"]["per_case"])
        assert way["cost"] == pytest.approx(cost["total"]["per_case"])
        for other, against in (("model", "against_model"), (test["cost"]["everybody"], "against_everybody")):
            if name != other:
                saved = test["cost"]["ways"][other]["total"]["per_case"] - cost["total"]["per_case"]
                assert cost[against]["per_case"] == pytest.approx(saved)
                assert cost[against]["low"] <= saved <= cost[against]["high"]
    assert test["cost"]["total"] == test["cost"]["ways"]["one"]["total"]
    text = run("evaluate", "model", "new.csv", *EVERYBODY).out
    assert "saves against the model" in text
    assert f"For all {n_items} cases the team spends" in text


def test_without_money_nothing_is_said_of_it(folder):
    assert judged()["cost"] is None


def test_only_the_ratio_of_fee_and_error_decides(folder):
    small, large = judged("--fee", "all=0.05"), judged("--fee", "all=2", "--error-cost", "40")
    assert small["ways"]["sequential"]["questions"] == large["ways"]["sequential"]["questions"]
    assert small["cost"]["total"]["per_case"] == pytest.approx(large["cost"]["total"]["per_case"] / 40)
    assert judged("--fee", "all=30", "--error-cost", "40")["questions"] < large["questions"]


def test_a_file_of_fees_and_an_option_over_it(folder):
    pd.DataFrame({"expert": ["dr_a", "all"], "fee": [3, 7]}).to_csv("fees.csv", index=False)
    by_file = judged("--fees", "fees.csv", "--fee", "dr_c=1", "--error-cost", "40")
    one_by_one = judged("--fee", "dr_a=3", "--fee", "dr_b=7", "--fee", "dr_c=1", "--error-cost", "40")
    assert by_file["cost"] == one_by_one["cost"]


def test_a_price_for_each_case(folder):
    for options in (["--fee", "all=@price"], [f"--fee={name}=@price" for name in DOCTORS]):
        assert run("route", "model", "new.csv", "--out", "d.csv", *options, "--error-cost", "40").code == 0
        decisions, team = read_frame("d.csv"), Team.load("model")
        cases = read_frame("new.csv")
        fees = np.repeat(cases.price.to_numpy()[:, None], 3, axis=1)
        decision = team.decide(cases, terms=Terms(fees=fees / 40))
        assert decisions.route.tolist() == decision.name.tolist()
        np.testing.assert_allclose(decisions.expected_cost, 40 * decision.expected_cost, atol=1e-5)
    spent = judged("--fee", "all=@price", "--error-cost", "40")["cost"]["ways"]["everybody_majority"]
    asked = pd.read_csv("new.csv")[DOCTORS].notna().sum(axis=1)
    assert spent["spent_on_questions"] == pytest.approx(float((asked * pd.read_csv("new.csv").price).mean()))


def test_a_matrix_is_put_in_order_and_changes_the_decisions(folder):
    right, turned = (judged("--fee", "all=1", *write_matrix(order=order)) for order in (CLASSES, CLASSES[::-1]))
    assert right["cost"] == turned["cost"]
    plain = judged("--fee", "all=1", "--error-cost", "50")
    recall = {row["class"]: row for row in right["recall"]}
    before = {row["class"]: row for row in plain["recall"]}
    assert recall["malign"]["model"] > before["malign"]["model"]  # a missed malign costs five times as much
    assert right["cost"]["ways"]["model"]["spent_on_questions"] == 0
    missed = {row["class"]: row["n"] * (1 - row["model"]) for row in right["recall"]}
    costs = (10 * missed["benign"] + 50 * missed["malign"]) / right["items"]
    assert right["cost"]["ways"]["model"]["cost_of_errors"] == pytest.approx(costs)


def test_fit_remembers_the_money(folder):
    options = ["--fee", "dr_a=4", "--fee", "dr_b=4", *write_matrix()]
    assert run("fit", "cases.csv", *FIT, *options, "--out", "model").code == 0
    panel = Team.load("model").panel
    assert panel.fees == (4.0, 4.0, 0.0)
    assert panel.cost_matrix.tolist() == [[0, 10], [50, 0]]
    assert judged()["cost"] == judged(*options)["cost"]
    assert "other costs of errors" not in run("route", "model", "new.csv", "--out", "d.csv").err
    voided = run("route", "model", "new.csv", "--out", "d.csv", "--error-cost", "7").err
    assert "promise does not hold with other costs of errors than in fit" in voided


def refused(name, *options):
    """Return the one sentence of a command that writes nothing."""
    before = sorted(path.name for path in name.iterdir())
    sentences = set()
    for command in (
        ["route", "model", "new.csv", "--out", "d.csv"],
        ["evaluate", "model", "new.csv"],
        ["report", "model", "new.csv", "--out", "page.html"],
    ):
        outcome = run(*command, *options)
        assert (outcome.code, outcome.out) == (2, ""), (command, outcome)
        sentences.add(outcome.err)
    assert sorted(path.name for path in name.iterdir()) == before
    (sentence,) = sentences
    assert sentence.startswith("defero: ")
    assert sentence.count("\n") == 1
    return sentence


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        (["--fee", "dr_a=-1"], ["--fee dr_a=-1", "negative"]),
        (["--fee", "dr_x=1"], ["--fee", "dr_x", "did you mean"]),
        (["--fee", "dr_a=@cost"], ["new.csv", "cost", "the fees"]),
        (["--fee", "dr_a"], ["--fee dr_a", "NAME=MONEY"]),
        (["--error-cost", "0"], ["--error-cost", "positive", "0"]),
        (["--error-cost", "nan"], ["--error-cost", "positive", "nan"]),
        (["--error-cost", "1", "--cost-matrix", "none.csv"], ["--error-cost", "--cost-matrix", "leave one out"]),
        (["--fees", "none.csv"], ["none.csv"]),
    ],
)
def test_wrong_money_is_refused(folder, options, facts):
    sentence = refused(folder, *options)
    assert all(fact in sentence for fact in facts), sentence


@pytest.mark.parametrize(("cell", "got"), [("", "a blank cell"), ("NaN", "'NaN'"), ("two", "'two'"), ("-3", "-3")])
def test_a_bad_price_is_named_by_row_and_column(folder, cell, got):
    table = pd.read_csv("new.csv", dtype=object, keep_default_na=False)
    table.loc[6, "price"] = cell
    table.to_csv("new.csv", index=False)
    sentence = refused(folder, "--fee", "dr_b=@price")
    assert all(fact in sentence for fact in ("new.csv: row 8, column price", got, "negative")), sentence


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("truth,benign\nbenign,0\n", ["no row for the class malign"]),
        ("truth,benign\nbenign,0\nmalign,5\n", ["no column for the class malign"]),
        ("truth,benign,malignant\nbenign,0,1\nmalignant,5,0\n", ["malign", "malignant", "no class"]),
        ("truth,benign,malign,x\nbenign,0,1,1\nmalign,5,0,1\n", ["column x", "no class"]),
        ("truth,benign,malign\nbenign,0,1\nmalign,5,0\nmalign,5,0\n", ["more than one row"]),
        ("truth,benign,malign\nbenign,0,much\nmalign,5,0\n", ["row benign, column malign", "'much'", "number"]),
        ("truth,benign,malign\nbenign,0,\nmalign,5,0\n", ["row benign, column malign", "blank"]),
        ("truth,benign,malign\nbenign,-1,1\nmalign,5,0\n", ["row benign, column benign", "-1", "negative"]),
        ("truth,benign,malign\nbenign,3,1\nmalign,5,0\n", ["row benign", "costs 3", "malign", "(1)"]),
        ("truth,benign,malign\nbenign,0,0\nmalign,0,0\n", ["all costs are 0"]),
    ],
)
def test_a_wrong_matrix_is_refused(folder, text, facts):
    (folder / "costs.csv").write_text(text)
    sentence = refused(folder, "--cost-matrix", "costs.csv")
    assert all(fact in sentence for fact in ("--cost-matrix costs.csv", *facts)), sentence


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("name,fee\ndr_a,1\n", ["no column expert", "name, fee"]),
        ("expert,fee\ndr_a,much\n", ["row 2, column fee", "'much'"]),
        ("expert,fee\ndr_a,1\ndr_a,2\n", ["row 3", "dr_a has a fee already"]),
    ],
)
def test_a_wrong_file_of_fees_is_refused(folder, text, facts):
    (folder / "fees.csv").write_text(text)
    sentence = refused(folder, "--fees", "fees.csv")
    assert all(fact in sentence for fact in ("fees.csv", *facts)), sentence


def test_fit_refuses_wrong_money_before_it_learns(folder):
    for options in (["--fee", "dr_a=-1"], ["--fee", "dr_x=1"], ["--fee", "dr_a=@price"], ["--error-cost", "-1"]):
        outcome = run("fit", "cases.csv", *FIT, *options, "--out", "other")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"defero: {options[0]}")
        assert not (folder / "other").exists()


def test_the_report_shows_costs_and_groups(folder):
    options = ["--fee", "all=2", *write_matrix(), "--by", "site,age"]
    outcome = run("report", "model", "new.csv", "--out", "page.html", *options)
    assert outcome.code == 0, outcome.err
    page = (folder / "page.html").read_text()
    for text in (
        "What does it cost?",
        "Who gets which cases?",
        "By site",
        "By age",
    ):
        assert text in page
    assert "--fee all=2 --cost-matrix costs.csv" in page  # the command that makes the page again
    assert "--by site,age" in page
    (title,) = re.findall("<h1>(.*?)</h1>", page)
    assert "team costs" in title  # errors cost differently: the cost leads, not the accuracy
    assert "right on" not in title
    run("report", "model", "new.csv", "--out", "plain.html")
    plain = (folder / "plain.html").read_text()
    assert "Who gets which cases?" not in plain
    (title,) = re.findall("<h1>(.*?)</h1>", plain)
    assert "right on" in title


def test_wrong_groups_are_refused(folder):
    for by, facts in (("sex", ["sex", "new.csv"]), ("a,b,c,d,e,f", ["--by", "5", "6"])):
        outcome = run("report", "model", "new.csv", "--out", "page.html", "--by", by)
        assert (outcome.code, outcome.out) == (2, "")
        assert all(fact in outcome.err for fact in facts), outcome.err
        assert not (folder / "page.html").exists()


def test_absent_experts_are_not_asked(folder):
    everybody, few = judged(), judged("--absent", "dr_b", "--absent", "dr_c")
    asked = {row["name"]: row["asked"]["n"] for row in few["experts"]}
    assert asked["dr_b"] == asked["dr_c"] == 0 < asked["dr_a"]
    assert few["questions"] < everybody["questions"]
    assert few["ways"]["everybody_majority"]["questions"] < everybody["ways"]["everybody_majority"]["questions"]
    assert few["model"] == everybody["model"]
    assert "absent" in run("evaluate", "model", "new.csv", "--absent", "dr_b").err
    assert run("report", "model", "new.csv", "--out", "page.html", "--absent", "dr_b", "--absent", "dr_c").code == 0
    assert "--absent dr_b --absent dr_c" in (folder / "page.html").read_text()
    outcome = run("evaluate", "model", "new.csv", "--absent", "dr_bb")
    assert outcome.code == 2
    assert all(fact in outcome.err for fact in ("--absent dr_bb", "did you mean 'dr_b'"))


def test_groups_are_in_the_json(folder):
    for command in (["evaluate", "model", "new.csv"], ["report", "model", "new.csv", "--out", "page.html"]):
        outcome = run(*command, "--by", "site,age", "--json")
        values = json.loads(outcome.out)
        site, age = values["groups"]
        assert (site["column"], age["column"]) == ("site", "age")
        assert sorted(row["value"] for row in site["rows"]) == ["arm", "face", "leg", "trunk"]
        for row in site["rows"]:
            assert sum(row["load"].values()) == row["cases"] == row["team"]["n"]
            assert set(row["recall"]) == set(CLASSES)
        right = sum(row["team"]["accuracy"] * row["cases"] for row in site["rows"])
        assert right == pytest.approx(values["test"]["team"]["accuracy"] * values["test"]["items"])
    text = run("evaluate", "model", "new.csv", "--by", "site").out
    assert "trunk" in text


def test_experts_without_a_fee_are_said_to_be_free(folder):
    for command in (["route", "model", "new.csv", "--out", "d.csv"], ["evaluate", "model", "new.csv"]):
        some = run(*command, "--fee", "dr_a=2").err
        assert all(fact in some for fact in ("dr_b, dr_c have no fee", "free", "--fee all="))
        for whole in (["--fee", "all=2"], [f"--fee={name}=0" for name in DOCTORS], []):
            assert "have no fee" not in run(*command, *whole).err
