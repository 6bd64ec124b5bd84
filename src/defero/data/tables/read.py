"""Tables from files of any registered format, whole or piece by piece."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from defero.core.errors import InputError, TableError
from defero.data.tables.bad_rows import BadCell, OnBad
from defero.data.tables.cells import BlankCells, column_names
from defero.data.tables.formats import first_row, readable, table_format
from defero.data.tables.parquet import with_partition

ROWS_AT_ONCE = 50_000


class NoRowsError(TableError):
    """A table has a header and nothing else, or nothing at all."""


def read_frame(path: str | PathLike[str], *, as_text: Sequence[str] = ()) -> pd.DataFrame:
    """Read a whole table.

    In text files white space around a cell is dropped, a blank cell is missing, and nothing else is: a class called
    NA stays a label. Columns of numbers become numbers. Rows that are blank throughout and columns without a name
    (a spreadsheet's leftovers, a saved index) are left out. `index + first_row(path)` is the row in the file.

    Parameters
    ----------
    path : path
        The ending of the name gives the format: .csv, .tsv, .jsonl or .ndjson, each also with .gz, or .parquet, or that
        of a format which another package adds.
    as_text : sequence of str
        Columns of a CSV or TSV file to keep as written: 007 stays 007.

    Returns
    -------
    pandas.DataFrame
    """
    return next(_frames(path, rows=None, as_text=as_text))


def read_chunks(
    path: str | PathLike[str],
    *,
    rows: int = ROWS_AT_ONCE,
    as_text: Sequence[str] = (),
    on_bad: OnBad | None = None,
    columns: Sequence[str] | None = None,
) -> Iterator[pd.DataFrame]:
    """Read a table piece by piece, at most `rows` rows at a time.

    Columns that are not in `columns` are left out where that saves time, in Parquet files.

    As `read_frame`, except that a column's type is found in each piece anew: a column may hold numbers in one piece
    and text in the next. `FeatureRecipe.apply` copes with that; name in `as_text` what must stay as written, such as
    the key. The pieces' index runs on. Rows that cannot be read are an error, or are left out and given to `on_bad`;
    where that are all rows, there is no piece and no error.
    """
    if rows < 1:
        raise InputError(f"must be at least 1, got {rows}.", argument="rows")
    yield from _frames(path, rows=rows, as_text=as_text, on_bad=on_bad, columns=columns)


def _frames(
    path: str | PathLike[str],
    *,
    rows: int | None,
    as_text: Sequence[str],
    on_bad: OnBad | None = None,
    columns: Sequence[str] | None = None,
) -> Iterator[pd.DataFrame]:
    """Yield the frames of a checked file, none of them empty; whatever goes wrong becomes a `TableError`."""
    file = Path(path)
    file_format = table_format(file)
    is_empty, unread = True, list[BadCell]()

    def report(cell: BadCell) -> None:
        unread.append(cell)
        assert on_bad is not None
        on_bad(cell)

    more: dict[str, Any] = {"on_bad": None if on_bad is None else report} if file_format.reports_bad else {}
    more |= {"columns": columns} if file_format.picks_columns else {}
    with readable(file, file_format.name):
        for frame in file_format.read(file, rows=rows, as_text=as_text, **more):
            if len(frame):
                is_empty = False
                yield frame
    if is_empty and not unread:
        raise NoRowsError(f"{path}: has {'a header but ' if file_format.first_row > 1 else ''}no rows.")


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
            if not len(table):
                raise NoRowsError(f"{name}: has no rows.")
            column_names(table, source=name)  # raises where two have one name
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
        frames = read_chunks(path, **options)
        if self.inside is not None:
            frames = (with_partition(frame, path, self.inside) for frame in frames)
        return (self.blanked(frame, as_text=options.get("as_text", ())) for frame in frames)

    def head(self) -> pd.DataFrame:
        """Return the first row."""
        return next(iter(self.chunks(rows=1))) if isinstance(self.given, Path) else self.given.iloc[:1]

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(map(str, self.head().columns))
