"""Table formats: one object for each kind of file, found by the ending of the file's name; and writing in any of them.

A format is added by one file that defines it and one line at the end of this one. Other packages add theirs through
the entry-point group "defero.table_formats".
"""

import gzip
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np
import pandas as pd

from defero.core.errors import InputError, TableError
from defero.core.registry import Registry
from defero.core.wording import join_names
from defero.data.whole_files import is_compressed, whole_file

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


Columns = Mapping[str, "Sequence[Any] | np.ndarray[Any, Any] | pd.Series[Any]"]


class DecisionWriter:
    """Appends chunks of rows to one file, with the columns `names`; made by `write_decisions`."""

    def __init__(self, source: str, append: Append) -> None:
        self._source = source
        self._append = append
        self.names: list[str] = []

    def write(self, columns: Columns) -> None:
        """Append rows.

        Parameters
        ----------
        columns : mapping
            Column name to (n,) values, the same names in the same order in every chunk.
        """
        names = list(columns)
        lengths = {len(values) for values in columns.values()}
        if len(lengths) != 1:
            raise InputError(f"{self._source}: every column must have the same number of rows, got {sorted(lengths)}.")
        if self.names not in ([], names):
            raise InputError(
                f"{self._source}: every chunk must have the columns {join_names(self.names)}, got {join_names(names)}."
            )
        # A Series brings an index, by which pandas would align the columns.
        cells = {name: values.array if isinstance(values, pd.Series) else values for name, values in columns.items()}
        try:
            self._append(pd.DataFrame(cells))
        except UnicodeEncodeError as error:
            cell = error.object[error.start]
            raise TableError(f"{self._source}: holds {cell!r}, {HALF_PAIR}; correct the cell with it.") from error
        self.names = names


@contextmanager
def write_decisions(path: str | PathLike[str]) -> Iterator[DecisionWriter]:
    """Open a table for writing; the ending of the name gives the format, as in `read_frame`.

    The rows go to a hidden file beside it, which takes the name when the block ends well. A run that fails leaves no
    half table, and an older file of that name as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_decisions(f"{folder}/out.csv") as table:
    ...         table.write({"route": ["model", "dr_a"], "p_model": [0.9, 0.5]})
    ...         table.write({"route": ["dr_b"], "p_model": [0.25]})
    ...     print(Path(f"{folder}/out.csv").read_text().split())
    ['route,p_model', 'model,0.9', 'dr_a,0.5', 'dr_b,0.25']
    """
    file_format = table_format(path)
    with whole_file(Path(path)) as file:
        with file_format.writer(file, source=str(path)) as append:
            writer = DecisionWriter(str(path), append)
            yield writer
        if not writer.names:
            raise TableError(f"{path}: no decisions to write.")


TABLE_FORMATS.register_lazily("csv", "defero.data.tables.delimited:CSV")
TABLE_FORMATS.register_lazily("tsv", "defero.data.tables.delimited:TSV")
TABLE_FORMATS.register_lazily("jsonl", "defero.data.tables.json_lines:JSON_LINES")
TABLE_FORMATS.register_lazily("parquet", "defero.data.tables.parquet:PARQUET")
TABLE_FORMATS.register_lazily(FOLDER, "defero.data.tables.parquet:PARQUET_FOLDER")
