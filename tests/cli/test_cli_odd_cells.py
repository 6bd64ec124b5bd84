"""One cell that is no number in a column of numbers: refused where the column was chosen, told where it was not."""

import re

import pytest
from clinic import FIT, lesions, run

BAD = 41


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = lesions().drop(columns="size_mm").assign(fee=[f"{k / 7:.3f}" for k in range(160)])
    cases.loc[BAD, "fee"] = "12,50"
    cases.to_csv("cases.csv", index=False)
    return tmp_path


def test_a_chosen_column_is_refused_with_its_row(folder):
    outcome = run("fit", "cases.csv", *FIT, "--features", "age,fee", "--out", "model")
    assert outcome.code == 2
    assert outcome.err == (
        f"defero: cases.csv: row {BAD + 2}, column fee: got '12,50'; it is not a number, and the others are; leave "
        "the cell blank if it is unknown.\n"
    )
    assert not (folder / "model").exists()


def test_a_column_that_nobody_chose_is_told_with_its_row(folder):
    outcome = run("fit", "cases.csv", *FIT, "--out", "model")
    assert outcome.code == 0
    told = f"note: row {BAD + 2}, column fee: '12,50' is not a number, and so the column is not used; leave such cells"
    assert told in outcome.err


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (lambda k: f"2024-05-{k % 28 + 1:02d}", "row 2, column extra: got '2024-05-01'; .* dates are not used"),
        (lambda k: f"the {k}th note", "row 2, column extra: got 'the 0th note'; .* free text; name it with"),
    ],
)
def test_a_chosen_column_of_another_kind_is_refused(folder, cells, why):
    lesions().assign(extra=[cells(k) for k in range(160)]).to_csv("cases.csv", index=False)
    outcome = run("fit", "cases.csv", *FIT, "--features", "age,extra", "--out", "model")
    assert outcome.code == 2
    assert re.search(why, outcome.err), outcome.err


def test_a_chosen_constant_says_nothing_and_may_stay(folder):
    lesions().assign(unit="mm").to_csv("cases.csv", index=False)
    outcome = run("fit", "cases.csv", *FIT, "--features", "age,unit", "--out", "model")
    assert outcome.code == 0
    assert "unit: not used, the same in every row." in outcome.out
