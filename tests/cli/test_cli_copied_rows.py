"""Rows that equal an earlier one: `fit` says so, for copies in two parts make the held-out figures too good."""

import json

import pandas as pd
import pytest
from clinic import FIT, lesions, run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def with_copies(n_copies, *, n=160):
    """Return cases of which the first come again under another key."""
    cases = lesions(n)
    again = cases.head(n_copies).assign(case=[f"Q{number}" for number in range(n_copies)])
    return pd.concat([cases, again], ignore_index=True)


def notes_of(cases, *options):
    cases.to_csv("cases.csv", index=False)
    outcome = run("fit", "cases.csv", *FIT, "--out", "model", "--json", *options)
    assert outcome.code == 0, outcome.err
    return [note for note in json.loads(outcome.out)["notes"] if "equal an earlier one" in note]


def test_a_table_written_twice_is_told():
    cases = with_copies(600, n=600)
    cases.to_csv("cases.csv", index=False)
    n_copies = cases.drop(columns="case").duplicated().sum()
    assert n_copies >= 600
    outcome = run("fit", "cases.csv", *FIT, "--out", "model")
    assert outcome.err == (
        f"note: {n_copies} of 1,200 rows equal an earlier one: if they are copies, the held-out figures are too "
        "good; drop them, or name a column with --group.\n"
    )


@pytest.mark.parametrize(("n_copies", "n", "is_told"), [(1, 99, False), (2, 160, True), (2, 299, False)])
def test_two_copies_and_one_row_in_a_hundred_are_told(n_copies, n, is_told):
    assert len(notes_of(with_copies(n_copies, n=n))) == is_told


def test_rows_that_differ_in_the_label_or_an_answer_are_no_copies():
    cases = with_copies(4)
    cases.loc[160:161, "truth"] = cases.loc[:1, "truth"].map({"benign": "malign", "malign": "benign"}).to_numpy()
    cases.loc[162:, "dr_b"] = cases.loc[2:3, "dr_b"].map({"benign": "malign"}).fillna("benign").to_numpy()
    assert notes_of(cases) == []


@pytest.mark.parametrize("column", ["height", "remark"])
def test_every_column_but_the_key_tells_rows_apart(column):
    """Also one that is not used, as free text that nobody named: else cases with few features seem to be copies."""
    cases = with_copies(4)
    cases[column] = [f"the patient said {number}" if column == "remark" else number for number in range(164)]
    assert notes_of(cases) == []
    cases.loc[160:, column] = cases.loc[:3, column].to_numpy()
    assert notes_of(cases)[0].startswith("4 of 164 rows")


def test_copies_inside_a_group_do_no_harm():
    cases = with_copies(6)
    cases["patient"] = [*range(160), *range(6)]
    assert notes_of(cases, "--group", "patient") == []
    cases["patient"] = [*range(160), *range(2), *range(50, 54)]
    assert notes_of(cases, "--group", "patient") == [
        "4 of 166 rows equal an earlier one of another patient: if they are copies, the held-out figures are too "
        "good; drop them."
    ]
