"""Parquet files."""

import io
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from defero.core.errors import TableError
from defero.core.wording import join_names
from defero.data.tables.formats import Append, Encoder, TableFormat, duplicates, encoded
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
        try:
            yield from parquet_frames(path, rows=rows, start=start, wanted=columns)
        except pa.ArrowException as error:
            first_line = next(iter(str(error).splitlines()), type(error).__name__)
            raise TableError(f"{path}: cannot be read as parquet: {first_line.rstrip('.')}.") from error

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
