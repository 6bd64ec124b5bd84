"""Read a log of answers, one row per answer with `item, annotator, label`, and join it to a table of items."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from defero.core.checks.arrays import IntArray, one_of
from defero.core.errors import Argument, TableError
from defero.core.wording import join_names
from defero.data.answers.class_codes import by_cell
from defero.data.answers.log import AnswerLog, latest_answers
from defero.data.tables.cells import column_names, is_blank, no_such_column
from defero.data.tables.wide import ItemKeys, name_text


def join_answers(
    items: pd.DataFrame,
    annotations: pd.DataFrame,
    *,
    key: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    answer: str | None = None,
    unknown: Literal["error", "ignore"] = "error",
    source: str = "annotations",
    items_source: str = "items",
    first_row: int = 0,
    items_first_row: int = 0,
) -> AnswerLog:
    """Join answers, one per row, to the items they were given to.

    Keys compare as written, white space around them dropped; a number is written without a needless point: 7, 7.0
    and "7" are one key, "007" is another. The text "7.0" is 7 where no item is called "7.0".

    Parameters
    ----------
    items : (n, ...) DataFrame
        One row per item.
    annotations : DataFrame
        One row per answer. A blank answer is none, and replaces none; of several answers of one person to one item
        the last counts.
    key : str, optional
        The items' own column of keys; else found by name.
    item, annotator, answer : str, optional
        The columns of `annotations`; else found by name: item, task, case, id, ...; annotator, worker, expert,
        user, ...; label, answer, choice, response, ...
    unknown : "error" or "ignore"
        What to do about answers to items that are not in `items`; they are an error if none of the items is.
    source, items_source : str
        What a message calls the two tables.
    first_row, items_first_row : int
        The number of the row whose index is 0.

    Returns
    -------
    AnswerLog

    Examples
    --------
    >>> items = pd.DataFrame({"task": ["a", "b"], "size": [1.5, 2.5]})
    >>> long = pd.DataFrame({"task": ["a", "b", "a"], "worker": ["w10", "w9", "w9"], "label": ["x", "y", "x"]})
    >>> answers = join_answers(items, long)
    >>> answers.expert_names, answers.to_frame().values.tolist()
    (('w9', 'w10'), [['x', 'x'], ['y', None]])
    """
    one_of("unknown", unknown, ("error", "ignore"))
    columns = long_columns(annotations, item=item, annotator=annotator, answer=answer, source=source)
    frame = annotations.set_axis(list(column_names(annotations, source=source)), axis=1)
    table = items.set_axis(list(column_names(items, source=items_source)), axis=1)
    own_key = key_column(table, key, item=columns.item, source=items_source)
    keys = ItemKeys.of(table, own_key, source=items_source, first_row=items_first_row)
    given = pd.DataFrame({"answer": frame[columns.answer].to_numpy(dtype=object)}, dtype=object)
    given = given.assign(item=_UNKNOWN, who=None, row=_row_numbers(frame, first_row=first_row))
    answered = ~np.array(by_cell(given["answer"], is_blank), dtype=np.bool_)
    rows = given["row"].to_numpy()[answered]
    given.loc[answered, "item"] = keys.find(frame[columns.item][answered], rows=rows, source=source, unknown=unknown)
    given.loc[answered, "who"] = _annotator_names(frame[answered], columns.annotator, rows=rows, source=source)
    return latest_answers(given, n_items=len(items), source=source, column=columns.answer)


def _annotator_names(frame: pd.DataFrame, column: str, *, rows: IntArray, source: str) -> list[str]:
    cells = frame[column].tolist()
    blank = next((place for place, cell in enumerate(cells) if is_blank(cell)), None)
    if blank is not None:
        raise TableError(f"{source}: row {rows[blank]}, column {column}: the annotator is blank; name who answered.")
    return [name_text(cell) for cell in cells]


def _row_numbers(frame: pd.DataFrame, *, first_row: int) -> IntArray:
    labels = frame.index.to_numpy() if frame.index.dtype.kind in "iu" else np.arange(len(frame))
    return labels.astype(np.int64) + first_row


_UNKNOWN = -1
_ITEM = ("item", "task", "case", "example", "sample", "question", "document", "image", "instance", "unit")
_ANNOTATOR = (
    "annotator",
    "worker",
    "expert",
    "user",
    "rater",
    "reader",
    "labeler",
    "labeller",
    "coder",
    "judge",
    "reviewer",
)
_ANSWER = ("label", "answer", "choice", "response", "annotation", "vote", "decision", "rating")


@dataclass(frozen=True)
class LongColumns:
    """The names of the columns of a long table."""

    item: str
    annotator: str
    answer: str


def long_columns(
    frame: Any, *, item: str | None, annotator: str | None, answer: str | None, source: str
) -> LongColumns:
    """Return the columns that were named; find the others by their usual names, also with id, in any case.

    >>> import pandas as pd
    >>> frame = pd.DataFrame(columns=["Task_ID", "worker", "label", "seconds"])
    >>> long_columns(frame, item=None, annotator=None, answer=None, source="a.csv")
    LongColumns(item='Task_ID', annotator='worker', answer='label')
    """
    names = list(column_names(frame, source=source))
    columns = LongColumns(
        item=_chosen(names, item, words=_ITEM, role="item", source=source),
        annotator=_chosen(names, annotator, words=_ANNOTATOR, role="annotator", source=source),
        answer=_chosen(names, answer, words=_ANSWER, role="answer", source=source),
    )
    roles = vars(columns)
    for role, column in roles.items():
        other = next((one for one, name in roles.items() if name == column and one != role), None)
        if other is not None:
            raise TableError(f"{source}: column {column!r} is named as the {role} and as the {other}; choose one.")
    return columns


def key_column(items: Any, key: str | None, *, item: str, source: str) -> str:
    """Return the items' column of keys: the one named, else the one called as in the annotations, else by name."""
    names = list(column_names(items, source=source))
    return item if key is None and item in names else _chosen(names, key, words=_ITEM, role="key", source=source)


def _chosen(names: list[str], column: str | None, *, words: tuple[str, ...], role: str, source: str) -> str:
    if column in names:
        return str(column)
    if column is not None:
        raise no_such_column(column, names, source=source, role=f"the {role}")
    plain = {name: "".join(letter for letter in name.lower() if letter not in "_- .") for name in names}
    wanted = {form for word in words for form in (word, f"{word}id", f"{word}key")}
    matches = [name for name in names if plain[name] in wanted]
    if not matches and words is _ITEM:
        # A log of answers often numbers its own rows as id: only where nothing else is the item.
        matches = [name for name in names if plain[name] in {"id", "key"}]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise TableError(
            f"{source}: {join_names(map(repr, matches))} may each be the {role}; name the column with {Argument(role)}."
        )
    raise TableError(
        f"{source}: no column has a usual name of the {role} ({join_names(words)}); name it with {Argument(role)}. "
        f"The columns are {join_names(names, most=30)}."
    )
