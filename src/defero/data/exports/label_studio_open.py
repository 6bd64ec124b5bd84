"""Label Studio tasks to be decided: new ones without an answer, or any others."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

import pandas as pd

from defero.data.exports.label_studio import task_ids, task_items
from defero.data.exports.label_studio_given import entries_of
from defero.data.exports.label_studio_results import KINDS, Control, find_control, results_of
from defero.data.tables.json_lines import json_records, typed


@dataclass(frozen=True, eq=False)
class OpenTasks:
    """Tasks, and the question that is asked of them where anything tells it.

    Attributes
    ----------
    items : (n, ...) DataFrame
        `task_id`, then the tasks' data fields.
    tasks : tuple of dict
        As read, for writing back.
    control : Control or None
    """

    items: pd.DataFrame
    tasks: tuple[dict[str, Any], ...]
    control: Control | None


def read_tasks(path: str | PathLike[str], *, control: str | None = None, known: Control | None = None) -> OpenTasks:
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
    records = json_records(path, of="task")
    tasks = tuple(record.fields for record in records)
    ids = task_ids(records, source=source)
    places = [f"task {one}" for one in ids]
    data = [typed(task, "data", dict, source=source, place=place) for task, place in zip(tasks, places, strict=True)]
    items, _ = task_items(ids, data, label=None, source=source)
    if known is None:
        entries = [entry for entry in entries_of(tasks, places, by_model=False, source=source) if not entry.cancelled]
        results = [one for entry in entries for one in results_of(entry.record, source=source, place=entry.place)]
        if control is not None or any(one.get("type") in KINDS for one in results):
            known = find_control(results, name=control, source=source)
    return OpenTasks(items, tasks, known)
