"""Exports of annotation tools: one object for each tool, found by its name or by the ending of a file.

An export is added by one file that defines it and one line at the end of this one. Other packages add theirs through
the entry-point group "defero.exports".
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.core.registry import Registry
from defero.core.table import ExpertTable
from defero.data.answers.labels import LabelChoice
from defero.data.answers.log import AnswerLog, table_from_long
from defero.data.table_spec import Control
from defero.data.tables.json_lines import JSON_LINES


@dataclass(frozen=True, eq=False, kw_only=True)
class ExportedCases:
    """Cases that an export holds, with their answers and labels.

    Attributes
    ----------
    items : (n, ...) DataFrame
        The key, then one column for each field that can be a feature.
    answers : AnswerLog
        What each person (and model, where asked for) answered.
    labels : (n,) object
        The truth, None where it is not known.
    label_sources : (n,) object
        Where each label comes from, such as "ground truth" or "majority"; None where there is none.
    key : str
        The column that names the items.
    notes : tuple of str
        What was left out, a sentence each.
    n_tied : int
        In how many of the labels by majority a tie was broken.
    control : Control, optional
        The question that was answered, where a tool asks several.
    tasks : tuple of dict
        As read, for writing back.
    lead_time : mapping
        Expert to median seconds per answer; experts without a recorded time are absent.
    """

    items: pd.DataFrame
    answers: AnswerLog
    labels: Labels
    label_sources: Labels
    key: str
    notes: tuple[str, ...] = ()
    n_tied: int = 0
    control: Control | None = None
    tasks: tuple[dict[str, Any], ...] = ()
    lead_time: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def table(self, *, features: Sequence[str] | None = None, classes: ArrayLike | None = None) -> ExpertTable:
        """Return the items with a label as an `ExpertTable`; the key and the label's own field are no features."""
        return table_from_long(
            self.items, self.answers, labels=self.labels, features=features, leave_out=[self.key], classes=classes
        )


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
    def read(
        self, path: Path, *, label: str | None, without_label: LabelChoice, key: str | None, control: str | None
    ) -> ExportedCases:
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


def takes_control(file_format: str) -> bool:
    """Return whether the format's tool asks several questions, of which `control` names one."""
    return file_format != TABLE and EXPORTS.find(file_format, also=(TABLE,)).has_control


def writes(file_format: str, path: Path) -> bool:
    """Return whether decisions on cases of this format are written to this file in the tool's own form."""
    endings = () if file_format == TABLE else EXPORTS.find(file_format, also=(TABLE,)).written
    return bool(endings) and path.name.lower().endswith(endings)


EXPORTS.register_lazily("label-studio", "defero.data.exports.label_studio:LABEL_STUDIO")
EXPORTS.register_lazily("prodigy", "defero.data.exports.prodigy:PRODIGY")
