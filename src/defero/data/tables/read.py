"""Tables from files of any registered format, whole or piece by piece."""

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from defero.core.errors import InputError, TableError
from defero.data.tables.bad_cells import OnBad
from defero.data.tables.cells import no_such_column
from defero.data.tables.formats import readable, table_format

ROWS_AT_ONCE = 50_000


class NoRowsError(TableError):
    """A table has a header and nothing else, or nothing at all."""


def read_frame(
    path: str | PathLike[str], *, columns: Sequence[str] | None = None, as_text: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a whole table.

    In text files white space around a cell is dropped, a blank cell is missing, and nothing else is: a class called
    NA stays a label. Columns of numbers become numbers. Rows that are blank throughout and columns without a name
    (a spreadsheet's leftovers, a saved index) are left out. `index + first_row(path)` is the row in the file.

    Parameters
    ----------
    path : path
        The ending of the name gives the format: .csv, .tsv, .jsonl or .ndjson, each also with .gz, or .parquet, or that
        of a format which another package adds.
    columns : sequence of str, optional
        Keep these only, in this order.
    as_text : sequence of str
        Columns of a CSV or TSV file to keep as written: 007 stays 007.

    Returns
    -------
    pandas.DataFrame
    """
    frame = next(_frames(path, rows=None, as_text=as_text))
    if columns is None:
        return frame
    for column in columns:
        if column not in frame.columns:
            raise no_such_column(column, list(frame.columns), source=str(path), role="the table")
    return frame[list(columns)]


def read_chunks(
    path: str | PathLike[str],
    *,
    rows: int = ROWS_AT_ONCE,
    as_text: Sequence[str] = (),
    on_bad: OnBad | None = None,
    start: int = 0,
    columns: Sequence[str] | None = None,
) -> Iterator[pd.DataFrame]:
    """Read a table piece by piece, at most `rows` rows at a time; leave out pieces before the row with index `start`.

    Columns that are not in `columns` are left out where that saves time, in Parquet files.

    As `read_frame`, except that a column's type is found in each piece anew: a column may hold numbers in one piece
    and text in the next. `FeatureRecipe.apply` copes with that; name in `as_text` what must stay as written, such as
    the key. The pieces' index runs on. Rows that cannot be read are an error, or are left out and given to `on_bad`.
    """
    if rows < 1:
        raise InputError(f"must be at least 1, got {rows}.", argument="rows")
    yield from _frames(path, rows=rows, as_text=as_text, on_bad=on_bad, start=start, columns=columns)


def _frames(
    path: str | PathLike[str],
    *,
    rows: int | None,
    as_text: Sequence[str],
    on_bad: OnBad | None = None,
    start: int = 0,
    columns: Sequence[str] | None = None,
) -> Iterator[pd.DataFrame]:
    """Yield the frames of a checked file, none of them empty; whatever goes wrong becomes a `TableError`."""
    file = Path(path)
    file_format = table_format(file)
    is_empty = start == 0
    more: dict[str, Any] = {"on_bad": on_bad} if file_format.reports_bad else {}
    more |= {"start": start, "columns": columns} if file_format.seeks else {}
    with readable(file, file_format.name):
        for frame in file_format.read(file, rows=rows, as_text=as_text, **more):
            if len(frame):
                is_empty = False
                if frame.index[-1] >= start:
                    yield frame
    if is_empty:
        raise NoRowsError(f"{path}: has {'a header but ' if file_format.first_row > 1 else ''}no rows.")
