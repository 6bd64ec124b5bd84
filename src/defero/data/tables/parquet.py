"""Parquet files."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from defero.core.errors import TableError
from defero.core.wording import join_names
from defero.data.tables.formats import Append, TableFormat, duplicates

_NAMELESS_INDEX = re.compile(r"__index_level_\d+__")


class _Parquet(TableFormat):
    name = "parquet"
    endings = (".parquet",)

    def read(self, path: Path, *, rows: int | None, as_text: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield frames. A named index is a column, a nameless one is not."""
        try:
            yield from _frames(path, rows=rows)
        except pa.ArrowException as error:
            first_line = next(iter(str(error).splitlines()), type(error).__name__)
            raise TableError(f"{path}: cannot be read as parquet: {first_line.rstrip('.')}.") from error

    @contextmanager
    def writer(self, file: IO[bytes], *, source: str) -> Iterator[Append]:
        """Yield the function that appends frames; the first one settles the columns' types."""
        opened: list[pq.ParquetWriter] = []
        with ExitStack() as stack:

            def append(frame: pd.DataFrame) -> None:
                table = _table(frame, schema=opened[0].schema if opened else None, source=source)
                if not opened:
                    opened.append(stack.enter_context(pq.ParquetWriter(file, table.schema)))
                opened[0].write_table(table)

            yield append


def _frames(path: Path, *, rows: int | None) -> Iterator[pd.DataFrame]:
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        twice = duplicates(names)
        if twice:
            raise TableError(f"{path}: has {join_names(map(repr, twice))} more than once; rename one of them.")
        columns = [name for name in names if not _NAMELESS_INDEX.fullmatch(name)]
        if rows is None:
            yield _frame(file.read(columns=columns), start=0)
            return
        start = 0
        for batch in file.iter_batches(batch_size=rows, columns=columns):
            yield _frame(pa.Table.from_batches([batch]), start=start)
            start += batch.num_rows


def _frame(table: pa.Table, *, start: int) -> pd.DataFrame:
    # integer_object_nulls: an integer column with gaps would become floats, and codes of 18 digits would be rounded.
    table.validate(full=True)  # a text that is no UTF-8 would be found only where it is used
    # Metadata that is ignored is parsed all the same: damaged, it would be an error.
    bare = table.replace_schema_metadata(None)
    frame: pd.DataFrame = bare.to_pandas(ignore_metadata=True, integer_object_nulls=True)
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
