"""Classes and experts that are written in two ways are told, with how to merge them."""

import pandas as pd
import pytest

from defero import read_cases
from defero.core import ExpertTable
from defero.data.answers.class_codes import BadAnswersError
from defero.data.answers.spellings import alike_classes, alike_experts, one_sided_class_notes


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


def lesions(n=40):
    """Labels in three classes; experts write "benign" where a third of the labels say "benign lesion"."""
    labels = ["benign lesion", "benign", "melanoma"] * n
    answers = ["benign", "benign", "melanoma"] * n
    return pd.DataFrame({"item": range(3 * n), "size": range(3 * n), "truth": labels, "al": answers})


@pytest.mark.parametrize("in_log", [False, True])
def test_a_class_that_nobody_answers_is_told_with_its_pair_and_the_remedy(in_log):
    table = lesions()
    if in_log:
        answers = pd.DataFrame({"item": table["item"], "who": "al", "a": table["al"]})
        cases = read_cases(table.drop(columns="al"), answers=answers, **LOG)
    else:
        cases = read_cases(table, label="truth", expert_names=["al"], features=["size"])
    (note,) = cases.notes
    for fact in ("'benign lesion' (40 cases)", "'benign' (80 answers)", "40 answers to these cases"):
        assert fact in note
    assert "merge them with rename: from 'benign lesion' to 'benign'" in note
    assert "--rename" in note.message(lambda argument: f"--{argument.name}")
    renamed = {"benign lesion": "benign"}
    assert not read_cases(table, label="truth", expert_names=["al"], features=["size"], rename=renamed).notes


def test_a_class_that_nobody_answers_is_told_without_a_pair_if_many_answers_could_have_been_it():
    table = ExpertTable(["a"] * 12 + ["zebra"] * 12, [["a"]] * 24)
    (note,) = one_sided_class_notes(table, source="t.csv")
    assert "No expert ever answers 'zebra' (12 cases)" in note
    assert "12 answers to these cases" in note
    assert "rename" in note
    few = ExpertTable(["a"] * 12 + ["zebra"] * 12, [["a"]] * 12 + [[None]] * 9 + [["a"]] * 3)
    assert one_sided_class_notes(few, source="t.csv") == []


def test_an_answer_that_is_no_label_here_is_told_if_a_label_is_like_it():
    """Of a team at work the classes are settled: a file may have a label that answers write in another way."""
    table = ExpertTable(
        ["benign lesion"] * 20 + ["melanoma"] * 20,
        [["benign"]] * 20 + [["melanoma"]] * 20,
        classes=["benign", "benign lesion", "melanoma", "nevus"],
    )
    (note,) = one_sided_class_notes(table, source="t.csv")
    assert "'benign lesion' (20 cases)" in note
    assert "'benign' (20 answers)" in note


def test_classes_without_a_name_in_common_or_without_experts_are_not_told():
    assert one_sided_class_notes(ExpertTable(["a", "b"] * 20, [[None]] * 40), source="t.csv") == []
    answered = ExpertTable(["a", "b"] * 20, [["a"], ["b"]] * 20, classes=["a", "b", "c"])
    assert one_sided_class_notes(answered, source="t.csv") == []


def test_a_bad_answer_is_offered_the_class_that_shares_its_words():
    with pytest.raises(BadAnswersError) as caught:
        read_cases(lesions().assign(al="melanoma of the skin"), label="truth", expert_names=["al"])
    assert caught.value.mapping() == {"melanoma of the skin": "melanoma"}
