"""Long annotations: one row per answer, `item, annotator, label`, joined to a table of items."""

from os import PathLike
from typing import Literal

import numpy as np
import pandas as pd

from defero.core.checks import BoolArray, IntArray
from defero.core.errors import InputError, TableError
from defero.core.labels import Labels
from defero.data.answers.long_answers import LongAnswers, triplets
from defero.data.answers.long_columns import key_column, long_columns
from defero.data.tables.cells import is_blank, numbers, shown
from defero.data.tables.columns import column_names
from defero.data.tables.formats import first_row as first_row_of
from defero.data.tables.item_keys import ItemKeys, name_text
from defero.data.tables.read import read_chunks, read_frame


def read_long(
    path: str | PathLike[str],
    items: pd.DataFrame,
    *,
    key: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    answer: str | None = None,
    time: str | None = None,
    unknown: Literal["error", "ignore"] = "error",
    items_source: str = "items",
    items_first_row: int = 0,
) -> LongAnswers:
    """Read long annotations from a CSV, TSV, JSON lines or Parquet file and join them to items; see `join_answers`."""
    head = next(iter(read_chunks(path, rows=1)))
    columns = long_columns(head, item=item, annotator=annotator, answer=answer, time=time, source=str(path))
    frame = read_frame(path, as_text=[columns.item, columns.annotator, columns.answer])
    return join_answers(
        items,
        frame,
        key=key,
        item=columns.item,
        annotator=columns.annotator,
        answer=columns.answer,
        time=time,
        unknown=unknown,
        source=str(path),
        items_source=items_source,
        first_row=first_row_of(path),
        items_first_row=items_first_row,
    )


def join_answers(
    items: pd.DataFrame,
    annotations: pd.DataFrame,
    *,
    key: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    answer: str | None = None,
    time: str | None = None,
    unknown: Literal["error", "ignore"] = "error",
    source: str = "annotations",
    items_source: str = "items",
    first_row: int = 0,
    items_first_row: int = 0,
) -> LongAnswers:
    """Join answers, one per row, to the items they were given to.

    Keys compare as written, white space around them dropped; a number is written without a needless point: 7, 7.0
    and "7" are one key, "007" is another. The text "7.0" is 7 where no item is called "7.0".

    Parameters
    ----------
    items : (n, ...) DataFrame
        One row per item.
    annotations : DataFrame
        One row per answer. A blank answer is none, and replaces none.
    key : str, optional
        The items' own column of keys; else found by name.
    item, annotator, answer : str, optional
        The columns of `annotations`; else found by name: item, task, case, id, ...; annotator, worker, expert,
        user, ...; label, answer, choice, response, ...
    time : str, optional
        Numbers or ISO times: of several answers of one person to one item the latest counts. Without it, and among
        equal times, the last in the file.
    unknown : "error" or "ignore"
        What to do about answers to items that are not in `items`.
    source, items_source : str
        What a message calls the two tables.
    first_row, items_first_row : int
        The number of the row whose index is 0.

    Returns
    -------
    LongAnswers

    Examples
    --------
    >>> items = pd.DataFrame({"task": ["a", "b"], "size": [1.5, 2.5]})
    >>> long = pd.DataFrame({"task": ["a", "b", "a"], "worker": ["w10", "w9", "w9"], "label": ["x", "y", "x"]})
    >>> answers = join_answers(items, long)
    >>> answers.expert_names, answers.frame().values.tolist()
    (('w9', 'w10'), [['x', 'x'], ['y', None]])
    """
    if unknown not in {"error", "ignore"}:
        raise InputError(f"unknown must be 'error' or 'ignore', got {unknown!r}.")
    columns = long_columns(annotations, item=item, annotator=annotator, answer=answer, time=time, source=source)
    frame = annotations.set_axis(list(column_names(annotations, source=source)), axis=1)
    table = items.set_axis(list(column_names(items, source=items_source)), axis=1)
    own_key = key_column(table, key, item=columns.item, source=items_source)
    keys = ItemKeys.of(table, own_key, source=items_source, first_row=items_first_row)
    blank = np.array([is_blank(cell) for cell in frame[columns.answer].tolist()], dtype=np.bool_)
    said = frame[~blank]
    rows = _row_numbers(frame, first_row=first_row)[~blank]
    item_idx = keys.find(said[columns.item], rows=rows, source=source, unknown=unknown)
    known = item_idx >= 0
    names = _annotator_names(said, columns.annotator, rows=rows, source=source)
    when = None if columns.time is None else _times(said, columns.time, rows=rows, source=source)[known]
    return triplets(
        item_idx[known],
        [name for name, inside in zip(names, known, strict=True) if inside],
        np.array([*said[columns.answer].tolist(), None], dtype=object)[:-1][known],
        rows=rows[known],
        when=when,
        n_items=len(items),
        n_blank=int(blank.sum()),
        n_unknown=int((~known).sum()),
        source=source,
        column=columns.answer,
    )


def _annotator_names(frame: pd.DataFrame, column: str, *, rows: IntArray, source: str) -> list[str]:
    cells = frame[column].tolist()
    blank = next((place for place, cell in enumerate(cells) if is_blank(cell)), None)
    if blank is not None:
        raise TableError(f"{source}: row {rows[blank]}, column {column}: the annotator is blank; say who answered.")
    return [name_text(cell) for cell in cells]


def _times(frame: pd.DataFrame, column: str, *, rows: IntArray, source: str) -> Labels:
    """Return (m,) numbers that grow with time."""
    values, wrong = numbers(frame[column])
    if not wrong.any() and not np.isnan(values).any():
        return values
    parsed = pd.to_datetime(frame[column].astype(str), utc=True, format="ISO8601", errors="coerce")
    bad: BoolArray = parsed.isna().to_numpy()
    if bad.any():
        place = int(np.argmax(bad))
        cell = frame[column].iloc[place]
        raise TableError(
            f"{source}: row {rows[place]}, column {column}: expected a time as 2024-05-01T09:30:00Z or a number in "
            f"every row, got {'nothing' if is_blank(cell) else shown(cell)}."
        )
    return parsed.to_numpy()


def _row_numbers(frame: pd.DataFrame, *, first_row: int) -> IntArray:
    labels = frame.index.to_numpy() if frame.index.dtype.kind in "iu" else np.arange(len(frame))
    return labels.astype(np.int64) + first_row
