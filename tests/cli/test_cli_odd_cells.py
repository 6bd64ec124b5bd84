"""A cell that is no number in a column of numbers: refused where the column was chosen, told where it was not."""

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
        f"defero: cases.csv: column fee is named as a feature: '12,50' (1 cell) is not a number, first in row "
        f"{BAD + 2}; correct it, or leave it blank if the number is unknown.\n"
    )
    assert not (folder / "model").exists()


def test_a_column_that_nobody_chose_is_told_with_its_row(folder):
    outcome = run("fit", "cases.csv", *FIT, "--out", "model")
    assert outcome.code == 0
    told = (
        f"note: column fee is not used: '12,50' (1 cell) is not a number, first in row {BAD + 2}; correct it, or "
        "leave it blank if the number is unknown.\n"
    )
    assert told in outcome.err


def with_marker(words, *, n_values):
    """Write cases with a column of repeating numbers and some words among them, from row 11 on."""
    marker = [str(k % n_values) for k in range(160)]
    marker[9 : 9 + len(words)] = words
    lesions().assign(marker=marker).to_csv("cases.csv", index=False)


def test_numbers_that_repeat_are_refused_for_one_cell_too(folder):
    with_marker(["12,5"], n_values=40)
    outcome = run("fit", "cases.csv", *FIT, "--features", "age,marker", "--out", "model")
    assert outcome.code == 2
    assert outcome.err == (
        "defero: cases.csv: column marker is named as a feature: '12,5' (1 cell) is not a number, first in row 11; "
        "correct it, or leave it blank if the number is unknown, or write the numbers with a letter if they are "
        "codes.\n"
    )
    with_marker([""], n_values=40)
    outcome = run("fit", "cases.csv", *FIT, "--features", "age,marker", "--out", "model")
    assert outcome.code == 0
    assert "marker: a number" in outcome.out


def test_all_odd_values_of_a_chosen_column_are_named(folder):
    fees = [f"{k / 7:.3f}" for k in range(160)]
    lesions().assign(fee=["n/a", "<1", *fees[2:]]).to_csv("cases.csv", index=False)
    outcome = run("fit", "cases.csv", *FIT, "--features", "age,fee", "--out", "model")
    assert outcome.err == (
        "defero: cases.csv: column fee is named as a feature: 'n/a' (1 cell) and '<1' (1 cell) are not numbers, "
        "first in row 2; correct them, or leave them blank if the number is unknown, or pass --blank n/a.\n"
    )


@pytest.mark.parametrize("chosen", [(), ("--features", "age,marker")])
def test_codes_beside_numbers_are_categories_and_all_odd_values_are_named(folder, chosen):
    with_marker(["pending", "pending", "<0.5", "n/a", "12,5", "x"], n_values=30)
    outcome = run("fit", "cases.csv", *FIT, *chosen, "--out", "model")
    assert outcome.code == 0
    told = (
        "note: column marker is read as categories: 'pending' (2 cells), '<0.5' (1 cell), 'n/a' (1 cell), '12,5' "
        "(1 cell) and 1 more are not numbers, first in row 11; correct them, or leave them blank if the number is "
        "unknown, or pass --blank pending --blank n/a.\n"
    )
    assert told in outcome.err


def test_few_categories_are_told_of_odd_values_that_training_did_not_see(folder):
    marker = [str(k % 6) for k in range(160)]
    part = ["train"] * 100 + ["val"] * 30 + ["test"] * 30
    marker[3], marker[150] = "pending", "n/a"
    lesions().assign(marker=marker, part=part).to_csv("cases.csv", index=False)
    outcome = run("fit", "cases.csv", *FIT, "--split", "part", "--out", "model")
    assert "column marker is read as categories: 'pending' (1 cell) and 'n/a' (1 cell) are not" in outcome.err
    assert "first in row 5" in outcome.err
    marker[150] = "pending"
    lesions().assign(marker=marker, part=part).to_csv("cases.csv", index=False)
    outcome = run("fit", "cases.csv", *FIT, "--split", "part", "--out", "model")
    assert "column marker is read as categories: 'pending' (2 cells) are not numbers" in outcome.err


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (lambda k: f"2024-05-{k % 28 + 1:02d}", "row 2, column extra: got '2024-05-01'; .* dates are not used"),
        (lambda k: f"the {k}th note", "row 2, column extra: got 'the 0th note'; .* free text; name it as"),
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
