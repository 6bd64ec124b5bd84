"""Table formats: one object for each kind of file, found by the ending of the file's name.

A format is added by one file that defines it and one line at the end of this one. Other packages add theirs through
the entry-point group "defero.table_formats".
"""

import gzip
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO, Any, TextIO

import pandas as pd

from defero.core.errors import TableError
from defero.core.registry import Registry
from defero.core.wording import join_names

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
    seeks : bool
        Whether `read` takes `start`, the index of the first row that is wanted, and `columns`, the names that are
        wanted; pieces before that row, and other columns, may be left out.
    """

    name: str
    endings: tuple[str, ...]
    first_row: int = 1
    typed: bool = True
    reports_bad: bool = False
    seeks: bool = False

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

    def encoder(self, *, source: str) -> "Encoder | None":
        """Return what turns frames into bytes one by one; None where a file can only be written in one go."""
        return None


class Encoder(ABC):
    """Turns the frames of a table into the bytes of a file, piece by piece, so that another run can go on.

    The bytes of all pieces, one after the other, and then those of `end` are the file. What an encoder must know of
    earlier pieces is in their notes, plain values for JSON.
    """

    @abstractmethod
    def encode(self, frame: pd.DataFrame) -> tuple[bytes, Any]:
        """Return the bytes of the next rows, and a note."""

    @abstractmethod
    def go_on(self, notes: Sequence[Any], size: int) -> None:
        """Take the notes of the pieces that an earlier run has written, and how many bytes they are."""

    def end(self) -> bytes:
        """Return the last bytes of the file."""
        return b""


@contextmanager
def encoded(encoder: Encoder, file: IO[bytes]) -> Iterator[Append]:
    """Yield the function by which frames are encoded and appended to a file."""

    def append(frame: pd.DataFrame) -> None:
        file.write(encoder.encode(frame)[0])

    yield append
    file.write(encoder.end())


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


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return path.name.lower().endswith(".gz")


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


def plain_rows(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield the rows as plain values, None where missing."""
    return zip(*(_plain_values(frame[name]) for name in frame.columns), strict=True)


def _plain_values(column: "pd.Series[Any]") -> list[Any]:
    values = column if not column.hasnans else column.astype(object).where(column.notna(), None)
    plain: list[Any] = values.tolist()
    return plain


TABLE_FORMATS.register_lazily("csv", "defero.data.tables.delimited:CSV")
TABLE_FORMATS.register_lazily("tsv", "defero.data.tables.delimited:TSV")
TABLE_FORMATS.register_lazily("jsonl", "defero.data.tables.json_lines:JSON_LINES")
TABLE_FORMATS.register_lazily("parquet", "defero.data.tables.parquet:PARQUET")
TABLE_FORMATS.register_lazily(FOLDER, "defero.data.tables.parquet:PARQUET_FOLDER")
