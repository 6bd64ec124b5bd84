"""Label Studio's raw JSON export: tasks with everybody's annotations, as items and long answers.

Written back, the model's answer becomes a prediction and the route data fields.
"""

import copy
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.errors import Argument, InputError, TableError
from defero.core.wording import did_you_mean, join_names
from defero.data.exports.export import (
    Export,
    ExportedCases,
    GivenAnswer,
    OpenCases,
    answer_log,
    feature_frame,
    labels_in,
    one_answer,
)
from defero.data.table_spec import STEP, Control
from defero.data.tables.cells import column_names, is_blank
from defero.data.tables.json_lines import JsonRecord, field_of_type, json_records
from defero.data.tables.wide import ItemKeys
from defero.data.whole_files import write_whole

KEY = "task_id"
WRITTEN = (".json", ".json.gz")
ROUTING = "defero_"
MODEL_VERSION = "defero"
SOURCE = "decisions"
KINDS = ("choices", "rating", "taxonomy")


@dataclass(frozen=True)
class StudioEntry:
    """An annotation as it stands in the file, and its results; none where it was cancelled."""

    task: int
    place: str
    record: Mapping[str, Any]
    results: list[dict[str, Any]]
    cancelled: bool

    @property
    def truth(self) -> bool:
        """Is it marked as ground truth?"""
        return bool(self.record.get("ground_truth"))


@dataclass(frozen=True)
class StudioTasks:
    """The tasks of a file as read, their ids, what a message calls them, and their data fields."""

    source: str
    records: tuple[dict[str, Any], ...]
    ids: list[Any]
    data: list[dict[str, Any]]

    @classmethod
    def of(cls, path: Path) -> "StudioTasks":
        """Read the tasks, one list of them or one in each line."""
        source, records = str(path), json_records(path, of="task")
        ids = task_ids(records, source=source)
        pairs = zip(records, ids, strict=True)
        data = [field_of_type(one.fields, "data", dict, source=source, place=f"task {task}") for one, task in pairs]
        return cls(source, tuple(one.fields for one in records), ids, data)

    def annotations(self) -> Iterator[StudioEntry]:
        """Yield the annotations of all tasks. Drafts stand in a list of their own and are not read."""
        for number, (task, name) in enumerate(zip(self.records, self.ids, strict=True)):
            where = {"source": self.source, "place": f"task {name}"}
            for record in _objects(task, "annotations", **where):
                cancelled = bool(record.get("was_cancelled"))
                results = [] if cancelled else _objects(record, "result", **where)
                yield StudioEntry(number, where["place"], record, results, cancelled)


def _objects(record: dict[str, Any], key: str, *, source: str, place: str) -> list[dict[str, Any]]:
    values: list[Any] = field_of_type(record, key, list, source=source, place=place)
    for one in values:
        if not isinstance(one, dict):
            raise TableError(f"{source}: {place}: {key!r} must be a list of objects, got {one!s:.40} in it.")
    return values


def find_control(results: Iterable[Mapping[str, Any]], *, name: str | None, source: str) -> Control:
    """Return the control of this name; without a name the only one that asks for a class."""
    controls: dict[str, Control] = {}
    times: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for result in results:
        kind, from_name = str(result.get("type")), str(result.get("from_name"))
        if kind not in KINDS:
            other[kind] += 1
            continue
        times[from_name] += 1
        control = Control(from_name, str(result.get("to_name")), kind)
        earlier = controls.setdefault(from_name, control)
        if earlier.kind != kind:
            raise TableError(f"{source}: the control {from_name!r} is of two types, {earlier.kind} and {kind}.")
    if name is not None and name not in controls:
        names = f" The controls are {join_names(controls)}." if controls else ""
        raise TableError(f"{source}: no result of the control {name!r}{did_you_mean(name, controls)}{names}")
    if not controls:
        types = f"; the types of the results are {join_names(other)}" if other else ", got no result at all"
        raise TableError(f"{source}: expected results of type {join_names(KINDS)}{types}.")
    if name is None and len(controls) > 1:
        counts = join_names(f"{one} ({times[one]} answers)" for one in controls)
        raise TableError(f"{source}: several controls ask for a class: {counts}; name one with {Argument('control')}.")
    return controls[name if name is not None else next(iter(controls))]


def _values(result: Mapping[str, Any], control: Control, *, source: str, place: str) -> list[object]:
    value = result.get("value")
    content = value.get(control.kind) if isinstance(value, dict) else None
    if control.kind == "rating":
        values, wanted = [content if _is_number(content) else None], "a number"
    elif not isinstance(content, list):
        values, wanted = [None], "a list"
    else:
        values, wanted = [_text(one, control.kind) for one in content], "a list of texts"
    if None in values:
        raise TableError(
            f"{source}: {place}: the value of {control.from_name!r} must be {wanted} called {control.kind!r}, "
            f"got {content!s:.40}."
        )
    return values


def _is_number(content: object) -> bool:
    return isinstance(content, int | float) and not isinstance(content, bool)


def _text(one: object, kind: str) -> str | None:
    """Return what was chosen, of a taxonomy the steps to it; None where that is no text."""
    if kind == "taxonomy" and isinstance(one, list) and one and all(isinstance(step, str) for step in one):
        return STEP.join(one)
    return one.strip() or None if isinstance(one, str) else None


def _answer(one: StudioEntry, control: Control, *, source: str) -> object:
    values = [
        value
        for result in one.results
        if result.get("from_name") == control.from_name and result.get("type") == control.kind
        for value in _values(result, control, source=source, place=one.place)
    ]
    return one_answer(values, what=repr(control.from_name), source=source, place=one.place)


def _contacts(annotations: Sequence[StudioEntry]) -> dict[str, str]:
    """Return what people are called, by their number: one may be described in one place and a number in another."""
    people = [one.record.get("completed_by") for one in annotations]
    named = {str(one.get("id")): _contact(one) for one in people if isinstance(one, dict)}
    return {number: name for number, name in named.items() if name is not None}


def _name(one: StudioEntry, contacts: Mapping[str, str], *, source: str) -> str:
    """Return who gave an annotation: email, else user name, else the number."""
    person = one.record.get("completed_by")
    number = person.get("id") if isinstance(person, dict) else person
    name = _contact(person) if isinstance(person, dict) else contacts.get(str(number).strip())
    if name is None and (number is None or isinstance(number, bool) or not isinstance(number, int | str)):
        name = ""
    name = str(number).strip() if name is None else name
    if not name:
        raise TableError(
            f"{source}: {one.place}: 'completed_by' must be a user's number or an object with id, email or "
            f"username, got {person!s:.40}."
        )
    return name


def _contact(person: dict[str, Any]) -> str | None:
    for key in ("email", "username"):
        value = person.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def _when(one: StudioEntry, *, source: str) -> float:
    """Return seconds since 1970 of the last change; earliest of all where nothing is recorded."""
    for key in ("updated_at", "created_at"):
        value = one.record.get(key)
        if value is None:
            continue
        try:
            moment = datetime.fromisoformat(value)
        except (TypeError, ValueError) as error:
            raise TableError(
                f"{source}: {one.place}: {key!r} must be a time as 2024-05-01T09:30:00Z, got {value!s:.40}."
            ) from error
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return float("-inf")


def task_ids(records: Sequence[JsonRecord], *, source: str) -> list[Any]:
    """Return the tasks' ids; tasks that have not been in Label Studio yet have none, and are numbered from 1."""
    ids = [record.fields.get("id") for record in records]
    if all(one is None for one in ids):
        return list(range(1, len(ids) + 1))
    seen: dict[str, str] = {}
    for record, one in zip(records, ids, strict=True):
        if isinstance(one, bool) or not isinstance(one, int | str) or not str(one).strip():
            raise TableError(f"{source}: {record.place}: 'id' must be a number or a text, got {one!s:.40}.")
        earlier = seen.setdefault(str(one).strip(), record.place)
        if earlier != record.place:
            raise TableError(f"{source}: {earlier} and {record.place} have the same id {one!s:.40}.")
    return ids


def task_items(tasks: StudioTasks, *, label: str | None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the tasks' data fields as a frame with their ids first, and what was left out; no routing fields."""
    ids = tasks.ids
    frame, notes = feature_frame(tasks.data, own={label, KEY}, prefix=ROUTING, source=tasks.source)
    if any(KEY in one and str(one[KEY]) != str(task) for one, task in zip(tasks.data, ids, strict=True)):
        notes = (*notes, f"{tasks.source}: the data field {KEY} is left out; it is not the task's id.")
    key = pd.Series(ids, name=KEY, dtype=None if all(_is_small(one) for one in ids) else object)
    return pd.concat([key, frame], axis=1), notes


def _is_small(value: object) -> bool:
    return isinstance(value, int) and abs(value) < 2**63


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
    """Write tasks as Label Studio imports them, a list in a .json or .json.gz file; the whole file or none of it."""
    target = Path(path)
    if not target.name.lower().endswith(WRITTEN):
        raise TableError(f"{path}: a list of tasks has one of the endings {join_names(WRITTEN)}.")
    try:
        text = json.dumps(list(tasks), ensure_ascii=False, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be values that JSON can hold ({error}).", argument="tasks") from error
    write_whole(target, f"{text}\n".encode())


class LabelStudioExport(Export):
    """Tasks with everybody's annotations."""

    name = "label-studio"
    title = "Label Studio"
    endings = WRITTEN
    written = WRITTEN
    key = KEY
    has_control = True
    way_to_label = "mark annotations as ground truth"

    def read(self, path: Path, *, label: str | None, key: str | None, control: str | None) -> ExportedCases:
        """Read everybody's annotations of tasks.

        Cancelled annotations and drafts do not count; of several annotations of one person on a task the one updated
        last does. An annotation marked as ground truth is the label, and not also an answer of the person who gave it:
        it would be right by definition.
        """
        tasks, source = StudioTasks.of(path), str(path)
        recorded = {} if label is None else {"data field": labels_in(tasks.data, label, source=source)}
        people = list(tasks.annotations())
        counted = [one for one in people if not one.cancelled]
        question = find_control((one for each in counted for one in each.results), name=control, source=source)
        numbered = all(_is_small(one) for one in tasks.ids)
        truths: list[object] = [None] * len(tasks.ids)
        contacts, given = _contacts(people), list[GivenAnswer]()
        for one in sorted(counted, key=partial(_when, source=source)):
            answer = _answer(one, question, source=source)
            if one.truth:
                truths[one.task] = truths[one.task] if answer is None else answer
                continue
            row = tasks.ids[one.task] if numbered else one.task + 1
            who = _name(one, contacts, source=source)
            given.append(GivenAnswer(one.task, row, who, answer, _when(one, source=source)))
        items, notes = task_items(tasks, label=label)
        if len(counted) < len(people):
            notes = (*notes, f"{source}: {len(people) - len(counted)} cancelled annotations do not count.")
        unit = "task" if numbered else "task number"
        answers = answer_log(given, n_items=len(items), source=source, column=question.from_name, unit=unit)
        labels = {"ground truth": truths, **recorded}
        notes = (*notes, *answers.notes())
        return ExportedCases(items=items, answers=answers, labels=labels, key=KEY, notes=notes, control=question)

    def read_open(
        self, path: Path, *, key: str | None, control: str | None, known_key: str | None, known_control: Control | None
    ) -> OpenCases:
        """Read tasks to be decided, whether or not anybody has answered them; annotations tell the question."""
        tasks = StudioTasks.of(path)
        items, _ = task_items(tasks, label=None)
        if known_control is None:
            results = [result for one in tasks.annotations() for result in one.results]
            if control is not None or any(one.get("type") in KINDS for one in results):
                known_control = find_control(results, name=control, source=str(path))
        return OpenCases(items, KEY, tasks.records, known_control)

    def write(self, path: Path, cases: OpenCases, decisions: pd.DataFrame) -> None:
        """Write the tasks with a prediction and the route of each."""
        if cases.control is None:
            raise InputError(
                f"{path}: no task has an answer, so the question is not known; write a table such as decisions.csv."
            )
        write_label_studio(path, tasks_with_decisions(cases.tasks, decisions, control=cases.control))


LABEL_STUDIO = LabelStudioExport()
