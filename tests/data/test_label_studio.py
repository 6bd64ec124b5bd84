"""Label Studio exports: what counts as an answer, and what as the truth."""

import copy
import json
from functools import partial

import pandas as pd
import pytest
from studio import TASKS, annotation, answers, choice, write_export

from defero import read_cases
from defero.core.errors import TableError
from defero.data.exports.label_studio import LABEL_STUDIO, tasks_with_decisions, write_label_studio
from defero.data.table_spec import Control


@pytest.fixture
def export(tmp_path):
    return partial(write_export, tmp_path)


def read_label_studio(path, *, label=None, control=None):
    return LABEL_STUDIO.read(path, label=label, key=None, control=control)


@pytest.mark.parametrize("name", ["export.json", "export.json.gz", "export.jsonl", "export.jsonl.gz"])
def test_a_case_by_hand(export, name):
    found = read_label_studio(export(name=name))
    assert found.control == Control("mood", "text", "choices")
    assert found.items["task_id"].tolist() == [11, 12, 13, 14]
    assert list(found.items.columns) == ["task_id", "text", "stars", "gold"]
    assert found.items["stars"].dtype.kind == "f"
    # 7 and ANN by one name each, 8 only cancelled or without an answer, the truth is nobody's answer.
    assert answers(found) == {"7": ["bad", "bad", None, None], "ann@example.org": ["good", "bad", None, "good"]}
    assert found.labels == {"ground truth": [None, "good", None, None]}
    told = " ".join(found.notes)
    for part in (
        "lists or objects are left out: words",
        "1 cancelled annotations",
        "1 answer ignored",
        "1 row without an answer",
    ):
        assert part in told


def test_labels_from_the_truth_then_a_field_then_the_majority(export):
    ask = {"label": "gold", "majority_label": True, "features": ["stars"]}
    found = read_cases(export(), **ask, classes=["bad", "good"])
    assert all(f"1 by {source}" in found.notes[0] for source in ("ground truth", "data field", "majority"))
    assert found.table.labels.tolist() == ["good", "good", "good"]
    assert (found.n_majority, found.table.expert_names) == (1, ("7", "ann@example.org"))
    with pytest.raises(TableError, match="task 11, column mood: answer 'bad' is not one of good"):
        read_cases(export(), **ask)


def test_the_truth_updated_last_counts(export):
    truths = [
        annotation(1, "b", ground_truth=True, updated_at="2024-05-02T00:00:00Z"),
        annotation(2, "a", ground_truth=True),
    ]
    found = read_label_studio(export([{"id": 1, "data": {}, "annotations": [*truths, annotation(3, "a")]}]))
    assert found.labels == {"ground truth": ["b"]}
    assert found.answers.expert_names == ("3",)


def test_people_by_user_name_or_number(export):
    person = {"id": 5, "username": "cy"}
    tasks = [{"id": 1, "data": {}, "annotations": [annotation(person, "a"), annotation({"id": 6}, "b")]}]
    assert read_label_studio(export(tasks)).answers.expert_names == ("6", "cy")


def two_controls():
    tasks = copy.deepcopy(TASKS)
    tasks[0]["annotations"][0]["result"].append(choice("short", control="length"))
    tasks[0]["annotations"][0]["result"].append(choice(0, control="box", kind="rectanglelabels"))
    return tasks


def test_one_of_several_controls(export):
    path = export(two_controls())
    with pytest.raises(
        TableError, match=r"several controls ask for a class: mood \(\d+ answers\), length \(1 answers\)"
    ):
        read_label_studio(path)
    found = read_label_studio(path, control="length")
    assert answers(found) == {"ann@example.org": ["short", None, None, None]}
    with pytest.raises(TableError, match=r"no result of the control 'moode'; did you mean 'mood'\? The controls are"):
        read_label_studio(path, control="moode")


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [("rating", 4, 4), ("taxonomy", [["Eukarya", "Human"]], "Eukarya / Human"), ("choices", ["yes "], "yes")],
)
def test_kinds_of_controls_there_and_back(export, kind, value, said):
    result = {"from_name": "q", "to_name": "text", "type": kind, "value": {kind: value}}
    tasks = [{"id": 1, "data": {"x": 1}, "annotations": [annotation(1, result=[result])]}]
    found = read_label_studio(export(tasks))
    assert found.answers.answers.tolist() == [said]
    told = tasks_with_decisions(
        tasks, pd.DataFrame({"task_id": [1], "route": ["model"], "model_says": [said]}), control=found.control
    )
    path = export([], "back.json")
    write_label_studio(path, told)
    (said_again,) = json.loads(path.read_text())[0]["predictions"][0]["result"]
    assert Control(said_again["from_name"], said_again["to_name"], said_again["type"]) == found.control
    assert said_again["value"] == {kind: ["yes"] if kind == "choices" else value}


def test_several_choices_in_one_annotation(export):
    path = export([{"id": 1, "data": {}, "annotations": [annotation(1, "b", "a"), annotation(2, "a")]}])
    with pytest.raises(TableError, match="task 1: expected one answer to 'mood', got 2: b, a; keep one"):
        read_label_studio(path)


def test_tasks_without_ids_are_numbered(export):
    tasks = [{"data": {"x": k}, "annotations": [annotation(1, "a")]} for k in range(2)]
    assert read_label_studio(export(tasks)).items["task_id"].tolist() == [1, 2]


def test_a_data_field_of_the_key_s_name(export):
    tasks = [{"id": 5, "data": {"task_id": "other", "x": 1}, "annotations": [annotation(1, "a")]}]
    found = read_label_studio(export(tasks))
    assert found.items.to_dict("list") == {"task_id": [5], "x": [1]}
    assert any("the data field task_id is left out" in note for note in found.notes)


def test_blank_texts_are_missing_and_numbers_are_numbers(export):
    data = [{"a": " x ", "b": 1, "c": 2**60 + 1, "d": True}, {"a": "  ", "b": 2.5, "c": 1, "d": None}, {"b": None}]
    tasks = [{"id": k, "data": one, "annotations": [annotation(1, "a")]} for k, one in enumerate(data)]
    items = read_label_studio(export(tasks)).items
    assert items["a"].tolist()[0] == "x"
    assert items["a"].isna().tolist() == [False, True, True]
    assert items["b"].dtype.kind == "f"
    assert items["c"].tolist()[:2] == [2**60 + 1, 1]  # exact, where a float is not
    assert items["d"].tolist()[0] is True


def task(**fields):
    return [{"id": 4, "data": {"x": 1}, **fields}]


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"id": 1}, "export.json: must hold a list of tasks, got an object"),
        ([1], "task number 1 must be an object, got a number"),
        ([], "holds no task"),
        ([{"id": 1, "data": {}}, {"data": {}}], "task number 2: 'id' must be a number or a text, got None"),
        ([{"id": 1}, {"id": "1"}], "task number 1 and task number 2 have the same id 1"),
        (task(), "expected results of type choices, rating, taxonomy, got no result"),
        (task(data=[1]), "task 4: 'data' must be an object, got a list"),
        (task(annotations={}), "task 4: 'annotations' must be a list, got an object"),
        (task(annotations=["a"]), "task 4: 'annotations' must be a list of objects, got a in it"),
        (task(annotations=[annotation(1, result=["a"])]), "task 4: 'result' must be a list of objects, got a in it"),
        (task(annotations=[annotation(1, result=[None])]), "'result' must be a list of objects, got None in it"),
        (task(annotations=[annotation(None, "a")]), "task 4: 'completed_by' must be a user's number .* got None"),
        (
            task(annotations=[annotation(1, "a", updated_at="soon")]),
            "task 4: 'updated_at' must be a time as .* got soon",
        ),
        (task(annotations=[annotation(1, 5)]), "task 4: the value of 'mood' must be a list of texts called 'choices'"),
        (
            task(annotations=[annotation(1, result=[choice("x", kind="rating")])]),
            "must be a number called 'rating', got x",
        ),
        (
            task(annotations=[annotation(1, result=[{**choice("x"), "value": 3}])]),
            "must be a list called 'choices', got None",
        ),
        (task(annotations=[annotation(1, result=[choice(1, kind="number")])]), "the types of the results are number"),
        (
            task(annotations=[annotation(1, result=[choice("a"), choice(2, kind="rating")])]),
            "the control 'mood' is of two types, choices and rating",
        ),
    ],
)
def test_exports_that_cannot_be_used(export, tasks, message):
    with pytest.raises(TableError, match=message):
        read_label_studio(export(tasks))


def test_labels_that_cannot_be(export):
    with pytest.raises(TableError, match="no column 'golden' for the label; did you mean 'gold'"):
        read_label_studio(export(), label="golden")
    with pytest.raises(TableError, match="the data field must be a text or a number, got"):
        read_cases(export(), label="words")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"", "is empty"),
        ("a.json", b"[{]", "is not JSON"),
        ("a.json", b"\xff\xfe", "0xff, which is not UTF-8"),
        ("a.json", b"[" * 100_000, "nested too deeply"),
        ("a.json", b'[{"id": 1, "id": 2}]', "'id' .*more than once"),
        ("a.json", b'["\\ud800"]', "half a surrogate pair"),
        ("a.json", b"[" + b"9" * 301 + b"]", "a number of 301 digits is too large"),
        ("a.json.gz", b"no gzip", "cannot be read"),
        ("a.jsonl", b'{"id": 1}\n{"id"\n', "row 2 is not JSON"),
        ("a.csv", b"id\n1\n", "a list of tasks has one of the endings .json"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        read_label_studio(tmp_path / name)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(TableError, match="no such file"):
        read_label_studio(tmp_path / "no.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_label_studio(tmp_path / "folder.json")
