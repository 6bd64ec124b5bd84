"""`fit` and the columns, labels and numbers of cases that it is given."""

import json
import re
import subprocess
import sys

import pandas as pd
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run, trained

from defero import Team


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


@pytest.fixture
def cases():
    return lesions()


def fit(table, *options):
    return run("fit", table, *FIT, "--out", "other", *options)


def test_ids_and_other_dates_are_not_called_texts(folder, cases):
    days = pd.date_range("2024-01-01", periods=160)
    wide = cases.assign(
        uuid=[f"a{number:03d}-ff" for number in range(160)],
        seen=days.strftime("%d.%m.%Y"),
        said=days.strftime("%d %b %Y"),
        letter=[f"the patient said {number}" for number in range(160)],
    )
    wide.to_csv("wide.csv", index=False)
    outcome = fit("wide.csv")
    assert outcome.code == 0
    codes = "ids or codes that hardly repeat; use case ids as the key, ids of patients or the like as the groups."
    dates = "dates are no features; to split by time, write them as 2024-05-01."
    assert f"  uuid: not used, {codes}\n" in outcome.out
    assert f"  said: not used, {dates}\n  seen: not used, {dates}\n" in outcome.out
    assert "  letter: not used, free text; name it as a text to use it.\n" in outcome.out
    assert "not used" not in outcome.err


def test_in_python_a_text_that_is_not_read_is_warned_of(cases):
    from defero import TwoStageDeferral

    wide = cases[["age"]].assign(letter=[f"the patient said {number}" for number in range(160)])
    with pytest.warns(UserWarning, match=r"X: 1 column is not used: letter \(free text\)\. "):
        TwoStageDeferral().fit(wide, cases.truth, experts=cases[DOCTORS])
    TwoStageDeferral(text="letter").fit(wide, cases.truth, experts=cases[DOCTORS])


def test_fees_at_fit_are_those_of_route(folder):
    assert fit("cases.csv", "--fee", "dr_a=0.2").code == 0
    assert Team.load("other").panel.fees == (0.2, 0.0, 0.0)
    told = run("route", "other", "cases.csv", "--out", "d.csv", "--json")
    assert json.loads(told.out)["promise_holds"]
    assert told.err == ""


def test_labels_of_numbers_are_numbers(folder, cases):
    grades = {"benign": 1, "malign": 2}
    numbers = cases.assign(**{name: cases[name].map(grades) for name in [*DOCTORS, "truth"]})
    pd.DataFrame(numbers).to_csv("numbers.csv", index=False)
    assert fit("numbers.csv").code == 0
    assert Team.load("other").classes.tolist() == [1, 2]
    numbers.loc[15, "dr_b"] = 3
    numbers.to_csv("numbers.csv", index=False)
    assert "numbers.csv: row 17, column dr_b: answer '3.0' is not one of 1, 2.\n" in fit("numbers.csv").err


def test_without_torch_it_says_what_to_install(folder):
    program = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, NoTorch())
from defero.cli.main import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "fit", "cases.csv", *FIT, "--out", "other"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("defero: --net linear with --loss auto: needs PyTorch")
    assert "pip install 'defero[train]'" in done.stderr


@pytest.mark.filterwarnings("default")
def test_few_cases_are_refused_with_what_the_parts_need(folder, cases):
    cases.head(19).to_csv("few.csv", index=False)
    assert fit("few.csv").err == (
        "defero: few.csv: 19 cases are too few; expected at least 20: 10 to learn from, and 3 or 4 each to calibrate, "
        "to conformalize and for the test. Dozens make a start, hundreds a team.\n"
    )
    cases.head(20).to_csv("few.csv", index=False)
    outcome = fit("few.csv")
    assert outcome.code == 0, outcome.err
    assert re.search(r"20 cases of few.csv: 1[01] to learn from, [23] to calibrate, 3 to conformalize", outcome.out)


def test_what_auto_chose_is_told(folder, tmp_path_factory):
    printed = trained(tmp_path_factory)[1]
    assert "Model of the classes: linear. Experts: each learned from their own answers alone." in printed
    told = json.loads(fit("cases.csv", "--json").out)
    assert told["net"] == "linear"
    assert [one["probability_sd"] for one in told["test"]["experts"]] == [None, None, None]
    by_skill = "Model of the classes: trees+linear. Experts: by case and class, shrunk toward the population"
    assert by_skill in fit("cases.csv", "--net", "auto").out
    alone = ["--experts", "", "--features", "age,size_mm"]
    assert "Model of the classes: linear.\n" in fit("cases.csv", *alone).out
    assert "Model of the classes: trees+linear.\n" in fit("cases.csv", *alone, "--net", "auto").out
    by_labels = fit("cases.csv", *alone, "--net", "auto", "--loss", "ova").out
    assert re.search(r"(linear|mlp), the better of linear and mlp on held-out labels\.\n", by_labels)


def test_an_expert_of_few_answers_is_named(folder, cases):
    cases.assign(dr_b=cases.dr_b.mask(cases.index > 8)).to_csv("few.csv", index=False)
    told = json.loads(fit("few.csv", "--net", "auto", "--json").out)["test"]
    one = told["experts"][1]
    assert one["training_answers"] < 10
    assert one["probability_sd"] > max(told["experts"][j]["probability_sd"] for j in (0, 2))
    said = f"Few answers to learn from: dr_b ({one['training_answers']})"
    assert any(sentence.startswith(said) for sentence in told["cautions"])
    assert f"note: {said}" in run("evaluate", "other", "few.csv").out


def test_a_column_with_a_comma_is_named_in_quotes(folder, cases):
    cases.rename(columns={"dr_b": "Chen, Li", "dr_c": "chen li"}).to_csv("comma.csv", index=False)
    options = ["--label", "truth", "--key", "case", "--net", "linear", "--out", "comma"]
    outcome = run("fit", "comma.csv", "--experts", 'dr_a,"Chen, Li",chen li', *options)
    assert outcome.code == 0, outcome.err
    assert Team.load("comma").expert_names == ("dr_a", "Chen, Li", "chen li")
    refused = run("fit", "comma.csv", "--experts", "dr_a,Chen, Li", *options)
    assert refused.code == 2
    assert "no column 'Chen' for an expert" in refused.err


def test_two_spellings_of_a_name_get_a_note(folder, cases):
    cases.rename(columns={"dr_b": "Dr Chen", "dr_c": "dr chen"}).to_csv("alike.csv", index=False)
    options = ["--experts", "dr_a,Dr Chen,dr chen", "--label", "truth", "--key", "case", "--net", "linear"]
    outcome = run("fit", "alike.csv", *options, "--out", "alike")
    assert outcome.code == 0, outcome.err
    assert "the experts Dr Chen, dr chen may be one person" in outcome.err
