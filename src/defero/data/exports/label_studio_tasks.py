"""Decisions written back as Label Studio tasks: the model's answer as a prediction, the route as data fields."""

import copy
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.errors import InputError, TableError
from defero.core.wording import join_names
from defero.data.table_spec import Control
from defero.data.tables.cells import column_names, is_blank
from defero.data.tables.json_lines import ENDINGS
from defero.data.tables.wide import ItemKeys
from defero.data.whole_files import write_whole

KEY = "task_id"
ROUTING = "defero_"
MODEL_VERSION = "defero"
SOURCE = "decisions"


def tasks_with_decisions(
    tasks: Sequence[Mapping[str, Any]],
    decisions: pd.DataFrame,
    *,
    control: Control,
) -> list[dict[str, Any]]:
    """Return the tasks with a prediction and the route of each; the tasks given are not changed.

    Every column of the decisions becomes a data field called `defero_` and its name (`defero_route`,
    `defero_panel`, `defero_p_model`, ...), by which tasks can be filtered. The model's own label becomes a
    prediction; one of the same version from before is replaced. Ids, other data and annotations stay as they are,
    and so does a task without a decision.

    Parameters
    ----------
    tasks : sequence of mapping
        As an export holds them.
    decisions : DataFrame
        As `defero route` writes them: the ids of the tasks, then route, panel, model_says, p_model, ...
    control : Control
        The question that the prediction answers: `Cases.control`.

    Examples
    --------
    >>> tasks = [{"id": 5, "data": {"text": "fine film"}}]
    >>> decisions = pd.DataFrame({"task_id": [5], "route": ["ann"], "model_says": ["good"], "p_model": [0.6]})
    >>> task = tasks_with_decisions(tasks, decisions, control=Control("sentiment", "text", "choices"))[0]
    >>> task["data"]["defero_route"], task["predictions"][0]["score"]
    ('ann', 0.6)
    """
    table = decisions.set_axis(list(column_names(decisions, source=SOURCE)), axis=1)
    if table.columns.empty:
        raise TableError(f"{SOURCE}: has no columns.")
    own_key = table.columns[0]
    ids = [task.get("id") if task.get("id") is not None else number for number, task in enumerate(tasks, start=1)]
    keys = ItemKeys.of(pd.DataFrame({KEY: pd.Series(ids, dtype=object)}), KEY, source="tasks", first_row=1)
    place = keys.find(table[own_key], rows=np.arange(len(table)), source=SOURCE, unknown="error")
    if len(set(place.tolist())) < len(place):
        raise TableError(f"{SOURCE}: column {own_key}: a task has two decisions; leave one row for each task.")
    decided = [copy.deepcopy(dict(task)) for task in tasks]
    rows = table.drop(columns=own_key).astype(object).to_dict("records")
    for number, row in zip(place.tolist(), rows, strict=True):
        _add_decision(decided[number], row, control)
    return decided


def _add_decision(task: dict[str, Any], row: Mapping[Any, Any], control: Control) -> None:
    plain = {str(name): _plain(value) for name, value in row.items()}
    task["data"] = {**(task.get("data") or {}), **{f"{ROUTING}{name}": value for name, value in plain.items()}}
    answer = plain.get("model_says")
    if answer is None:
        return
    prediction: dict[str, Any] = {"model_version": MODEL_VERSION, "result": [control.result(answer)]}
    if isinstance(plain.get("p_model"), int | float):
        prediction["score"] = plain["p_model"]
    others = [one for one in task.get("predictions") or [] if one.get("model_version") != MODEL_VERSION]
    task["predictions"] = [*others, prediction]


def _plain(value: Any) -> Any:
    if is_blank(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def write_label_studio(path: str | PathLike[str], tasks: Sequence[Mapping[str, Any]]) -> None:
    """Write tasks as Label Studio imports them: .json a list, .jsonl one per line; the whole file or none of it."""
    target = Path(path)
    name = target.name.lower()
    if not name.endswith(ENDINGS):
        raise TableError(f"{path}: a list of tasks has one of the endings {join_names(ENDINGS)}.")
    whole = name.removesuffix(".gz").endswith(".json")
    try:
        if whole:
            text = json.dumps(list(tasks), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        else:
            text = "".join(json.dumps(task, ensure_ascii=False, allow_nan=False) + "\n" for task in tasks)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be values that JSON can hold ({error}).", argument="tasks") from error
    write_whole(target, text.encode("utf-8"))
