"""Parquet files, and folders of them as one table, with the columns that subfolders name (site=north/0.parquet)."""

import io
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from defero.core.errors import TableError
from defero.core.wording import join_names
from defero.data.tables.formats import FOLDER, Append, Encoder, TableFormat, duplicates, encoded
from defero.data.tables.parquet_footer import MAGIC, Piece, encode_struct, joined_footer

READ_BYTES = 1 << 20
"""A column of a row group is read so many bytes at a time."""
_NAMELESS_INDEX = re.compile(r"__index_level_\d+__")


class _Parquet(TableFormat):
    name = "parquet"
    endings = (".parquet",)
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
        """Yield frames. A named index is a column, a nameless one is not."""
        with _as_table_error(path):
            yield from parquet_frames(path, rows=rows, start=start, wanted=columns)

    def writer(self, file: IO[bytes], *, source: str) -> AbstractContextManager[Append]:
        """Return the function that appends frames; the first one settles the columns' types."""
        return encoded(self.encoder(source=source), file)

    def encoder(self, *, source: str) -> "ParquetEncoder":
        """Return what turns each frame into one row group."""
        return ParquetEncoder(source)


class ParquetEncoder(Encoder):
    """Every frame becomes a row group; the first one settles the columns' types."""

    def __init__(self, source: str) -> None:
        self._source, self._size, self._n_rows = source, 0, 0
        self._schema: pa.Schema | None = None
        self._template = b""
        self._groups: list[bytes] = []

    def encode(self, frame: pd.DataFrame) -> tuple[bytes, Any]:
        """Return the bytes of a row group; the note is its entry in the end of the file."""
        table = _table(frame, schema=self._schema, source=self._source)
        content = io.BytesIO()
        # Probabilities hardly repeat: a dictionary of them costs time and saves nothing.
        texts = [one.name for one in table.schema if not pa.types.is_floating(one.type)]
        pq.write_table(table, content, row_group_size=max(len(frame), 1), use_dictionary=texts)
        piece = Piece.of(content.getvalue())
        note: dict[str, Any] = {}
        if self._schema is None:
            self._schema, self._template = table.schema, encode_struct(piece.footer)
            note["template"] = b64encode(self._template).decode("ascii")
        head = b"" if self._size else MAGIC
        groups, n_rows = piece.moved_groups(self._size + len(head), ordinal=len(self._groups))
        self._add(groups, n_rows, len(head) + len(piece.body))
        note |= {"groups": [b64encode(group).decode("ascii") for group in groups], "rows": n_rows}
        return head + piece.body, note

    def go_on(self, notes: Sequence[Any], size: int) -> None:
        """Take the row groups of an earlier run."""
        for note in notes:
            self._add([b64decode(group) for group in note["groups"]], note["rows"], 0)
        if notes:
            self._size, self._template = size, b64decode(notes[0]["template"])
            self._schema = pq.read_schema(io.BytesIO(MAGIC + joined_footer(self._template, [], 0)))

    def end(self) -> bytes:
        """Return the end of the file, which has the places of all row groups."""
        return joined_footer(self._template, self._groups, self._n_rows)

    def _add(self, groups: list[bytes], n_rows: int, size: int) -> None:
        self._groups += groups
        self._n_rows += n_rows
        self._size += size


def parquet_frames(
    path: Path, *, rows: int | None, start: int = 0, wanted: Sequence[str] | None = None
) -> Iterator[pd.DataFrame]:
    """Yield the frames of a file; those before the row `start` may be left out."""
    with pq.ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False) as file:
        names = file.schema_arrow.names
        twice = duplicates(names)
        if twice:
            raise TableError(f"{path}: has {join_names(map(repr, twice))} more than once; rename one of them.")
        wanted_names = set(names if wanted is None else wanted)
        columns = [name for name in names if name in wanted_names and not _NAMELESS_INDEX.fullmatch(name)]
        if rows is None:
            yield _frame(file.read(columns=columns), start=0)
            return
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        for first, groups in _runs(sizes, rows=rows):
            if first + sum(sizes[group] for group in groups) <= start:
                continue
            for batch in file.iter_batches(batch_size=rows, columns=columns, row_groups=groups):
                if first >= start:
                    yield _frame(pa.Table.from_batches([batch]), start=first)
                first += batch.num_rows


def _runs(sizes: Sequence[int], *, rows: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the first row, and row groups that are read together: so many that they have at least `rows` rows.

    >>> list(_runs([5, 5, 30, 2], rows=10))
    [(0, [0, 1]), (10, [2]), (40, [3])]
    """
    start, run = 0, list[int]()
    for group in range(len(sizes)):
        run.append(group)
        total = sum(sizes[one] for one in run)
        if total >= rows or group == len(sizes) - 1:
            yield start, run
            start, run = start + total, []


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
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        message = str(error.args[0]).splitlines()[0]
        raise TableError(
            f"{source}: Parquet wants one type per column: {message}; write a CSV file instead."
        ) from error
    return table if schema is not None else table.cast(_without_null_types(table.schema))


def _without_null_types(schema: pa.Schema) -> pa.Schema:
    """Read a column that is blank in the whole first chunk as text: later chunks may have cells."""
    fields = [pa.field(one.name, pa.string() if pa.types.is_null(one.type) else one.type) for one in schema]
    return pa.schema(fields)


PARQUET = _Parquet()


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
