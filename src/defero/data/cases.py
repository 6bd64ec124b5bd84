"""Past cases: the file that holds them, with how it is read, and what was read."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from defero.core.errors import Argument, InputError, Message
from defero.core.labels import Labels
from defero.core.table import ExpertTable
from defero.core.wording import Preformatted
from defero.data.answers.spellings import Spellings
from defero.data.exports.export import TABLE, Export, export_of, takes_control
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.text_encoder import TextEncoder
from defero.data.table_spec import Control, TableSpec
from defero.data.tables.read import RowSift, TableSource
from defero.data.tables.wide import feature_columns, split_like


@dataclass(frozen=True, eq=False, kw_only=True)
class CaseFile:
    """A file of past cases.

    Attributes
    ----------
    source : TableSource
        A table with one row per case, or the export of an annotation tool.
    spec : TableSpec
        How it is read.
    answers : TableSource, optional
        A log of answers, one per row, to the cases of a table.
    team : names, optional
        The experts of a trained team, in its order: who is not in it is left out, who said nothing is silent.
    encoder : TextEncoder, optional
        Reads the texts; TF-IDF by default.
    beside : names
        Columns to keep beside the features where the file has them, such as the groups of an earlier split.
    classes : (K,), optional
        All classes, where they are known already.
    sift : RowSift, optional
        Keeps some rows of a wide table, which is then read piece by piece.
    """

    source: TableSource
    spec: TableSpec = field(default_factory=TableSpec)
    answers: TableSource | None = None
    team: tuple[str, ...] | None = None
    encoder: TextEncoder | None = None
    beside: tuple[str, ...] = ()
    classes: Labels | None = None
    sift: RowSift | None = None

    @property
    def name(self) -> str:
        """What a message calls the file."""
        return self.source.name

    @property
    def format(self) -> str:
        """The name of the format."""
        return self.spec.format or TABLE

    @property
    def spellings(self) -> Spellings:
        """How answers and labels are spelled."""
        return Spellings(self.spec.meant)

    @property
    def experts(self) -> tuple[str, ...] | None:
        """Whose answers count; None for everybody's."""
        return self.spec.expert_names if self.team is None else self.team

    @property
    def as_written(self) -> list[str]:
        """Columns apart from the features, which are read as they are written."""
        return [*(name for name, _ in self.spec.apart), *self.beside]

    def columns_apart(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns by which the cases are split, and those to be kept beside them that are there."""
        return frame[list(dict.fromkeys(name for name in self.as_written if name in frame.columns))]

    def roles(
        self, *, label: str | None, key: str | None, experts: tuple[str, ...] = ()
    ) -> tuple[tuple[str, str], ...]:
        """Return the columns that have a role, with the role in words."""
        named = [] if label is None else [(label, "the label")]
        named += [(name, "an expert") for name in experts]
        return (*named, *([] if key is None else [(key, "the key")]), *self.spec.apart)

    def choose(self, frame: pd.DataFrame, named: tuple[tuple[str, str], ...]) -> tuple[list[str], tuple[str, ...]]:
        """Return the feature columns of a frame, and those that are left out as they look like a split.

        `named` are (column, role) pairs.
        """
        spec, roles = self.spec, dict(named)
        left_out = tuple(name for name in split_like(frame) if name not in roles) if spec.features is None else ()
        words: dict[str, Any] = {"features": spec.features, "text": spec.text, "leave_out": left_out}
        return feature_columns(list(map(str, frame.columns)), source=self.name, named=named, **words), left_out

    def check(self) -> Export | None:
        """Refuse what contradicts itself, before anything is read; return the export that the file is."""
        export = export_of(self.format)
        log_columns = [(name, column) for name, column in self.spec.log_columns.items() if column is not None]
        if log_columns and self.answers is None:  # whoever passed it means another file
            raise InputError(
                f"{Argument(*log_columns[0])}: names a column of the log of answers, and there is none; pass "
                f"{Argument('answers')}."
            )
        if self.spec.control is not None and not takes_control(self.format):
            raise no_question(self.spec.control, self.name, self.format)
        if export is None:
            self._check_table()
        elif self.answers is not None:
            raise InputError(f"{self.name}: an export holds its answers itself; leave out {Argument('answers')}.")
        elif export.key is not None and self.spec.key not in (None, export.key):
            raise InputError(
                f"{self.name}: the cases of a {export.title} export are named by {export.key}; leave out "
                f"{Argument('key')}."
            )
        return export

    def _check_table(self) -> None:
        if self.answers is None and self.experts is None:
            raise InputError(
                f"{self.name}: no experts are named; pass {Argument('expert_names')} with the columns of their "
                f"answers, or {Argument('answers')} with a log of one answer per row. {Argument('expert_names', [])} "
                "fits a model without experts."
            )
        if self.spec.label is None and not self.spec.majority_label:
            raise InputError(
                f"{self.name}: name the column with the truth with {Argument('label')}, or pass "
                f"{Argument('majority_label', True)} to take the most frequent answer for it; where cells say how good "
                f"each answer was, from 0 to 1, pass {Argument('scores', True)}."
            )


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
    def spec(self) -> TableSpec:
        """How the file was read."""
        return self.file.spec

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out while reading, and why."""
        parts = (
            Message(
                f"{self.source}: column {name} says which part a case is in and is no feature; to split the table as "
                f"it says, pass {Argument('split', name)}."
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

    def split_by(self, **cuts: str | None) -> "Cases":
        """Return the cases with more columns that are no features: those of `groups`, `time` and `split`."""
        spec = self.spec.but(**{cut: None if name is None else str(name) for cut, name in cuts.items()})
        return replace(self, file=replace(self.file, spec=spec)).without(spec.apart) if spec.apart else self

    def without(self, columns: Sequence[tuple[str, str]]) -> "Cases":
        """Return the cases with more (column, role) pairs that are no features."""
        named = tuple(dict.fromkeys((*self.named, *columns)))
        chosen, left_out = self.file.choose(self.frame, named)
        apart = self.apart.assign(**{name: self._as_written(name, role) for name, role in columns})
        table = self.table.with_features(self.frame[chosen])
        return replace(self, named=named, left_out=left_out, apart=apart, table=table)

    def _as_written(self, name: str, role: str) -> "pd.Series[Any]":
        """Return a column; ids that were read as numbers are read again as text, so that 007 stays 007."""
        if name in self.apart.columns:
            return self.apart[name]
        is_number = self.frame[name].dtype.kind in "iufb"
        if role == "the groups" and is_number and self.file.format == TABLE and self.file.source.is_text:
            return self.file.source.read(as_text=[name])[name].loc[self.frame.index]
        return self.frame[name]


def export_path(source: TableSource) -> Path:
    """Return the file of an export, which is no frame."""
    if source.path is None:
        raise InputError(f"{source.name}: is a DataFrame; the export of a tool is a file, so pass its path.")
    return source.path


def no_question(control: str, name: str, kind: str) -> InputError:
    """Return the error for a question that is asked of something else than an export of Label Studio."""
    return InputError(
        f"{Argument('control', control)}: is a question of a Label Studio export, and {name} is read as {kind}; leave "
        f"it out, or pass {Argument('format', 'label-studio')}."
    )
