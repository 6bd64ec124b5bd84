"""The table of decisions, written chunk by chunk: either the whole file appears, or none of it."""

import csv
import gzip
import io
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from defero.core.errors import InputError, TableError
from defero.core.wording import join_names
from defero.data.tables.formats import TableFormat, table_format

Columns = Mapping[str, "Sequence[Any] | np.ndarray[Any, Any] | pd.Series[Any]"]


class DecisionWriter:
    """Appends chunks of rows to one file; made by `write_decisions`."""

    def __init__(self, source: str, append: Callable[[pd.DataFrame, bool], None]) -> None:
        self._source = source
        self._append = append
        self._names: list[str] | None = None

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
        if self._names is not None and names != self._names:
            raise InputError(
                f"{self._source}: every chunk must have the columns {join_names(self._names)}, got {join_names(names)}."
            )
        # A Series brings an index, by which pandas would align the columns.
        cells = {name: values.array if isinstance(values, pd.Series) else values for name, values in columns.items()}
        self._append(pd.DataFrame(cells), self._names is None)
        self._names = names

    @property
    def empty(self) -> bool:
        """Has nothing been written yet?"""
        return self._names is None


@contextmanager
def write_decisions(path: str | PathLike[str]) -> Iterator[DecisionWriter]:
    """Open a table for writing; the name's ending tells the format, as in `read_frame`.

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
    target = Path(path)
    file_format = table_format(target)
    if target.is_dir():
        raise TableError(f"{path}: is a folder; name a file to write.")
    if not target.parent.is_dir():
        raise TableError(f"{path}: the folder {target.parent} does not exist; make it first.")
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        raw = part.open("wb")
    except OSError as error:
        raise TableError(f"{path}: cannot be written: {error.strerror}.") from error
    try:
        with ExitStack() as stack:
            stack.enter_context(raw)
            writer = DecisionWriter(str(path), _appender(raw, file_format, stack, source=str(path)))
            yield writer
        if writer.empty:
            raise TableError(f"{path}: there are no decisions to write.")
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _appender(
    raw: IO[bytes], file_format: TableFormat, stack: ExitStack, *, source: str
) -> Callable[[pd.DataFrame, bool], None]:
    if file_format.kind == "parquet":
        return _parquet_appender(raw, stack, source=source)
    # mtime: the same decisions give the same bytes.
    file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0)) if file_format.gzipped else raw

    def append(frame: pd.DataFrame, first: bool) -> None:
        names, rows = list(frame.columns), _rows(frame)
        if file_format.kind == "jsonl":
            text = "".join(_json_line(names, row) for row in rows)
        else:
            lines = io.StringIO()
            table = csv.writer(lines, delimiter=file_format.separator, lineterminator="\n")
            table.writerows([names, *rows] if first else rows)
            text = lines.getvalue()
        file.write(text.encode("utf-8"))

    return append


def _parquet_appender(raw: IO[bytes], stack: ExitStack, *, source: str) -> Callable[[pd.DataFrame, bool], None]:
    opened: list[pq.ParquetWriter] = []

    def append(frame: pd.DataFrame, first: bool) -> None:
        schema = None if first else opened[0].schema
        try:
            table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            message = str(error.args[0]).splitlines()[0]
            raise TableError(
                f"{source}: Parquet wants one type per column: {message}; write a CSV file instead."
            ) from error
        if first:
            table = table.cast(_without_null_types(table.schema))
            opened.append(stack.enter_context(pq.ParquetWriter(raw, table.schema)))
        opened[0].write_table(table)

    return append


def _without_null_types(schema: pa.Schema) -> pa.Schema:
    """Let a column that is blank throughout the first chunk be text: later chunks may have something to say."""
    fields = [pa.field(one.name, pa.string() if pa.types.is_null(one.type) else one.type) for one in schema]
    return pa.schema(fields)


def _rows(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield the rows as plain values, None where missing."""
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame.columns]
    return zip(*columns, strict=True)


def _json_line(names: Sequence[str], row: tuple[Any, ...]) -> str:
    return json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, default=_plain) + "\n"


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else str(cell)
