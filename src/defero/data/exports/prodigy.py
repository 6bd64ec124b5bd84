"""Prodigy's exported annotations (`prodigy db-out`): JSON lines, one decision each, as items and long answers.

Fields read, as documented and as they stand in published exports: `answer` (accept, reject or ignore), `accept` (the
chosen option ids of the choice interface), `label` (the one that a binary decision is about), `_annotator_id` or
`_session_id`, `_timestamp`, `_input_hash`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.errors import Argument, TableError
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
from defero.data.table_spec import Control
from defero.data.tables.cells import is_blank
from defero.data.tables.json_lines import JsonRecord, field_of_type, json_records
from defero.data.tables.wide import name_text

KEY = "_input_hash"
_OWN = {"answer", "accept", "label", "options", "meta", "config"}
_MOMENT = re.compile(r".*\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2}", re.DOTALL)


def items_of(records: Sequence[JsonRecord], *, key: str, source: str) -> tuple[list[int], list[int]]:
    """Return (m,) item numbers, in the order in which items first appear, and the first record of each."""
    known: dict[str, int] = {}
    firsts: list[int] = []
    item_idx: list[int] = []
    for number, record in enumerate(records):
        cell = record.fields.get(key)
        if is_blank(cell) or isinstance(cell, list | dict | bool):
            raise TableError(
                f"{source}: {record.place}: {key!r} must name the item, got {cell!s:.40}; name a field with "
                f"{Argument('key')}."
            )
        item_idx.append(known.setdefault(name_text(cell), len(known)))
        if len(firsts) < len(known):
            firsts.append(number)
    return item_idx, firsts


def task_items(
    records: Sequence[dict[str, Any]], *, key: str | None, label: str | None, source: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the fields of tasks as a frame, the key first where there is one, and what was left out."""
    frame, notes = feature_frame(list(map(_flat, records)), own={*_OWN, key, label}, prefix="_", source=source)
    if key is None:
        return frame, notes
    keys = pd.Series([name_text(record[key]) for record in records], name=key, dtype=object)
    return pd.concat([keys, frame], axis=1), notes


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a task, those of its `meta` beside them as `meta.name`."""
    meta = record.get("meta")
    inner = meta if isinstance(meta, dict) else {}
    return {**record, **{f"meta.{name}": value for name, value in inner.items()}}


def _annotator(record: JsonRecord, *, source: str) -> str:
    for field in ("_annotator_id", "_session_id"):
        value = record.fields.get(field)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    raise TableError(f"{source}: {record.place}: expected who answered, as '_annotator_id' or '_session_id'.")


def _answer(record: JsonRecord, one_label: bool, *, source: str) -> object:
    fields, place = record.fields, record.place
    verdict, label = fields.get("answer"), fields.get("label")
    if verdict not in ("accept", "reject", "ignore"):
        raise TableError(f"{source}: {place}: 'answer' must be accept, reject or ignore, got {verdict!s:.40}.")
    if "accept" in fields:
        options = field_of_type(fields, "accept", list, source=source, place=place)
        if any(isinstance(one, list | dict) or is_blank(one) for one in options):
            raise TableError(f"{source}: {place}: 'accept' must be a list of option ids, got {options!s:.40}.")
        chosen = options if verdict == "accept" else []
        return one_answer(chosen, what="the choice", source=source, place=place)
    if is_blank(label) or isinstance(label, list | dict):
        raise TableError(f"{source}: {place}: expected the options chosen in 'accept' or a text in 'label'.")
    if verdict == "accept":
        return label
    return f"not {label}" if verdict == "reject" and one_label else None


def _when(record: JsonRecord) -> float:
    moment = record.fields.get("_timestamp")
    if isinstance(moment, bool) or not isinstance(moment, int | float) or not np.isfinite(float(moment)):
        return float("-inf")
    return float(moment)


class ProdigyExport(Export):
    """One decision in each line."""

    name = "prodigy"
    title = "Prodigy"

    def read(self, path: Path, *, label: str | None, key: str | None, control: str | None) -> ExportedCases:
        """Read everybody's decisions, one per line.

        In the choice interface the answer is the option accepted; a task rejected, ignored or accepted without an
        option has none. In a binary interface accepting a label answers it, and rejecting it answers "not" and the
        label where the file is about one label only; with several labels a rejection names no class and is no answer.
        """
        source, key = str(path), key or KEY
        records = json_records(path, of="task")
        item_idx, firsts = items_of(records, key=key, source=source)
        tasks = [records[place].fields for place in firsts]
        items, notes = task_items(tasks, key=key, label=label, source=source)
        # The one label that all binary decisions are about, if it is one.
        binary = {str(one.fields["label"]) for one in records if "accept" not in one.fields and "label" in one.fields}
        given = []
        for item, one in zip(item_idx, records, strict=True):
            who = _annotator(one, source=source)
            given.append(GivenAnswer(item, one.number, who, _answer(one, len(binary) == 1, source=source), _when(one)))
        if any(_MOMENT.fullmatch(one.who) for one in given if one.answer is not None):
            more = "sessions without a name are named by their start, so one person may be several experts."
            notes = (*notes, f"{source}: {more}")
        answers = answer_log(given, n_items=len(items), source=source)
        labels = {} if label is None else {"field": labels_in(list(map(_flat, tasks)), label, source=source)}
        return ExportedCases(items=items, answers=answers, labels=labels, key=key, notes=(*notes, *answers.notes()))

    def read_open(
        self, path: Path, *, key: str | None, control: str | None, known_key: str | None, known_control: Control | None
    ) -> OpenCases:
        """Read tasks to be decided, whether or not anybody has answered them.

        Without `key` they are named by the one of `known_key` and `_input_hash` that every task has; tasks without
        either are told apart by their row.
        """
        source = str(path)
        records = json_records(path, of="task")
        usual = [name for name in (known_key, KEY) if name is not None]
        named = (name for name in usual if all(not is_blank(one.fields.get(name)) for one in records))
        chosen = key or next(named, None)
        firsts = list(range(len(records))) if chosen is None else items_of(records, key=chosen, source=source)[1]
        items, _ = task_items([records[place].fields for place in firsts], key=chosen, label=None, source=source)
        return OpenCases(items.set_axis([records[place].number - 1 for place in firsts], axis=0), chosen)


PRODIGY = ProdigyExport()
