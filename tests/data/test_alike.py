"""Classes and experts that are written in two ways are told, with how to merge them."""

import pandas as pd
import pytest

from defero import read_cases
from defero.data.answers.bad_answers import BadAnswersError
from defero.data.answers.spellings import alike_classes, alike_experts


def items():
    labels = ["heart failure", "asthma", "Heart failure", "heart failure", "asthma", " heart  failure"]
    return pd.DataFrame({"item": range(6), "size": range(6), "truth": labels})


def log(*answers):
    return pd.DataFrame(answers or [(0, "Dr Chen", "asthma"), (1, "dr chen", "asthma")], columns=["item", "who", "a"])


LOG = {"label": "truth", "annotator": "who", "answer": "a"}


@pytest.mark.parametrize("in_log", [False, True])
def test_labels_that_differ_in_capitals_or_blanks_are_told_with_counts_and_the_remedy(in_log):
    if in_log:
        cases = read_cases(items(), answers=log(), **LOG)
    else:
        cases = read_cases(items().assign(al="asthma"), label="truth", expert_names=["al"])
    (note,) = [note for note in cases.notes if "labels" in note]
    for fact in ("'heart failure' (2 cases)", "'Heart failure' (1 case)", "3 classes"):
        assert fact in note
    assert "merge them with rename: from 'Heart failure' to 'heart failure'" in note
    assert note.message(lambda argument: f"--{argument.name}").count("--rename") == 1
    renamed = {"Heart failure": "heart failure", "heart  failure": "heart failure"}
    assert not read_cases(items(), answers=log((0, "al", "asthma")), rename=renamed, **LOG).notes


@pytest.mark.parametrize("in_log", [False, True])
def test_the_offered_mapping_merges_such_labels(in_log):
    answer = "HEART FAILURE"
    wide = items().assign(al=answer), {"label": "truth", "expert_names": ["al"]}
    table, options = (items(), {"answers": log((0, "al", answer)), **LOG}) if in_log else wide
    with pytest.raises(BadAnswersError) as caught:
        read_cases(table, **options)
    assert caught.value.mapping() == {
        answer: "heart failure",
        "Heart failure": "heart failure",
        "heart  failure": "heart failure",
    }


def test_experts_of_a_log_who_differ_in_capitals_are_told_with_the_remedy():
    (note,) = [note for note in read_cases(items(), answers=log(), **LOG).notes if "experts" in note]
    assert "Dr Chen, dr chen may be one person" in note
    assert "write one name in the column who" in note


def test_experts_of_a_wide_table_who_differ_in_marks_are_told_with_the_remedy():
    table = items().assign(**{"dr_chen": "asthma", "Dr Chen": "asthma"})
    notes = read_cases(table, label="truth", expert_names=["dr_chen", "Dr Chen"]).notes
    assert any("may be one person" in note and "put their answers into one column" in note for note in notes)


def test_marks_tell_classes_apart_but_not_experts():
    assert alike_classes({"A-": 1, "A": 1, "1.5": 1, "15": 1, 2: 1}) == []
    assert alike_experts(["A.", "a", "b"]) == [["A.", "a"]]
