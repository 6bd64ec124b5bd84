"""Prodigy tasks to be decided: new ones that nobody has seen, or an export's."""

from dataclasses import dataclass
from os import PathLike

import pandas as pd

from defero.data.exports.prodigy import KEY, items_of, task_items
from defero.data.tables.cells import is_blank
from defero.data.tables.json_lines import json_records


@dataclass(frozen=True, eq=False)
class OpenLines:
    """Tasks, each once.

    Attributes
    ----------
    items : (n, ...) DataFrame
        The key where there is one, then the tasks' fields and `meta.<name>`. The index is the row in the file, less 1.
    key : str or None
        The column that names the items; None where nothing does but their row.
    """

    items: pd.DataFrame
    key: str | None


def read_lines(path: str | PathLike[str], *, key: str | None = None, known: str | None = None) -> OpenLines:
    """Read tasks, whether or not anybody has answered them.

    Parameters
    ----------
    path : path
        .jsonl or .ndjson, also with .gz; or .json with a list.
    key : str, optional
        The field that names the items, in every task. Else the one of `known` and `_input_hash` that every task has;
        tasks without either are told apart by their row.
    known : str, optional
        The key that a model was fitted with.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "new.jsonl"
    >>> _ = file.write_text('{"text": "fine film", "meta": {"year": 1999}}')
    >>> read_lines(file).items.to_dict("list")
    {'text': ['fine film'], 'meta.year': [1999]}
    """
    source = str(path)
    records = json_records(path, of="task")
    usual = [name for name in (known, KEY) if name is not None]
    chosen = key or next((name for name in usual if all(not is_blank(one.fields.get(name)) for one in records)), None)
    firsts = list(range(len(records))) if chosen is None else items_of(records, key=chosen, source=source)[1]
    items, _ = task_items([records[place].fields for place in firsts], key=chosen, label=None, source=source)
    return OpenLines(items.set_axis([records[place].number - 1 for place in firsts], axis=0), chosen)
