"""Label Studio's raw JSON export: tasks with everybody's annotations, as items and long answers."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from defero.core.checks.arrays import one_of
from defero.core.errors import InputError, TableError
from defero.data.answers.labels import LabelChoice, describe_sources, known_labels
from defero.data.answers.log import AnswerLog, latest_answers
from defero.data.exports.export import Export, ExportedCases, OpenCases
from defero.data.exports.fields import SEVERAL, Several, feature_frame
from defero.data.exports.label_studio_results import (
    KINDS,
    GivenAnswer,
    collect_answers,
    entries_of,
    find_control,
    results_of,
)
from defero.data.exports.label_studio_tasks import KEY, ROUTING, tasks_with_decisions, write_label_studio
from defero.data.table_spec import Control
from defero.data.tables.cells import no_such_column
from defero.data.tables.json_lines import Record, field_of_type, json_records


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
    _check_label(label, data, source=source)
    people = list(entries_of(tasks, places, by_model=False, source=source))
    counted = [entry for entry in people if not entry.cancelled]
    models = list(entries_of(tasks, places, by_model=True, source=source)) if predictions == "experts" else []
    results = (
        one for entry in (*counted, *models) for one in results_of(entry.record, source=source, place=entry.place)
    )
    question = find_control(results, name=control, source=source)
    answer_list = collect_answers([*counted, *models], question, several=several, names=names, source=source)
    answers = _answer_log(answer_list, ids, column=question.from_name, source=source)
    known = known_labels(
        answers,
        ("ground truth", _truths(answer_list, n_items=len(tasks))),
        ("data field", None if label is None else [fields.get(label) for fields in data]),
        without_label=without_label,
    )
    items, notes = task_items(ids, data, label=label, source=source)
    if len(people) > len(counted):
        notes = (*notes, f"{source}: {len(people) - len(counted)} cancelled annotations do not count.")
    return ExportedCases(
        items=items,
        answers=answers,
        labels=known.labels,
        label_sources=known.sources,
        n_tied=known.n_tied,
        key=KEY,
        control=question,
        lead_time=_lead_times(answer_list),
        tasks=tasks,
        notes=(describe_sources(known.sources, source=source), *notes, *answers.notes()),
    )


def read_tasks(path: str | PathLike[str], *, control: str | None = None, known: Control | None = None) -> OpenCases:
    """Read tasks, whether or not anybody has answered them.

    Parameters
    ----------
    path : path
        .json, .jsonl or .ndjson, each also with .gz.
    control : str, optional
        The name of the question, where annotations answer several.
    known : Control, optional
        The question, where it is known already.

    Examples
    --------
    >>> import json, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "new.json"
    >>> _ = file.write_text(json.dumps([{"data": {"text": "fine film"}}]))
    >>> read_tasks(file).items.to_dict("list")
    {'task_id': [1], 'text': ['fine film']}
    """
    source = str(path)
    tasks, ids, places, data = _open_tasks(path)
    items, _ = task_items(ids, data, label=None, source=source)
    if known is None:
        entries = [entry for entry in entries_of(tasks, places, by_model=False, source=source) if not entry.cancelled]
        results = [one for entry in entries for one in results_of(entry.record, source=source, place=entry.place)]
        if control is not None or any(one.get("type") in KINDS for one in results):
            known = find_control(results, name=control, source=source)
    return OpenCases(items, KEY, tasks, known)


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


def _check_label(label: str | None, data: Sequence[dict[str, Any]], *, source: str) -> None:
    if label is not None and not any(label in fields for fields in data):
        names = sorted({name for fields in data for name in fields})
        raise no_such_column(label, names, source=source, role="the label")


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


def _answer_log(answers: Sequence[GivenAnswer], ids: Sequence[Any], *, column: str, source: str) -> AnswerLog:
    answered = [one for one in answers if one.answer is not None and not one.truth]
    numbered = all(_is_small(one) for one in ids)
    return latest_answers(
        np.array([one.task for one in answered], dtype=np.int64),
        [str(one.who) for one in answered],
        np.array([*(one.answer for one in answered), None], dtype=object)[:-1],
        rows=np.array([ids[one.task] if numbered else one.task + 1 for one in answered], dtype=np.int64),
        when=np.array([one.when for one in answered], dtype=np.float64),
        n_items=len(ids),
        n_blank=sum(one.answer is None for one in answers),
        source=source,
        column=column,
        unit="task" if numbered else "task number",
    )


def _truths(answers: Sequence[GivenAnswer], *, n_items: int) -> list[object]:
    """Return the annotation marked as ground truth, the one updated last where there are several."""
    truths: list[object] = [None] * n_items
    for one in sorted((one for one in answers if one.truth and one.answer is not None), key=lambda one: one.when):
        truths[one.task] = one.answer
    return truths


def _lead_times(answers: Sequence[GivenAnswer]) -> dict[str, float]:
    seconds: dict[str, list[float]] = {}
    for one in answers:
        if one.answer is not None and one.who is not None and np.isfinite(one.seconds):
            seconds.setdefault(one.who, []).append(one.seconds)
    return {who: float(np.median(times)) for who, times in sorted(seconds.items())}


class _LabelStudio(Export):
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
        """Read tasks to be decided."""
        return read_tasks(path, control=control, known=known_control)

    def write(self, path: Path, cases: OpenCases, decisions: pd.DataFrame) -> None:
        """Write the tasks with a prediction and the route of each."""
        if cases.control is None:
            raise InputError(
                f"{path}: no task has an answer, so the question is not known; write a table such as decisions.csv."
            )
        own_key = str(decisions.columns[0])
        write_label_studio(path, tasks_with_decisions(cases.tasks, decisions, control=cases.control, key=own_key))


LABEL_STUDIO = _LabelStudio()
