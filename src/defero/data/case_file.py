"""Which file holds past cases, and which of its columns is what."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from defero.core.errors import InputError, TableError
from defero.core.labels import Labels
from defero.core.table import ExpertTable
from defero.data.exports.export import EXPORTS, TABLE, Export
from defero.data.exports.label_studio_results import Control
from defero.data.tables.columns import no_such_column
from defero.data.tables.roles import feature_columns, split_like

Format = str


@dataclass(frozen=True, eq=False, kw_only=True)
class CaseFile:
    """A file of past cases as somebody describes it.

    Attributes
    ----------
    path : Path
        A table with one row per case, or the export of an annotation tool.
    format : "table", "label-studio", "prodigy", or another name of `EXPORTS`
    label : str, optional
        The column (in an export: the data field) with the truth.
    majority : bool
        Cases without a label get the most frequent answer.
    experts : names, optional
        The experts' columns of a wide table; of long answers and exports those people whose answers count, everybody
        by default.
    team : names, optional
        The experts of a trained team, in its order: who is not in it is left out, who said nothing is silent.
    answers : Path, optional
        Long answers, one per row, to the cases of a table.
    item, annotator, answer : str, optional
        Columns of the long answers; else found by name.
    features, text : names
        Feature columns (else all that are left), and which of them are texts.
    key : str, optional
        The column that names the cases.
    apart : (column, role) pairs
        Columns that are no features, such as ("patient", "the group").
    beside : names
        Columns to keep beside the features where the file has them, such as the group of an earlier cut.
    control : str, optional
        The question of a Label Studio export.
    classes : (K,), optional
        All classes, where they are known already.
    """

    path: Path
    format: Format = TABLE
    label: str | None = None
    majority: bool = False
    experts: tuple[str, ...] | None = None
    team: tuple[str, ...] | None = None
    answers: Path | None = None
    item: str | None = None
    annotator: str | None = None
    answer: str | None = None
    features: tuple[str, ...] | None = None
    text: tuple[str, ...] = ()
    key: str | None = None
    apart: tuple[tuple[str, str], ...] = ()
    beside: tuple[str, ...] = ()
    control: str | None = None
    classes: Labels | None = None

    @property
    def apart_columns(self) -> list[str]:
        """Names of the columns that are no features."""
        return [name for name, _ in self.apart]

    def columns_apart(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that are no features, and those to be kept beside them that are there."""
        found = [name for name in self.beside if name in frame.columns and name not in self.apart_columns]
        return frame[[*self.apart_columns, *found]]

    def named(self, *, label: str | None, key: str | None, experts: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        """Return the columns that have a role, with the role in words."""
        found = [] if label is None else [(label, "the label")]
        found += [(name, "an expert") for name in experts]
        found += [] if key is None else [(key, "the key")]
        return [*found, *self.apart]

    def choose(self, frame: pd.DataFrame, named: list[tuple[str, str]]) -> tuple[list[str], tuple[str, ...]]:
        """Return the feature columns of a frame, and a sentence about each that is left out for its looks."""
        columns, source = list(map(str, frame.columns)), str(self.path)
        features = None
        if self.features is not None:
            features = [*self.features, *(name for name in self.text if name not in self.features)]
        roles = dict(named)
        for name in self.text:
            if name not in columns:
                raise no_such_column(name, columns, source=source, role="the text")
            if name in roles:
                raise TableError(f"{source}: column {name!r} is named as {roles[name]} and as the text; choose one.")
        left_out = [] if features is not None else [name for name in split_like(frame) if name not in roles]
        chosen = feature_columns(columns, source=source, named=named, features=features, leave_out=left_out)
        notes = tuple(
            f"{source}: column {name} says which part a case is in and is no feature; to cut the table as it says, "
            f"pass --split {name}."
            for name in left_out
        )
        return chosen, notes


@dataclass(frozen=True, eq=False, kw_only=True)
class Cases:
    """What a file of past cases holds.

    Attributes
    ----------
    table : ExpertTable of n cases
        Its features' index is the row in the file, less `first_row`.
    apart : (n, ...) DataFrame
        The columns that are no features, of the same rows.
    key : str or None
        The column that names the cases.
    n_majority, n_tied : int
        How many labels are the majority of the answers, and in how many of these a tie was broken.
    control : Control or None
        The question of a Label Studio export.
    first_row : int
        The number of the row whose index is 0.
    notes : sentences
        What was left out, and why.
    """

    table: ExpertTable
    apart: pd.DataFrame
    key: str | None
    n_majority: int = 0
    n_tied: int = 0
    control: Control | None = None
    first_row: int = 1
    notes: tuple[str, ...] = ()

    def majority_sentence(self) -> str | None:
        """Say that there is no truth but a majority, and what that means; None where all labels are known."""
        if not self.n_majority:
            return None
        tied = f", {self.n_tied} of them by the rule for ties" if self.n_tied else ""
        return (
            f"{self.n_majority} of {len(self.table)} labels are no recorded truth but the most frequent answer{tied} "
            "(the answer that is more frequent over all cases, then the first in order): the experts are judged by "
            "their own majority, so each looks better than they are."
        )


def check_case_file(file: CaseFile) -> None:
    """Refuse what contradicts itself, before anything is read."""
    export = None if file.format == TABLE else EXPORTS.find(file.format, also=(TABLE,))
    _check_options(file, export)
    if export is not None:
        if file.answers is not None:
            raise InputError(f"{file.path}: an export holds its answers itself; leave out --answers.")
        if export.key is not None and file.key not in (None, export.key):
            raise InputError(
                f"{file.path}: the cases of a {export.title} export are named by {export.key}; leave out --key."
            )
        return
    if file.answers is None and file.experts is None and file.team is None:
        raise InputError(
            f"{file.path}: say who answered: --experts A,B,... names their columns, --answers FILE the file with one "
            "row per answer; --experts '' learns a model alone."
        )
    if file.label is None and not file.majority:
        raise InputError(
            f"{file.path}: name the column with the truth with --label, or pass --majority-label to take the most "
            "frequent answer for it."
        )


def _check_options(file: CaseFile, export: Export | None) -> None:
    """Refuse an option that this kind of file has no use for: whoever passed it means another file."""
    of_answers = {"--item": file.item, "--expert": file.annotator, "--answer": file.answer}
    named = next((f"{option} {column}" for option, column in of_answers.items() if column is not None), None)
    if named is not None and file.answers is None:
        raise InputError(f"{named}: names a column of the long answers, and there are none; pass --answers FILE.")
    if file.control is not None and not (export is not None and export.has_control):
        raise InputError(
            f"--control {file.control}: is a question of a Label Studio export, and {file.path} is read as "
            f"{file.format}; leave it out, or pass --format label-studio."
        )
