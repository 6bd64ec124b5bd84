"""A table as somebody passes it: a file or a frame, with its name, the number of its first row, and what is blank."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from defero.core.errors import InputError
from defero.data.tables.blank_cells import BlankCells
from defero.data.tables.formats import first_row, table_format
from defero.data.tables.parquet import partition_of, with_partition
from defero.data.tables.read import read_chunks, read_frame

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

    def read(self, *, as_text: Sequence[str | None] = (), sift: "RowSift | None" = None) -> pd.DataFrame:
        """Return the whole table, or the rows that `sift` keeps, the columns of `as_text` as they are written."""
        names = [name for name in as_text if name is not None]
        if sift is not None:
            frames = list(sift.rows(self.chunks(as_text=names, on_bad=sift.bad.on_bad)))
            return frames[0] if len(frames) == 1 else pd.concat(frames)
        if isinstance(self.given, Path):
            return self.blanked(read_frame(self.given, as_text=names), as_text=names)
        return self.blanked(self.given)

    def blanked(self, frame: pd.DataFrame, *, as_text: Sequence[str] = ()) -> pd.DataFrame:
        """Return rows of this table in which values that mean none are missing."""
        return self.blanks.apply(frame, is_text=self.is_text, as_text=as_text)

    def chunks(self, **options: Any) -> Iterator[pd.DataFrame]:
        """Yield the rows piece by piece, a frame as one piece; the options are those of `read_chunks`."""
        path = self.path
        if path is None:
            return iter([self.read()])
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
