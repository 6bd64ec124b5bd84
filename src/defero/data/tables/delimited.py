"""CSV and TSV files as frames."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from defero.core.errors import TableError
from defero.core.wording import join_names
from defero.data.tables.formats import TableFormat, open_text
from defero.data.tables.tidy import tidied

_TOO_MANY = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_SEPARATORS = {";": "semicolons", "\t": "tabs", ",": "commas"}
_OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")


def delimited_frames(
    path: Path, file_format: TableFormat, *, rows: int | None, as_text: Sequence[str]
) -> Iterator[pd.DataFrame]:
    """Yield frames of at most `rows` rows, or one of them all."""
    names = read_header(path, file_format)
    # pandas wants a name for each column; a nameless one is dropped again below.
    handles = [name or f"\0{place}" for place, name in enumerate(names)]
    with pd.read_csv(
        path,
        sep=file_format.separator,
        compression="gzip" if file_format.gzipped else None,
        encoding="utf-8-sig",
        header=0,
        names=handles,
        index_col=False,
        dtype={name: str for name in as_text if name in names},
        keep_default_na=False,
        na_values=[""],
        skipinitialspace=True,
        skip_blank_lines=False,  # so that rows keep the number they have in the file
        low_memory=False,
        iterator=True,
    ) as reader:
        while True:
            try:
                frame = reader.read(rows)
            except StopIteration:
                return
            frame = tidied(frame[[name for name in names if name]], as_text=as_text)
            blank = frame.isna().all(axis=1)
            yield _whole_numbers(frame[~blank]) if blank.any() else frame
            if rows is None:
                return


def _whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Undo what a blank row does to a column of whole numbers: it makes 1 into 1.0."""
    result = frame.copy(deep=False)
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind == "f" and (column.mod(1) == 0).all() and (column.abs() < 2**53).all():
            result[name] = column.astype("int64")
    return result


def read_header(path: Path, file_format: TableFormat) -> list[str]:
    """Return the column names, "" for a column without one. pandas would rename a second x to x.1."""
    with open_text(path, gzipped=file_format.gzipped) as file:
        records = csv.reader(file, delimiter=file_format.separator, skipinitialspace=True)
        try:
            names = [name.strip() for name in next(records, [])]
            first = next(records, [])
        except csv.Error as error:
            raise TableError(f"{path}: row 1 cannot be read: {error}.") from error
    if not any(names):
        raise TableError(f"{path}: row 1 is blank; it must hold the column names.")
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise TableError(f"{path}: row 1 has {join_names(map(repr, twice))} more than once; rename one of them.")
    other = next((mark for mark in _SEPARATORS if mark in names[0] and mark != file_format.separator), None)
    if len(names) == 1 and other is not None:
        raise TableError(
            f"{path}: the cells seem to be separated by {_SEPARATORS[other]}; save the file with "
            f"{_SEPARATORS[file_format.separator]}."
        )
    if len(first) > len(names):
        # The parser lets the first data row be longer than the header, and cuts it off.
        raise TableError(f"{path}: {_too_many(row=2, cells=len(first), names=len(names))}.")
    return names


def parser_sentence(message: str) -> str:
    """Say what the parser said, in one line and in the row numbers of a spreadsheet.

    >>> parser_sentence("Error tokenizing data. C error: Expected 2 fields in line 3, saw 5")
    'row 3 has 5 cells where the header has 2'
    """
    long_row, open_quote = _TOO_MANY.search(message), _OPEN_QUOTE.search(message)
    if long_row:
        names, row, cells = map(int, long_row.groups())
        return _too_many(row=row, cells=cells, names=names)
    if open_quote:
        return f"row {int(open_quote.group(1)) + 1} opens a quotation mark that is never closed"
    return f"cannot be read: {next(iter(message.splitlines()), '')}".rstrip(". ")


def _too_many(*, row: int, cells: int, names: int) -> str:
    return f"row {row} has {cells} cells where the header has {names}"
