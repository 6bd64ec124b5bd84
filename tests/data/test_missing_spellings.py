"""Answers that pandas reads as missing, such as n/a, are no answers unless they are a class; other marks are told."""

import pandas as pd
import pytest

from defero import Study, read_cases
from defero.data.answers.class_codes import BadAnswersError
from defero.data.tables.cells import MISSING_SPELLINGS

ASK = {"label": "truth", "expert_names": ["al", "bo"]}


def cases(**columns):
    n = 30
    table = {"case": range(n), "size": [i % 7 for i in range(n)], "truth": ["cat", "dog"] * (n // 2)}
    table |= {"al": ["cat", "n/a", "NaN"] * (n // 3), "bo": ["dog", None, "none"] * (n // 3)}
    return pd.DataFrame(table | columns)


def in_log(frame):
    long = frame.melt(id_vars="case", value_vars=["al", "bo"], var_name="who", value_name="said")
    return frame.drop(columns=["al", "bo"]), {"answers": long, "label": "truth", "annotator": "who", "answer": "said"}


def told(notes):
    (note,) = [note for note in notes if "no answer" in note]
    return note


@pytest.mark.parametrize("kind", ["frame", "csv", "log"])
def test_missing_spellings_are_blank_answers_and_counted(kind, tmp_path):
    frame, options = cases(), ASK
    if kind == "csv":
        frame.to_csv(tmp_path / "cases.csv", index=False)
        frame = tmp_path / "cases.csv"
    if kind == "log":
        frame, options = in_log(frame)
    read = read_cases(frame, **options)
    assert read.table.coded.per_expert().tolist() == [10, 10]
    note = told(read.notes)
    for fact in ("30 answers", "'n/a' (10)", "'NaN' (10)", "'none' (10)", "rename"):
        assert fact in note


def test_a_class_is_never_read_as_missing():
    read = read_cases(cases(truth=["cat", "none", "dog"] * 10, bo=["dog", "None", "none"] * 10), **ASK)
    assert read.table.coded.per_expert().tolist() == [10, 20]
    assert "'None' (10)" in told(read.notes)


def test_every_spelling_of_pandas_is_known():
    from pandas._libs.parsers import STR_NA_VALUES

    assert {one.casefold() for one in STR_NA_VALUES if one} == MISSING_SPELLINGS


def test_labels_that_look_missing_are_classes_and_told():
    read = read_cases(cases(truth=["cat", "n/a", "dog"] * 10), **ASK)
    assert read.table.classes.tolist() == ["cat", "dog", "n/a"]
    (note,) = [note for note in read.notes if "'n/a' (10 cases) is read as a class" in note]
    assert "blank=['n/a']" in note
    assert read_cases(cases(truth=["cat", "n/a", "dog"] * 10), blank=["n/a"], **ASK).table.classes.tolist() == [
        "cat",
        "dog",
    ]


@pytest.mark.parametrize(
    ("answers", "option"),
    [
        (["unsure", "cat", "dog"], "blank=['unsure']"),
        (["?", "unsure", "dgo"], "blank=['?', 'unsure']"),
        (["-", "cat", "dog"], "blank=['-']"),
    ],
)
@pytest.mark.parametrize("log", [False, True])
def test_other_marks_are_refused_with_the_option_to_pass(answers, option, log):
    frame, options = cases(al=answers * 10), ASK
    if log:
        frame, options = in_log(frame)
    with pytest.raises(BadAnswersError) as caught:
        read_cases(frame, **options)
    assert f"pass {option}" in str(caught.value)
    assert "dgo" not in str(caught.value).rpartition("pass ")[2]


def test_a_team_at_work_reads_other_tables_in_the_same_way(tmp_path):
    frame = cases(al=["cat", "dog"] * 15, bo=["cat", "dog"] * 15)
    study = Study(read_cases(frame, key="case", **ASK), random_state=0)
    study.fit(net="linear", loss="softmax")
    more = cases(case=range(100, 130))
    judged = study.evaluate(more)
    assert "'n/a' (10)" in told(judged.notes)
    more.drop(columns=["al", "bo", "truth"]).to_csv(tmp_path / "new.csv", index=False)
    log = pd.DataFrame({"case": [100, 101], "who": ["al", "al"], "said": ["n/a", "cat"]})
    routing = study.route(
        tmp_path / "new.csv", answers=log, ask="sequential", annotator="who", answer="said", out=tmp_path / "out.csv"
    )
    assert "'n/a' (1)" in told(routing.notes)
