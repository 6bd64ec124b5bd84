"""Parquet files as frames."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from defero.core.errors import TableError
from defero.core.wording import join_names

_NAMELESS_INDEX = re.compile(r"__index_level_\d+__")


def parquet_frames(path: Path, *, rows: int | None) -> Iterator[pd.DataFrame]:
    """Yield frames of at most `rows` rows, or one of them all. A named index is a column, a nameless one is not."""
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise TableError(f"{path}: has {join_names(map(repr, twice))} more than once; rename one of them.")
        kept = [name for name in names if not _NAMELESS_INDEX.fullmatch(name)]
        if rows is None:
            yield _frame(file.read(columns=kept), start=0)
            return
        start = 0
        for batch in file.iter_batches(batch_size=rows, columns=kept):
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
