"""Exports of annotation tools: one object for each tool, found by its name or by the ending of a file.

An export is added by one file that defines it and one line at the end of this one. Other packages add theirs through
the entry-point group "defero.exports".
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from defero.core.errors import InputError, TableError
from defero.core.registry import Registry
from defero.core.wording import join_names
from defero.data.answers.log import AnswerLog, latest_answers
from defero.data.table_spec import Control
from defero.data.tables.cells import is_blank, no_such_column
from defero.data.tables.json_lines import JSON_LINES


@dataclass(frozen=True, eq=False, kw_only=True)
class ExportedCases:
    """Past cases as a file holds them: what each person answered, and the labels that are recorded.

    Attributes
    ----------
    items : (n, ...) DataFrame
        The key, then one column for each field that can be a feature.
    answers : AnswerLog
        What each person answered.
    labels : mapping
        From where labels are recorded, such as "ground truth", to the (n,) labels, None where they are not known.
        Earlier ones count first.
    key : str or None
        The column that names the items.
    notes : tuple of str
        What was left out, a sentence each.
    control : Control, optional
        The question that was answered, where a tool asks several.
    """

    items: pd.DataFrame
    answers: AnswerLog
    labels: Mapping[str, Sequence[Any]]
    key: str | None
    notes: tuple[str, ...] = ()
    control: Control | None = None


@dataclass(frozen=True, eq=False)
class OpenCases:
    """Cases to be decided, whether or not anybody has answered them.

    Attributes
    ----------
    items : (n, ...) DataFrame
        The key where there is one, then the feature fields. The index is the row in the file, less 1.
    key : str or None
        The column that names the items; None where they have only row numbers.
    tasks : tuple of dict
        As read, for writing back.
    control : Control or None
        The question that is asked, where it is known.
    """

    items: pd.DataFrame
    key: str | None
    tasks: tuple[dict[str, Any], ...] = ()
    control: Control | None = None


class Export(ABC):
    """The export of one annotation tool.

    Attributes
    ----------
    name, title : str
        The name as `format`, and the tool's own name for messages.
    endings : tuple of str
        Endings of file names that are read as this export; none where the user must pass `format`.
    written : tuple of str
        Endings of file names to which `write` writes decisions; none where it cannot.
    key : str, optional
        The column that always names the cases; None where another may be chosen.
    has_control : bool
        Whether the tool asks several questions, of which `control` names one.
    way_to_label : str
        How labels are given in the tool, for the message where no case has one.
    """

    name: str
    title: str
    endings: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    key: str | None = None
    has_control: bool = False
    way_to_label: str = ""

    @abstractmethod
    def read(self, path: Path, *, label: str | None, key: str | None, control: str | None) -> ExportedCases:
        """Read past cases; `label` names a field with the truth, `key` the field that names the cases."""

    @abstractmethod
    def read_open(
        self, path: Path, *, key: str | None, control: str | None, known_key: str | None, known_control: Control | None
    ) -> OpenCases:
        """Read cases to be decided; `known_key` and `known_control` are those that the model was fitted with."""

    def write(self, path: Path, cases: OpenCases, decisions: pd.DataFrame) -> None:
        """Write decisions, whose first column is the key, into the tool's own form."""
        raise InputError(f"{path}: decisions are not written as {self.title}; name a table such as decisions.csv.")


EXPORTS: Registry[Export] = Registry("format", group="defero.exports")


TABLE = "table"
"""The format of a file that is no export."""


def format_of(path: Path | None, file_format: str | None, *, remembered: str | None = None) -> str:
    """Return the format of a file: as given, else by its ending, else, for lines of JSON, as the model was fitted.

    >>> format_of(Path("tasks.json"), None), format_of(Path("cases.csv"), None)
    ('label-studio', 'table')
    """
    if file_format is not None:
        return TABLE if file_format == TABLE else EXPORTS.find(file_format, also=(TABLE,)).name
    name = "" if path is None else path.name.lower()
    by_ending = next((one.name for one in EXPORTS.values() if one.endings and name.endswith(one.endings)), None)
    if by_ending is None and remembered in EXPORTS and name.endswith(JSON_LINES.endings):
        return str(remembered)
    return by_ending or TABLE


def export_of(file_format: str) -> Export | None:
    """Return the export of a format; None of a table."""
    return None if file_format == TABLE else EXPORTS.find(file_format, also=(TABLE,))


def takes_control(file_format: str) -> bool:
    """Return whether the format's tool asks several questions, of which `control` names one."""
    export = export_of(file_format)
    return export is not None and export.has_control


def writes(file_format: str, path: Path) -> bool:
    """Return whether decisions on cases of this format are written to this file in the tool's own form."""
    export = export_of(file_format)
    return export is not None and bool(export.written) and path.name.lower().endswith(export.written)


EXPORTS.register_lazily("label-studio", "defero.data.exports.label_studio:LABEL_STUDIO")
EXPORTS.register_lazily("prodigy", "defero.data.exports.prodigy:PRODIGY")


class GivenAnswer(NamedTuple):
    """What one annotation of an export says.

    Attributes
    ----------
    item, row : int
        The item, and what a message calls its place.
    who : str
        Who answered.
    answer : text, number or None
        None where the annotation holds none.
    when : float
        When it was given, -inf where not recorded.
    """

    item: int
    row: int
    who: str
    answer: object
    when: float


def answer_log(
    given: Sequence[GivenAnswer], *, n_items: int, source: str, column: str = "answer", unit: str = "row"
) -> AnswerLog:
    """Put annotations together; of several of one person on an item the latest counts."""
    frame = pd.DataFrame(given, columns=GivenAnswer._fields, dtype=object)
    return latest_answers(frame, n_items=n_items, source=source, column=column, unit=unit)


def one_answer(values: Sequence[Any], *, what: str, source: str, place: str) -> Any:
    """Return the only value, or None; of several values raise.

    >>> one_answer(["b"], what="'topic'", source="a.json", place="task 1")
    'b'
    """
    if len(values) > 1:
        raise TableError(
            f"{source}: {place}: expected one answer to {what}, got {len(values)}: {join_names(values, most=5)}; "
            "keep one."
        )
    return values[0] if values else None


def feature_frame(
    tasks: Sequence[Mapping[str, Any]], *, own: Collection[str | None], prefix: str, source: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return one column per field, None where a task has none of it, and a sentence about fields left out.

    A field that is a list or an object in any task is left out: it is no feature by itself. Those that are the tool's
    `own`, or begin with its prefix, are left out without a word.

    >>> tasks = [{"text": "good", "box": [1, 2], "_hash": 7}, {"size": 3}]
    >>> frame, notes = feature_frame(tasks, own=(), prefix="_", source="a.json")
    >>> list(frame.columns), notes
    (['text', 'size'], ('a.json: fields of a task that are lists or objects are left out: box.',))
    """
    records = [
        {name: value for name, value in task.items() if name not in own and not name.startswith(prefix)}
        for task in tasks
    ]
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    nested = {name for record in records for name, value in record.items() if isinstance(value, list | dict)}
    columns = {name: _column([record.get(name) for record in records]) for name in names if name not in nested}
    left_out = [name for name in names if name in nested]
    note = f"{source}: fields of a task that are lists or objects are left out: {join_names(left_out)}."
    return pd.DataFrame(columns, index=range(len(records))), (note,) if left_out else ()


def labels_in(tasks: Sequence[Mapping[str, Any]], label: str, *, source: str) -> list[Any]:
    """Return a field with the truth, which some task must have."""
    values = [task.get(label) for task in tasks]
    if all(is_blank(value) for value in values):
        raise no_such_column(label, sorted({name for task in tasks for name in task}), source=source, role="the label")
    return values


def _column(cells: list[Any]) -> "pd.Series[Any]":
    """Return a column of numbers where all cells are numbers; blank texts are missing."""
    tidy = [(cell.strip() or None) if isinstance(cell, str) else cell for cell in cells]
    column = pd.Series(tidy, dtype=object)
    filled = [cell for cell in tidy if cell is not None]
    if filled and all(_is_number(cell) for cell in filled):
        return pd.to_numeric(column)
    return column


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and abs(cell) < 2**53
