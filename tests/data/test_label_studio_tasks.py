"""Decisions written back as Label Studio tasks, and read again without loss."""

import copy
from functools import partial

import numpy as np
import pandas as pd
import pytest
from studio import TASKS, answers, write_export

from defero.core.errors import InputError, TableError
from defero.data.exports.label_studio import LABEL_STUDIO, tasks_with_decisions, write_label_studio
from defero.data.table_spec import Control


@pytest.fixture
def export(tmp_path):
    return partial(write_export, tmp_path)


def read_label_studio(path):
    return LABEL_STUDIO.read(path, label=None, key=None, control=None)


DECISIONS = pd.DataFrame(
    {
        "task_id": ["13", "11"],
        "route": ["7", "model"],
        "panel": ["7; ann@example.org", ""],
        "model_says": ["bad", "good"],
        "p_model": [0.51, np.float64(0.9)],
        "p_7": [0.8, np.nan],
        "reason": ["7 is surer", "the model is surer"],
    }
)


@pytest.mark.parametrize("name", ["back.json", "back.json.gz"])
def test_tasks_written_back_are_read_again_without_loss(export, tmp_path, name):
    before, kept = read_label_studio(export()), copy.deepcopy(TASKS)
    told = tasks_with_decisions(TASKS, DECISIONS, control=before.control)
    assert kept == TASKS  # the tasks given are not changed
    write_label_studio(tmp_path / name, told)
    after = read_label_studio(tmp_path / name)
    pd.testing.assert_frame_equal(after.items, before.items)
    assert answers(after) == answers(before)
    assert after.labels == before.labels
    again = LABEL_STUDIO.read_open(tmp_path / name, key=None, control=None, known_key=None, known_control=None)
    for old, new in zip(TASKS, again.tasks, strict=True):
        for key in old:
            if key not in {"data", "predictions"}:
                assert new[key] == old[key]
        assert old["data"].items() <= new["data"].items()
        assert all(one in new["predictions"] for one in old.get("predictions", []))


def test_what_a_task_is_told():
    earlier = [{**TASKS[0], "predictions": [{"model_version": "defero", "score": 0.1}]}, *TASKS[1:]]
    told = tasks_with_decisions(earlier, DECISIONS, control=Control("mood", "text", "choices"))
    assert told[2]["data"] == {
        "text": "not seen",
        "stars": None,
        "defero_route": "7",
        "defero_panel": "7; ann@example.org",
        "defero_model_says": "bad",
        "defero_p_model": 0.51,
        "defero_p_7": 0.8,
        "defero_reason": "7 is surer",
    }
    result = {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["bad"]}}
    assert told[2]["predictions"] == [{"model_version": "defero", "result": [result], "score": 0.51}]
    assert told[1] == TASKS[1]  # no decision
    assert [one["score"] for one in told[0]["predictions"]] == [0.9]  # that of before is replaced
    assert (told[0]["data"]["defero_panel"], told[0]["data"]["defero_p_7"]) == (None, None)


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        (
            pd.DataFrame({"task_id": [99], "route": ["model"]}),
            "decisions: row 0, column task_id: tasks has no item '99'",
        ),
        (pd.DataFrame({"task_id": [11, 11.0], "route": ["a", "b"]}), "a task has two decisions"),
        (pd.DataFrame(), "decisions: has no columns"),
    ],
)
def test_decisions_that_do_not_fit(decisions, message):
    with pytest.raises(TableError, match=message):
        tasks_with_decisions(TASKS, decisions, control=Control("mood", "text", "choices"))


def test_the_key_is_the_first_column_where_none_is_called_so():
    decisions = pd.DataFrame({"row": [14], "route": ["model"]})
    told = tasks_with_decisions(TASKS, decisions, control=Control("mood", "text", "choices"))
    assert told[3]["data"]["defero_route"] == "model"


@pytest.mark.parametrize(
    ("name", "tasks", "error", "message"),
    [
        ("a.csv", [], TableError, "a list of tasks has one of the endings"),
        ("no/a.json", [], TableError, "the folder .*no does not exist"),
        ("a.json", [{"x": float("nan")}], InputError, "tasks must be values that JSON can hold"),
        ("a.json", [{"x": {1}}], InputError, "tasks must be values that JSON can hold"),
    ],
)
def test_tasks_that_cannot_be_written(tmp_path, name, tasks, error, message):
    with pytest.raises(error, match=message):
        write_label_studio(tmp_path / name, tasks)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_that_name_stays(tmp_path):
    (tmp_path / "a.json").mkdir()
    with pytest.raises(TableError, match="is a folder; name a file"):
        write_label_studio(tmp_path / "a.json", [{"id": 1}])
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]
