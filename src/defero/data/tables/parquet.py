"""Parquet files, and folders of them as one table, with the columns that subfolders name (site=north/0.parquet)."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from defero.core.errors import TableError
from defero.core.wording import join_names
from defero.data.tables.read import FOLDER, Append, TableFormat, duplicates, with_partition

READ_BYTES = 1 << 20
"""A column of a row group is read so many bytes at a time."""
_NAMELESS_INDEX = re.compile(r"__index_level_\d+__")


class _Parquet(TableFormat):
    name = "parquet"
    endings = (".parquet",)
    picks_columns = True

    def read(
        self, path: Path, *, rows: int | None, as_text: Sequence[str], columns: Sequence[str] | None = None
    ) -> Iterator[pd.DataFrame]:
        """Yield frames. A named index is a column, a nameless one is not."""
        with _as_table_error(path), pq.ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False) as file:
            names = file.schema_arrow.names
            twice = duplicates(names)
            if twice:
                raise TableError(f"{path}: has {join_names(map(repr, twice))} more than once; rename one of them.")
            wanted = set(names if columns is None else columns)
            read = [name for name in names if name in wanted and not _NAMELESS_INDEX.fullmatch(name)]
            if rows is None:
                yield _frame(file.read(columns=read), start=0)
                return
            start = 0
            for batch in file.iter_batches(batch_size=rows, columns=read):
                yield _frame(pa.Table.from_batches([batch]), start=start)
                start += batch.num_rows

    @contextmanager
    def writer(self, file: IO[bytes], *, source: str) -> Iterator[Append]:
        """Yield the function that appends frames, each a row group; the first one settles the columns' types."""
        writer: Any = None

        def append(frame: pd.DataFrame) -> None:
            nonlocal writer
            table = _table(frame, schema=None if writer is None else writer.schema, source=source)
            if writer is None:
                # Probabilities hardly repeat: a dictionary of them costs time and saves nothing.
                texts = [one.name for one in table.schema if not pa.types.is_floating(one.type)]
                writer = pq.ParquetWriter(file, table.schema, use_dictionary=texts)
            writer.write_table(table, row_group_size=max(len(frame), 1))

        try:
            yield append
        finally:
            if writer is not None:
                writer.close()


def _frame(table: pa.Table, *, start: int) -> pd.DataFrame:
    # integer_object_nulls: an integer column with gaps would become floats, and codes of 18 digits would be rounded.
    table.validate(full=True)  # a text that is no UTF-8 would be found only where it is used
    # Metadata that is ignored is parsed all the same: damaged, it would be an error.
    bare = table.replace_schema_metadata(None)
    frame: pd.DataFrame = bare.to_pandas(ignore_metadata=True, integer_object_nulls=True, split_blocks=True)
    frame.index = pd.RangeIndex(start, start + len(frame))
    return frame


def _table(frame: pd.DataFrame, *, schema: pa.Schema | None, source: str) -> pa.Table:
    try:
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        message = str(error.args[0]).splitlines()[0]
        raise TableError(
            f"{source}: Parquet wants one type per column: {message}; write a CSV file instead."
        ) from error
    if schema is not None:
        return table
    # A column that is blank in the whole first chunk is text: later chunks may have cells.
    fields = [pa.field(one.name, pa.string() if pa.types.is_null(one.type) else one.type) for one in table.schema]
    return table.cast(pa.schema(fields))


class _ParquetFolder(TableFormat):
    """The files in the order of their names; row 1 is the first row of the first file."""

    name = FOLDER
    endings = ()
    picks_columns = True

    def read(
        self, path: Path, *, rows: int | None, as_text: Sequence[str], columns: Sequence[str] | None = None
    ) -> Iterator[pd.DataFrame]:
        """Yield frames; every piece is of one file, unless all rows are read at once."""
        frames = (frame for part in folder_parts(path) for frame in part.frames(rows=rows, columns=columns))
        if rows is None:
            yield pd.concat(list(frames))
        else:
            yield from frames

    @contextmanager
    def writer(self, file: IO[bytes], *, source: str) -> Iterator[Append]:
        """Raise: decisions are one file."""
        raise TableError(f"{source}: is a folder; name a file to write.")
        yield


PARQUET, PARQUET_FOLDER = _Parquet(), _ParquetFolder()


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


class FolderPart(NamedTuple):
    """One file of a folder, the index of its first row in the whole table, and how many rows it has."""

    path: Path
    folder: Path
    start: int
    n_rows: int

    def frames(self, *, rows: int | None, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield its rows, numbered as in the whole table, with the columns that its folders name."""
        for frame in PARQUET.read(self.path, rows=rows, as_text=(), columns=columns):
            yield with_partition(frame, self.path, self.folder).set_axis(frame.index + self.start, axis=0)


def folder_parts(folder: Path) -> list[FolderPart]:
    """Return the files of a folder, in the order of their names."""
    parts, start = list[FolderPart](), 0
    for path in parquet_files(folder):
        with _as_table_error(path):
            parts.append(FolderPart(path, folder, start, pq.read_metadata(path).num_rows))
        start += parts[-1].n_rows
    return parts


@contextmanager
def _as_table_error(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        raise TableError(f"{path}: cannot be read as parquet: {first_line.rstrip('.')}.") from error
