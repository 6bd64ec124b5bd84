"""Which file holds past cases, and which of its columns is what."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from defero.core.display import Preformatted
from defero.core.errors import Argument, InputError, Message, TableError
from defero.core.labels import Labels
from defero.core.table import ExpertTable
from defero.data.answers.spellings import Spellings
from defero.data.encoders.encoder import TextEncoder
from defero.data.exports.export import EXPORTS, TABLE, Export
from defero.data.exports.label_studio_results import Control
from defero.data.recipes.pictures import PictureRecipe
from defero.data.tables.blank_cells import BlankCells
from defero.data.tables.cells import no_such_column
from defero.data.tables.formats import first_row, table_format
from defero.data.tables.parquet import partition_of, with_partition
from defero.data.tables.read import read_chunks, read_frame
from defero.data.tables.wide import feature_columns, split_like

Table = str | PathLike[str] | pd.DataFrame
"""A table as somebody passes it: the name of a file, or a frame."""


class RowSift(Protocol):
    """Keeps some rows of a table that is read piece by piece."""

    @property
    def bad(self) -> Any:
        """Takes rows that cannot be read: `bad.on_bad`."""

    def rows(self, pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Yield the rows to keep."""


@dataclass(frozen=True, eq=False)
class TableSource:
    """A file, or a frame at hand, with what a message calls it."""

    given: Path | pd.DataFrame
    name: str
    inside: Path | None = None
    """The folder of Parquet files of which this file is one; its subfolders may name columns."""
    blanks: BlankCells = field(default_factory=BlankCells)
    """Values that are read as blank."""

    @classmethod
    def of(
        cls, table: Table, *, name: str = "table", inside: Path | None = None, blanks: BlankCells | None = None
    ) -> "TableSource":
        """Take what somebody passed; `name` is what a message calls a frame."""
        none = BlankCells() if blanks is None else blanks
        if isinstance(table, pd.DataFrame):
            return cls(table.reset_index(drop=True).rename(columns=str), name, blanks=none)
        if not isinstance(table, str | PathLike):
            raise InputError(f"must be a path or a DataFrame, got {type(table).__name__}.", argument=name)
        return cls(Path(table), str(table), inside, none)

    @property
    def path(self) -> Path | None:
        """The file; None for a frame."""
        return self.given if isinstance(self.given, Path) else None

    @property
    def first_row(self) -> int:
        """The number of the row whose index is 0."""
        return first_row(self.given) if isinstance(self.given, Path) else 0

    @property
    def is_text(self) -> bool:
        """Whether cells are text until they are read as numbers."""
        return isinstance(self.given, Path) and not table_format(self.given).typed

    def read(self, *, as_text: list[str | None], sift: "RowSift | None" = None) -> pd.DataFrame:
        """Return the whole table, or the rows that `sift` keeps, the columns of `as_text` as they are written."""
        if sift is not None:
            names = [name for name in as_text if name is not None]
            if isinstance(self.given, Path):
                pieces = self.chunks(as_text=names, on_bad=sift.bad.on_bad)
            else:
                pieces = iter([self.blanked(self.given)])
            frames = list(sift.rows(pieces))
            return frames[0] if len(frames) == 1 else pd.concat(frames)
        if isinstance(self.given, Path):
            names = [name for name in as_text if name is not None]
            return self.blanked(read_frame(self.given, as_text=names), as_text=names)
        return self.blanked(self.given)

    def blanked(self, frame: pd.DataFrame, *, as_text: Sequence[str] = ()) -> pd.DataFrame:
        """Return rows of this table in which values that mean none are missing."""
        return self.blanks.apply(frame, is_text=self.is_text, as_text=as_text)

    def chunks(self, **options: Any) -> Iterator[pd.DataFrame]:
        """Yield the rows of a file piece by piece; the options are those of `read_chunks`."""
        path = self.path
        assert path is not None  # a frame has no pieces
        own = {} if self.inside is None else partition_of(path, self.inside)
        as_text = options.get("as_text", ())
        frames = (with_partition(frame, own, path) for frame in read_chunks(path, **options))
        return (self.blanked(frame, as_text=as_text) for frame in frames)

    def head(self) -> pd.DataFrame:
        """Return the first row."""
        return next(iter(self.chunks(rows=1))) if isinstance(self.given, Path) else self.given.iloc[:1]

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(map(str, self.head().columns))


@dataclass(frozen=True, eq=False, kw_only=True)
class CaseFile:
    """A file of past cases as somebody describes it.

    Attributes
    ----------
    source : TableSource
        A table with one row per case, or the export of an annotation tool.
    format : "table", "label-studio", "prodigy", or another name of `EXPORTS`
    label : str, optional
        The column (in an export: the data field) with the truth.
    majority : bool
        Cases without a label get the most frequent answer.
    expert_names : names, optional
        The experts' columns of a wide table; of long answers and exports those people whose answers count, everybody
        by default.
    team : names, optional
        The experts of a trained team, in its order: who is not in it is left out, who said nothing is silent.
    answers : TableSource, optional
        Long answers, one per row, to the cases of a table.
    item, annotator, answer : str, optional
        Columns of the long answers; else found by name.
    features, text : names
        Feature columns (else all that are left), and which of them are texts.
    encoder : TextEncoder, optional
        Reads the texts; TF-IDF by default.
    key : str, optional
        The column that names the cases.
    apart : (column, role) pairs
        Columns that are no features, such as ("patient", "the groups").
    beside : names
        Columns to keep beside the features where the file has them, such as the groups of an earlier split.
    control : str, optional
        The question of a Label Studio export.
    classes : (K,), optional
        All classes, where they are known already.
    spellings : Spellings
        Answers and labels that mean none, or another spelling.
    blank : values
        Those that mean none in the features too; the source reads them as blank.
    sift : RowSift, optional
        Keeps some rows of a wide table, which is then read piece by piece.
    """

    source: TableSource
    format: str = TABLE
    label: str | None = None
    majority: bool = False
    expert_names: tuple[str, ...] | None = None
    team: tuple[str, ...] | None = None
    answers: TableSource | None = None
    item: str | None = None
    annotator: str | None = None
    answer: str | None = None
    features: tuple[str, ...] | None = None
    text: tuple[str, ...] = ()
    encoder: TextEncoder | None = None
    key: str | None = None
    apart: tuple[tuple[str, str], ...] = ()
    beside: tuple[str, ...] = ()
    control: str | None = None
    classes: Labels | None = None
    spellings: Spellings = field(default_factory=Spellings)
    blank: tuple[str, ...] = ()
    sift: RowSift | None = None

    @property
    def name(self) -> str:
        """What a message calls the file."""
        return self.source.name

    @property
    def apart_columns(self) -> list[str]:
        """Names of the columns that are no features."""
        return [name for name, _ in self.apart]

    def columns_apart(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that are no features, and those to be kept beside them that are there."""
        beside = [name for name in self.beside if name in frame.columns and name not in self.apart_columns]
        return frame[[*self.apart_columns, *beside]]

    def choose(self, frame: pd.DataFrame, named: list[tuple[str, str]]) -> tuple[list[str], tuple[str, ...]]:
        """Return the feature columns of a frame, and those that are left out as they look like a split.

        `named` are (column, role) pairs.
        """
        columns = list(map(str, frame.columns))
        features = None
        if self.features is not None:
            features = [*self.features, *(name for name in self.text if name not in self.features)]
        roles = dict(named)
        for name in self.text:
            if name not in columns:
                raise no_such_column(name, columns, source=self.name, role="the text")
            if name in roles:
                raise TableError(f"{self.name}: column {name!r} is named as {roles[name]} and as the text; choose one.")
        left_out = tuple(name for name in split_like(frame) if name not in roles) if features is None else ()
        return feature_columns(columns, source=self.name, named=named, features=features, leave_out=left_out), left_out


@dataclass(frozen=True, eq=False, kw_only=True)
class Cases(Preformatted):
    """What a file of past cases holds.

    Attributes
    ----------
    table : ExpertTable of n cases
        Its features' index is the row in the file, less `first_row`.
    apart : (n, ...) DataFrame
        The columns that are no features, of the same rows.
    key : str or None
        The column that names the cases.
    file : CaseFile
        How it was read.
    frame : (n, ...) DataFrame
        All columns of the same rows.
    named : (column, role) pairs
        The columns that have a role.
    left_out : names
        Columns that say which part a case is in.
    n_majority, n_tied : int
        How many labels are the majority of the answers, and in how many of these a tie was broken.
    control : Control or None
        The question of a Label Studio export.
    pictures : PictureRecipe or None
        How the column of paths becomes pictures.
    first_row : int
        The number of the row whose index is 0.
    remarks : sentences
        What else was left out, and why.
    """

    table: ExpertTable
    apart: pd.DataFrame
    key: str | None
    file: CaseFile
    frame: pd.DataFrame
    named: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()
    n_majority: int = 0
    n_tied: int = 0
    control: Control | None = None
    pictures: PictureRecipe | None = None
    first_row: int = 1
    remarks: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"Cases of {self.source}; {self.table!r}".replace("ExpertTable: ", "", 1)

    @property
    def source(self) -> str:
        """What a message calls the file."""
        return self.file.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out while reading, and why."""
        parts = (
            Message(
                f"{self.source}: column {name} says which part a case is in and is no feature; to split the table as "
                "it says, pass ",
                Argument("split", name),
                ".",
            )
            for name in self.left_out
        )
        return (*parts, *self.remarks)

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

    def taking_apart(self, apart: tuple[tuple[str, str], ...]) -> "Cases":
        """Return the cases with more columns that are no features.

        Parameters
        ----------
        apart : (column, role) pairs
            Such as ("patient", "the groups").
        """
        if not apart:
            return self
        file = replace(self.file, apart=(*self.file.apart, *apart))
        named = (*self.named, *apart)
        chosen, left_out = file.choose(self.frame, list(named))
        columns = {name: self._as_written(name, role) for name, role in apart}
        table = self.table
        return replace(
            self,
            file=file,
            named=named,
            left_out=left_out,
            apart=self.apart.assign(**columns),
            table=ExpertTable(
                table.labels,
                table.answers,
                features=self.frame[chosen],
                classes=table.classes,
                expert_names=table.expert_names,
            ),
        )

    def _as_written(self, name: str, role: str) -> "pd.Series[Any]":
        """Return a column; ids that were read as numbers are read again as text, so that 007 stays 007."""
        if name in self.apart.columns:
            return self.apart[name]
        is_number = self.frame[name].dtype.kind in "iufb"
        if role == "the groups" and is_number and self.file.format == TABLE and self.file.source.is_text:
            return self.file.source.read(as_text=[name])[name].loc[self.frame.index]
        return self.frame[name]


def check_case_file(file: CaseFile) -> None:
    """Refuse what contradicts itself, before anything is read."""
    export = None if file.format == TABLE else EXPORTS.find(file.format, also=(TABLE,))
    _check_arguments(file, export)
    if export is not None:
        if file.answers is not None:
            raise InputError(f"{file.name}: an export holds its answers itself; leave out ", Argument("answers"), ".")
        if file.source.path is None:
            raise InputError(f"{file.name}: is a DataFrame; the export of a tool is a file, so pass its path.")
        if export.key is not None and file.key not in (None, export.key):
            raise InputError(
                f"{file.name}: the cases of a {export.title} export are named by {export.key}; leave out ",
                Argument("key"),
                ".",
            )
        return
    if file.answers is None and file.expert_names is None and file.team is None:
        raise InputError(
            f"{file.name}: no experts are named; pass ",
            Argument("expert_names"),
            " with the columns of their answers, or ",
            Argument("answers"),
            " with a log of one answer per row. ",
            Argument("expert_names", []),
            " fits a model without experts.",
        )
    if file.label is None and not file.majority:
        raise InputError(
            f"{file.name}: name the column with the truth with ",
            Argument("label"),
            ", or pass ",
            Argument("majority_label", True),
            " to take the most frequent answer for it; where cells say how good each answer was, from 0 to 1, pass ",
            Argument("scores", True),
            ".",
        )


def _check_arguments(file: CaseFile, export: Export | None) -> None:
    """Refuse an argument that this kind of file has no use for: whoever passed it means another file."""
    of_answers = {"item": file.item, "annotator": file.annotator, "answer": file.answer}
    name = next((name for name, column in of_answers.items() if column is not None), None)
    if name is not None and file.answers is None:
        raise InputError(
            Argument(name, of_answers[name]),
            ": names a column of the log of answers, and there is none; pass ",
            Argument("answers"),
            ".",
        )
    if file.control is not None and not (export is not None and export.has_control):
        raise no_question(file.control, file.name, file.format)


def no_question(control: str, name: str, kind: str) -> InputError:
    """Return the error for a question that is asked of something else than an export of Label Studio."""
    return InputError(
        Argument("control", control),
        f": is a question of a Label Studio export, and {name} is read as {kind}; leave it out, or pass ",
        Argument("format", "label-studio"),
        ".",
    )
