"""A folder of Parquet files as one table, with the columns that its subfolders name (site=north/part-0.parquet)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from defero.core.errors import TableError
from defero.core.wording import join_names
from defero.data.tables.formats import FOLDER, Append, TableFormat
from defero.data.tables.parquet import parquet_frames

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class _ParquetFolder(TableFormat):
    """The files in the order of their names; row 1 is the first row of the first file."""

    name = FOLDER
    endings = ()
    seeks = True

    def read(
        self,
        path: Path,
        *,
        rows: int | None,
        as_text: Sequence[str],
        start: int = 0,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pd.DataFrame]:
        """Yield frames; every piece is of one file, unless all rows are read at once."""
        frames = _frames(path, rows=rows, start=start, wanted=columns)
        if rows is None:
            yield pd.concat(list(frames))
        else:
            yield from frames

    def writer(self, file: IO[bytes], *, source: str) -> AbstractContextManager[Append]:
        """Raise: decisions are one file."""
        raise TableError(f"{source}: is a folder; name a file to write.")


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder and its subfolders; names that begin with _ or . are left out."""
    files = sorted(
        one
        for one in folder.rglob("*.parquet")
        if one.is_file() and not any(part.startswith(("_", ".")) for part in one.relative_to(folder).parts)
    )
    if not files:
        raise TableError(f"{folder}: is a folder without Parquet files; name a file in it.")
    return files


def partition_of(path: Path, folder: Path) -> dict[str, str | int | None]:
    """Return the columns that the subfolders of a file name.

    >>> partition_of(Path("all/year=2024/site=north%20wing/a.parquet"), Path("all"))
    {'year': 2024, 'site': 'north wing'}
    """
    pairs = [part.partition("=") for part in path.relative_to(folder).parts[:-1] if "=" in part]
    values = {unquote(name): unquote(value) for name, _, value in pairs}
    return {
        name: None if value == _NO_VALUE else int(value) if value.isdecimal() and str(int(value)) == value else value
        for name, value in values.items()
    }


@dataclass(frozen=True)
class FolderPart:
    """One file of a folder.

    Attributes
    ----------
    path, folder : Path
    start, n_rows : int
        The index of its first row in the whole table, and how many rows it has.
    """

    path: Path
    folder: Path
    start: int
    n_rows: int

    def frames(
        self, *, rows: int | None, start: int = 0, wanted: Sequence[str] | None = None
    ) -> Iterator[pd.DataFrame]:
        """Yield its rows from the index `start` of the whole table on, with the columns that its folders name."""
        own = partition_of(self.path, self.folder)
        with _as_table_error(self.path):
            for frame in parquet_frames(self.path, rows=rows, start=max(start - self.start, 0), wanted=wanted):
                yield with_partition(frame, own, self.path).set_axis(frame.index + self.start, axis=0)


def folder_parts(folder: Path) -> list[FolderPart]:
    """Return the files of a folder, in the order of their names."""
    parts, start = [], 0
    for path in parquet_files(folder):
        with _as_table_error(path):
            parts.append(FolderPart(path, folder, start, pq.read_metadata(path).num_rows))
        start += parts[-1].n_rows
    return parts


def _frames(folder: Path, *, rows: int | None, start: int, wanted: Sequence[str] | None) -> Iterator[pd.DataFrame]:
    for part in folder_parts(folder):
        if part.start + part.n_rows > start:
            yield from part.frames(rows=rows, start=start, wanted=wanted)


@contextmanager
def _as_table_error(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        raise TableError(f"{path}: cannot be read as parquet: {first_line.rstrip('.')}.") from error


def with_partition(frame: pd.DataFrame, own: Mapping[str, str | int | None], path: Path) -> pd.DataFrame:
    """Return a frame with the columns that the subfolders of its file name."""
    twice = [name for name in own if name in frame.columns]
    if twice:
        raise TableError(f"{path}: the column {join_names(twice)} is in the file and in the name of its folder.")
    return frame.assign(**own) if own else frame


PARQUET_FOLDER = _ParquetFolder()
