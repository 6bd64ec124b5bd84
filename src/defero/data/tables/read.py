"""Tables from files of any registered format, whole or piece by piece.

A format is one object for each kind of file, found by the ending of the file's name. It is added by one file that
defines it and one line at the end of this one. Other packages add theirs through the entry-point group
"defero.table_formats".
"""

import gzip
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import IO, Any, Protocol, TextIO
from urllib.parse import unquote

import pandas as pd

from defero.core.errors import InputError, TableError
from defero.core.registry import Registry
from defero.core.wording import join_names
from defero.data.tables.bad_rows import BadCell, OnBad
from defero.data.tables.cells import BlankCells, column_names
from defero.data.whole_files import is_compressed

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


Append = Callable[[pd.DataFrame], None]


class TableFormat(ABC):
    """How a table is written on disk: read and written in pieces.

    Attributes
    ----------
    name : str
        For messages, such as "csv".
    endings : tuple of str
        Endings of file names. One that ends with ".gz" is a compressed file: `open_text` reads it as text, and what
        `writer` writes is compressed on its way.
    first_row : int
        The number that a person gives to the first row of data: 2 where row 1 is a header, as in a spreadsheet.
    typed : bool
        Whether cells have types of their own. Where they have none, a column of digits is read as numbers unless it
        is in `as_text`.
    reports_bad : bool
        Whether `read` takes `on_bad`, a function of a `BadCell`, to which rows that cannot be read are given. Otherwise
        such a row is an error.
    picks_columns : bool
        Whether `read` takes `columns`, the names that are wanted; others may be left out.
    """

    name: str
    endings: tuple[str, ...]
    first_row: int = 1
    typed: bool = True
    reports_bad: bool = False
    picks_columns: bool = False

    @abstractmethod
    def read(self, path: Path, *, rows: int | None, as_text: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield frames of at most `rows` rows, or one of them all where that is None.

        The index runs on from piece to piece: `index + first_row` is the row in the file. Columns named in `as_text`
        are kept as written where cells have no types. A damaged file raises `TableError`, `OSError` or
        `UnicodeDecodeError`.
        """

    @abstractmethod
    def writer(self, file: IO[bytes], *, source: str) -> AbstractContextManager[Append]:
        """Return a context that yields the function by which frames are appended to the file."""


HALF_PAIR = "half a surrogate pair, which is no character"

FOLDER = "parquet folder"

TABLE_FORMATS: Registry[TableFormat] = Registry("format", group="defero.table_formats")


def table_format(path: str | PathLike[str]) -> TableFormat:
    """Return the format of a file, by the ending of its name; a folder is one of Parquet files.

    >>> table_format("cases.csv.gz").name
    'csv'
    """
    if Path(path).is_dir():
        return TABLE_FORMATS.find(FOLDER)
    name = Path(path).name.lower()
    endings = {ending: file_format for file_format in TABLE_FORMATS.values() for ending in file_format.endings}
    ending = max((ending for ending in endings if name.endswith(ending)), key=len, default=None)
    if ending is None:
        raise TableError(
            f"{path}: the ending of the name is no table format; the known endings are {join_names(endings, most=30)}."
        )
    return endings[ending]


def first_row(path: str | PathLike[str]) -> int:
    """Return the number that a person gives to the first row of data.

    In a CSV or TSV file the header is row 1, as in a spreadsheet, so the first data row is row 2 (a cell that
    holds line breaks counts as one row). In JSON lines it is line 1, in Parquet row 1. `index + first_row` of a
    frame read by this package is the row to name in a message; rows left out as blank keep their number.

    >>> first_row("cases.csv"), first_row("cases.jsonl")
    (2, 1)
    """
    return table_format(path).first_row


def open_text(path: Path, *, errors: str = "strict") -> TextIO:
    """Open a text file for reading: UTF-8, with or without the mark that some programs put in front; .gz unpacked."""
    if is_compressed(path):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="", errors=errors)
    return path.open(encoding="utf-8-sig", newline="", errors=errors)


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Raise a `TableError` with one sentence where a file is missing, empty or damaged."""
    if path.is_dir() and kind != FOLDER:
        raise TableError(f"{path}: is a folder; name a file in it.")
    if not path.exists():
        raise TableError(f"{path}: no such file.")
    if path.stat().st_size == 0:
        raise TableError(f"{path}: is empty.")
    try:
        yield
    except UnicodeDecodeError as error:
        raise TableError(f"{path}: {_undecodable(path)}; save the file as UTF-8.") from error
    except (OSError, EOFError, zlib.error) as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        raise TableError(f"{path}: cannot be read as {kind}: {first_line.rstrip('.')}.") from error


def _undecodable(path: Path) -> str:
    """Find the first byte that is no UTF-8: pandas counts from the start of its buffer, not of the file."""
    # A damaged archive may end before the byte is found.
    damage = suppress(OSError, EOFError, zlib.error)
    with damage, gzip.open(path, "rb") if is_compressed(path) else path.open("rb") as file:
        for row, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"row {row} holds the byte 0x{line[error.start]:02x}, which is not UTF-8"
    return "it is not UTF-8"


def duplicates(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once, sorted.

    >>> duplicates(["b", "a", "b"])
    ['b']
    """
    return sorted(name for name, count in Counter(names).items() if count > 1)


def strip_cells(frame: pd.DataFrame, *, as_text: Sequence[str] = ()) -> pd.DataFrame:
    """Return the frame with its text columns stripped and their blank cells missing.

    A column that was text only because of cells of white space becomes numbers, unless named in `as_text`.

    >>> strip_cells(pd.DataFrame({"a": ["1", " "], "b": [" x ", "NA"]})).to_dict("list")
    {'a': [1.0, nan], 'b': ['x', 'NA']}
    """
    texts = set(as_text)
    changed = {}
    for name, column in frame.items():
        if isinstance(column.dtype, pd.StringDtype) or column.dtype == object:
            cells = column.tolist()
            if any(isinstance(cell, str) and (not cell or cell != cell.strip()) for cell in cells):
                changed[name] = _tidied(column, cells, keep_text=name in texts)
    if not changed:
        return frame.copy(deep=False)
    # One new frame: replacing the columns one by one takes seconds where there are thousands.
    return pd.DataFrame({name: changed.get(name, column) for name, column in frame.items()}, index=frame.index)


def _tidied(column: "pd.Series[Any]", cells: list[Any], *, keep_text: bool) -> "pd.Series[Any]":
    stripped = [(cell.strip() or None) if isinstance(cell, str) else cell for cell in cells]
    tidy = pd.Series(stripped, index=column.index, dtype=column.dtype)
    if keep_text or tidy.isna().sum() == column.isna().sum():
        return tidy
    try:
        return pd.to_numeric(tidy)
    except (ValueError, TypeError):
        return tidy


def plain_values(column: "pd.Series[Any]") -> list[Any]:
    """Return the cells of a column as plain values, None where missing."""
    values = column if not column.hasnans else column.astype(object).where(column.notna(), None)
    plain: list[Any] = values.tolist()
    return plain


TABLE_FORMATS.register_lazily("csv", "defero.data.tables.delimited:CSV")


TABLE_FORMATS.register_lazily("tsv", "defero.data.tables.delimited:TSV")


TABLE_FORMATS.register_lazily("jsonl", "defero.data.tables.json_lines:JSON_LINES")


TABLE_FORMATS.register_lazily("parquet", "defero.data.tables.parquet:PARQUET")


TABLE_FORMATS.register_lazily(FOLDER, "defero.data.tables.parquet:PARQUET_FOLDER")


_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def with_partition(frame: pd.DataFrame, path: Path, folder: Path) -> pd.DataFrame:
    """Return rows of a file with the columns that its subfolders name.

    >>> frame = pd.DataFrame({"x": [0.5]})
    >>> with_partition(frame, Path("all/year=2024/site=north%20wing/a.parquet"), Path("all")).to_dict("list")
    {'x': [0.5], 'year': [2024], 'site': ['north wing']}
    """
    own: dict[str, Any] = {}
    for part in path.relative_to(folder).parts[:-1]:
        if "=" in part:
            name, _, value = map(unquote, part.partition("="))
            is_number = value.isdecimal() and str(int(value)) == value
            own[name] = None if value == _NO_VALUE else int(value) if is_number else value
    twice = [name for name in own if name in frame.columns]
    if twice:
        raise TableError(f"{path}: the column {join_names(twice)} is in the file and in the name of its folder.")
    return frame.assign(**own) if own else frame
