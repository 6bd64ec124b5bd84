"""Label Studio's raw JSON export: tasks with everybody's annotations, as items and long answers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from defero.core.checks.arrays import one_of
from defero.core.errors import Argument, InputError, TableError
from defero.core.wording import did_you_mean, join_names
from defero.data.answers.labels import LabelChoice
from defero.data.exports.export import (
    SEVERAL,
    Export,
    ExportedCases,
    GivenAnswer,
    OpenCases,
    Several,
    exported,
    feature_frame,
    number_or_nan,
    one_answer,
)
from defero.data.exports.label_studio_tasks import KEY, ROUTING, tasks_with_decisions, write_label_studio
from defero.data.table_spec import STEP, Control
from defero.data.tables.cells import no_such_column
from defero.data.tables.json_lines import Record, field_of_type, json_records

KINDS = ("choices", "rating", "taxonomy")


@dataclass(frozen=True)
class StudioEntry:
    """An annotation or a prediction as it stands in the file, and its results; none where it was cancelled."""

    task: int
    place: str
    record: Mapping[str, Any]
    results: list[dict[str, Any]]
    by_model: bool
    cancelled: bool

    @property
    def truth(self) -> bool:
        """Is the annotation marked as ground truth?"""
        return not self.by_model and bool(self.record.get("ground_truth"))


def annotations_of(
    tasks: Sequence[dict[str, Any]], places: Sequence[str], *, by_model: bool, source: str
) -> Iterator[StudioEntry]:
    """Yield the annotations, or the predictions, of all tasks. Drafts stand in a list of their own and are not read."""
    key = "predictions" if by_model else "annotations"
    for number, (task, place) in enumerate(zip(tasks, places, strict=True)):
        for record in field_of_type(task, key, list, source=source, place=place):
            if not isinstance(record, dict):
                raise TableError(f"{source}: {place}: {key!r} must be a list of objects, got {record!s:.40} in it.")
            cancelled = not by_model and bool(record.get("was_cancelled"))
            results = [] if cancelled else field_of_type(record, "result", list, source=source, place=place)
            wrong = [one for one in results if not isinstance(one, dict)]
            if wrong:
                raise TableError(f"{source}: {place}: 'result' must be a list of objects, got {wrong[0]!s:.40} in it.")
            yield StudioEntry(number, place, record, results, by_model, cancelled)


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
        raise TableError(
            f"{source}: several controls ask for a class: {counts}; name one with ", Argument("control"), "."
        )
    return controls[name if name is not None else next(iter(controls))]


def _values(result: Mapping[str, Any], control: Control, *, source: str, place: str) -> Iterator[object]:
    value = result.get("value")
    content = value.get(control.kind) if isinstance(value, dict) else None
    if control.kind == "rating":
        if isinstance(content, bool) or not isinstance(content, int | float):
            raise _no_value(content, "a number", control, source=source, place=place)
        yield content
        return
    if not isinstance(content, list):
        raise _no_value(content, "a list", control, source=source, place=place)
    for one in content:
        if control.kind == "taxonomy" and isinstance(one, list) and one and all(isinstance(step, str) for step in one):
            yield STEP.join(one)
        elif isinstance(one, str) and one.strip():
            yield one.strip()
        else:
            raise _no_value(content, "a list of texts", control, source=source, place=place)


def _no_value(content: object, wanted: str, control: Control, *, source: str, place: str) -> TableError:
    return TableError(
        f"{source}: {place}: the value of {control.from_name!r} must be {wanted} called {control.kind!r}, "
        f"got {content!s:.40}."
    )


def given_answers(
    annotations: Sequence[StudioEntry],
    control: Control,
    *,
    rows: Sequence[int],
    several: Several,
    names: Mapping[Any, str] | None,
    source: str,
) -> list[GivenAnswer]:
    """Return the answers to one control; `rows` is what a message calls each task.

    Nobody need have given the truth; every other answer has a name. A model of a person's name gets " (model)".
    """
    people = _names(annotations, names, source=source)
    humans = {name for name, one in zip(people, annotations, strict=True) if not one.by_model}
    given = []
    for name, one in zip(people, annotations, strict=True):
        values = [
            value
            for result in one.results
            if result.get("from_name") == control.from_name and result.get("type") == control.kind
            for value in _values(result, control, source=source, place=one.place)
        ]
        answer = one_answer(values, several=several, what=repr(control.from_name), source=source, place=one.place)
        who = f"{name} (model)" if one.by_model and name in humans else name
        when, seconds = _when(one, source=source), number_or_nan(one.record.get("lead_time"))
        given.append(GivenAnswer(one.task, rows[one.task], who, answer, when, one.truth, seconds))
    return given


def _names(annotations: Sequence[StudioEntry], names: Mapping[Any, str] | None, *, source: str) -> list[str | None]:
    """Return who gave each annotation: the name wanted, else email, else user name, else the number.

    A person whom the export describes in one place may stand with a number in another.
    """
    wanted = {str(key): name for key, name in (names or {}).items()}
    described = [one.record.get("completed_by") for one in annotations if not one.by_model]
    known = [one for one in described if isinstance(one, dict) and one.get("id") is not None]
    contacts = {str(one["id"]): _contact(one) for one in known}
    people: list[str | None] = []
    for one in annotations:
        if one.by_model:
            people.append(str(one.record.get("model_version") or "").strip() or "prediction")
        elif one.truth:
            people.append(None)
        else:
            forms = _forms(one.record.get("completed_by"), contacts)
            if not forms:
                raise TableError(
                    f"{source}: {one.place}: 'completed_by' must be a user's number or an object with id, email or "
                    f"username, got {one.record.get('completed_by')!s:.40}."
                )
            people.append(next((wanted[form] for form in forms if form in wanted), forms[0]))
    return people


def _forms(completed_by: object, contacts: Mapping[str, str | None]) -> list[str]:
    """Return what a person may be called, the best first."""
    forms: list[object] = []
    if isinstance(completed_by, dict):
        forms = [_contact(completed_by), completed_by.get("id")]
    elif isinstance(completed_by, int | str) and not isinstance(completed_by, bool) and str(completed_by).strip():
        number = str(completed_by).strip()
        forms = [contacts.get(number), number]
    return [str(form) for form in forms if form is not None]


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


def read_label_studio(
    path: str | PathLike[str],
    *,
    control: str | None = None,
    label: str | None = None,
    without_label: LabelChoice = "leave out",
    several: Several = "error",
    predictions: Literal["ignore", "experts"] = "ignore",
    names: Mapping[Any, str] | None = None,
) -> ExportedCases:
    """Read an export in the raw JSON format (a list of tasks), or tasks one per line.

    Cancelled annotations and drafts do not count; of several annotations of one person on a task the one updated
    last does. An annotation marked as ground truth is the label, and not also an answer of the person who gave it:
    it would be right by definition.

    Parameters
    ----------
    path : path
        .json, .jsonl or .ndjson, each also with .gz.
    control : str, optional
        The `name` of the Choices, Rating or Taxonomy tag; needed where there are several.
    label : str, optional
        A data field that holds the truth, for tasks without an annotation marked as ground truth.
    without_label : "leave out" or "majority"
        What to do with tasks that have no label. Where no task has one, the majority is taken anyway.
    several : "error", "join" or "leave out"
        What to do with an annotation that chose several classes: "join" makes one class, such as "a; b", of them.
    predictions : "ignore" or "experts"
        Whether the models that made predictions are experts, each by the name of its `model_version`.
    names : mapping, optional
        From a user's number, email or user name to the expert's name. Else email, user name or number.

    Returns
    -------
    ExportedCases
    """
    source = str(path)
    one_of("without_label", without_label, ("leave out", "majority"))
    one_of("several", several, SEVERAL)
    one_of("predictions", predictions, ("ignore", "experts"))
    tasks, ids, places, data = _open_tasks(path)
    if label is not None and not any(label in fields for fields in data):
        fields_there = sorted({name for fields in data for name in fields})
        raise no_such_column(label, fields_there, source=source, role="the label")
    people = list(annotations_of(tasks, places, by_model=False, source=source))
    counted = [one for one in people if not one.cancelled]
    if predictions == "experts":
        counted += annotations_of(tasks, places, by_model=True, source=source)
    question = find_control((one for each in counted for one in each.results), name=control, source=source)
    numbered = all(_is_small(one) for one in ids)
    rows = ids if numbered else range(1, len(ids) + 1)
    given = given_answers(counted, question, rows=rows, several=several, names=names, source=source)
    items, notes = task_items(ids, data, label=label, source=source)
    n_cancelled = sum(one.cancelled for one in people)
    if n_cancelled:
        notes = (*notes, f"{source}: {n_cancelled} cancelled annotations do not count.")
    cases = exported(
        items,
        given,
        ("data field", None if label is None else [fields.get(label) for fields in data]),
        truth="ground truth",
        key=KEY,
        without_label=without_label,
        source=source,
        notes=notes,
        column=question.from_name,
        unit="task" if numbered else "task number",
    )
    seconds: dict[str, list[float]] = {}
    for one in given:
        if one.answer is not None and one.who is not None and np.isfinite(one.seconds):
            seconds.setdefault(one.who, []).append(one.seconds)
    lead_time = {who: float(np.median(times)) for who, times in sorted(seconds.items())}
    return replace(cases, control=question, lead_time=lead_time, tasks=tasks)


def _open_tasks(
    path: str | PathLike[str],
) -> tuple[tuple[dict[str, Any], ...], list[Any], list[str], list[dict[str, Any]]]:
    """Return the tasks as read, their ids, what a message calls them, and their data fields."""
    source = str(path)
    records = json_records(path, of="task")
    ids = task_ids(records, source=source)
    places = [f"task {one}" for one in ids]
    data = [
        field_of_type(record.fields, "data", dict, source=source, place=place)
        for record, place in zip(records, places, strict=True)
    ]
    return tuple(record.fields for record in records), ids, places, data


def task_ids(records: Sequence[Record], *, source: str) -> list[Any]:
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


def task_items(
    ids: list[Any], data: Sequence[dict[str, Any]], *, label: str | None, source: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the tasks' data fields as a frame with their ids first, and what was left out; no routing fields."""
    own = {label, KEY}
    fields = [
        {name: value for name, value in one.items() if name not in own and not name.startswith(ROUTING)} for one in data
    ]
    frame, notes = feature_frame(fields, source=source, of="task")
    if any(KEY in one and str(one[KEY]) != str(task) for one, task in zip(data, ids, strict=True)):
        notes = (*notes, f"{source}: the data field {KEY} is left out; it is not the task's id.")
    key = pd.Series(ids, name=KEY, dtype=None if all(_is_small(one) for one in ids) else object)
    return pd.concat([key, frame], axis=1), notes


def _is_small(value: object) -> bool:
    return isinstance(value, int) and abs(value) < 2**63


class LabelStudioExport(Export):
    """Tasks with everybody's annotations."""

    name = "label-studio"
    title = "Label Studio"
    endings = (".json", ".json.gz")
    written = (".json", ".json.gz")
    key = KEY
    has_control = True
    way_to_label = "mark annotations as ground truth"

    def read(
        self, path: Path, *, label: str | None, without_label: LabelChoice, key: str | None, control: str | None
    ) -> ExportedCases:
        """Read everybody's annotations of tasks."""
        return read_label_studio(path, control=control, label=label, without_label=without_label)

    def read_open(
        self, path: Path, *, key: str | None, control: str | None, known_key: str | None, known_control: Control | None
    ) -> OpenCases:
        """Read tasks to be decided, whether or not anybody has answered them; annotations tell the question."""
        source = str(path)
        tasks, ids, places, data = _open_tasks(path)
        items, _ = task_items(ids, data, label=None, source=source)
        if known_control is None:
            each = annotations_of(tasks, places, by_model=False, source=source)
            results = [result for one in each for result in one.results]
            if control is not None or any(one.get("type") in KINDS for one in results):
                known_control = find_control(results, name=control, source=source)
        return OpenCases(items, KEY, tasks, known_control)

    def write(self, path: Path, cases: OpenCases, decisions: pd.DataFrame) -> None:
        """Write the tasks with a prediction and the route of each."""
        if cases.control is None:
            raise InputError(
                f"{path}: no task has an answer, so the question is not known; write a table such as decisions.csv."
            )
        own_key = str(decisions.columns[0])
        write_label_studio(path, tasks_with_decisions(cases.tasks, decisions, control=cases.control, key=own_key))


LABEL_STUDIO = LabelStudioExport()
