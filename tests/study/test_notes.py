"""What `fit` notes of a table, without a fit: copied rows, copies of the label, ids, rare labels."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from clinic import DOCTORS, lesions

from defero import read_cases
from defero.core.errors import Argument
from defero.data.recipes.recipe import FeatureRecipe
from defero.study.notes import notes_on


def notes(frame, *, groups=None):
    """Return the notes on a table whose features are read as `fit` reads them."""
    cases = read_cases(frame, label="truth", expert_names=DOCTORS, key="case").split_by(groups=groups)
    return notes_on(cases, SimpleNamespace(recipe=FeatureRecipe.learn(cases.table.features)))


def arguments(note):
    """Return the arguments that a note tells to pass."""
    return [(piece.name, piece.value if piece.has_value else None) for piece in note.pieces if type(piece) is Argument]


def copied(n_copies, *, n=160):
    """Return cases of which the first come again under another key."""
    cases = lesions(n)
    again = cases.head(n_copies).assign(case=[f"Q{number}" for number in range(n_copies)])
    return pd.concat([cases, again], ignore_index=True)


def test_a_clean_table_has_no_notes():
    assert notes(lesions()) == []


def test_a_table_written_twice_is_told():
    cases = copied(600, n=600)
    n_copies = cases.drop(columns="case").duplicated().sum()
    assert n_copies >= 600
    (note,) = notes(cases)
    assert note.startswith(f"{n_copies} of 1,200 rows equal an earlier one: if they are copies, the held-out figures")
    assert arguments(note) == [("groups", None)]


@pytest.mark.parametrize(("n_copies", "n", "is_told"), [(1, 99, False), (2, 160, True), (2, 299, False)])
def test_two_copies_and_one_row_in_a_hundred_are_told(n_copies, n, is_told):
    assert len(notes(copied(n_copies, n=n))) == is_told


def test_rows_that_differ_in_the_label_or_an_answer_are_no_copies():
    cases = copied(4)
    cases.loc[160:161, "truth"] = cases.loc[:1, "truth"].map({"benign": "malign", "malign": "benign"}).to_numpy()
    cases.loc[162:, "dr_b"] = cases.loc[2:3, "dr_b"].map({"benign": "malign"}).fillna("benign").to_numpy()
    assert notes(cases) == []


@pytest.mark.parametrize("column", ["height", "remark"])
def test_every_column_but_the_key_tells_rows_apart(column):
    """Also one that is not used, as free text that nobody named: else cases with few features seem to be copies."""
    cases = copied(4)
    cases[column] = [f"the patient said {number}" if column == "remark" else number / 7 for number in range(164)]
    assert notes(cases) == []
    cases.loc[160:, column] = cases.loc[:3, column].to_numpy()
    assert [note.partition(" rows")[0] for note in notes(cases)] == ["4 of 164"]


def test_copies_inside_a_group_do_no_harm():
    cases = copied(6)
    assert notes(cases.assign(patient=[*range(160), *range(6)]), groups="patient") == []
    (note,) = notes(cases.assign(patient=[*range(160), *range(2), *range(50, 54)]), groups="patient")
    assert note.startswith("4 of 166 rows equal an earlier one of another patient:")
    assert arguments(note) == []


def test_a_label_that_is_a_typo_is_asked_about():
    cases = lesions()
    cases.loc[3, "truth"], cases.loc[4, "truth"] = "Malign ", "xyz"
    assert notes(cases) == [
        "label 'Malign' occurs in 1 of 160 rows, too few to learn from; did you mean 'malign'?",
        "label 'xyz' occurs in 1 of 160 rows, too few to learn from.",
    ]


def test_a_column_that_names_the_cases_or_their_groups_is_asked_about():
    half = np.arange(160) // 2
    ids, groups = notes(lesions().assign(mrn=range(1000, 1160), patient_id=half, grid=half))  # grid is no id
    assert ids.startswith("mrn differs in every row")
    assert arguments(ids) == [("key", "mrn")]
    assert groups.startswith("patient_id looks like an id")
    assert arguments(groups) == [("groups", "patient_id"), ("features", None)]
    assert notes(lesions().assign(patient_id=half), groups="patient_id") == []


def test_a_copy_of_the_truth_and_experts_nobody_named_are_told_whatever_their_type():
    cases = lesions()
    truth = cases.truth.eq("malign").astype(int)
    copies, experts = notes(
        cases.assign(
            truth=truth,
            gold=truth.mask(cases.index == 7, 1 - truth),
            wet=cases.index % 2,
            dry=1 - cases.index % 2,
            **{name: cases[name].map({"benign": 0, "malign": 1}) for name in DOCTORS},
        )
    )
    assert copies.startswith("gold equals the label in 99.4 % of the rows and is used as a feature;")
    assert arguments(copies) == [("features", None)]
    assert experts.startswith("wet, dry hold labels and are used as features;")
    assert arguments(experts) == [("expert_names", None), ("features", None)]
    (words,) = notes(cases.assign(gold=cases.truth.mask(cases.index == 9, "unclear")))
    assert words.startswith("gold equals the label in 99.4 % of the rows")
