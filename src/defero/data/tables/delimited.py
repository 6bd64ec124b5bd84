"""CSV, TSV, and any other table whose cells are separated by one character."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pandas as pd

from defero.core.checks.arrays import BoolArray
from defero.core.errors import TableError
from defero.core.wording import join_names
from defero.data.tables.cells import no_header_hint
from defero.data.tables.csv_lines import csv_lines
from defero.data.tables.formats import (
    Append,
    TableFormat,
    duplicates,
    is_compressed,
    open_text,
    strip_cells,
)

_TOO_MANY = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_SEPARATORS = {";": "semicolons", "\t": "tabs", ",": "commas", "|": "vertical bars"}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")


class Delimited(TableFormat):
    r"""A table of text: the first row holds the names, and one character separates the cells.

    >>> Delimited("psv", ".psv", separator="|").endings
    ('.psv', '.psv.gz')
    """

    first_row = 2
    typed = False

    def __init__(self, name: str, ending: str, *, separator: str) -> None:
        self.name = name
        self.endings = (ending, f"{ending}.gz")
        self.separator = separator

    def read(self, path: Path, *, rows: int | None, as_text: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield frames; rows that are blank throughout and columns without a name are left out."""
        try:
            yield from self._frames(path, rows=rows, as_text=as_text)
        except pd.errors.ParserError as error:
            hint = _separator_hint(path, separator=self.separator)
            raise TableError(f"{path}: {parser_sentence(str(error))}{hint}.") from error

    def _frames(self, path: Path, *, rows: int | None, as_text: Sequence[str]) -> Iterator[pd.DataFrame]:
        separator = _used_separator(path, separator=self.separator)
        names = read_header(path, separator=separator)
        # pandas wants a name for each column; a nameless one is dropped again below.
        handles = [name or f"\0{place}" for place, name in enumerate(names)]
        wanted = set(names)
        with pd.read_csv(
            path,
            sep=separator,
            compression="gzip" if is_compressed(path) else None,
            encoding="utf-8-sig",
            header=0,
            names=handles,
            index_col=False,
            dtype={name: str for name in as_text if name in wanted},
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
                named = frame if all(names) else frame[[name for name in names if name]]  # a copy, where needed
                frame = strip_cells(named, as_text=as_text)
                if separator != self.separator:
                    _refuse_decimal_commas(frame, path, first_row=self.first_row)
                blank = _blank_rows(frame)
                yield _whole_numbers(frame[~blank]) if blank.any() else frame
                if rows is None:
                    return

    @contextmanager
    def writer(self, file: IO[bytes], *, source: str) -> Iterator[Append]:
        """Yield the function that appends frames, the first one with the names."""
        pieces = 0

        def append(frame: pd.DataFrame) -> None:
            nonlocal pieces
            if not pieces:
                head = io.StringIO()
                csv.writer(head, delimiter=self.separator, lineterminator="\n").writerow(frame.columns)
                file.write(head.getvalue().encode("utf-8"))
            file.write(csv_lines(frame, separator=self.separator))
            pieces += 1

        yield append


def _blank_rows(frame: pd.DataFrame) -> BoolArray:
    """Return which rows are blank throughout; most tables have none, and their first column shows it."""
    blank: BoolArray = frame.iloc[:, 0].isna().to_numpy()
    return blank & frame.isna().all(axis=1).to_numpy() if blank.any() else blank


def _whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Undo what a blank row does to a column of whole numbers: it makes 1 into 1.0."""
    result = frame.copy(deep=False)
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind == "f" and (column.mod(1) == 0).all() and (column.abs() < 2**53).all():
            result[name] = column.astype("int64")
    return result


def read_header(path: Path, *, separator: str) -> list[str]:
    """Return the column names, "" for a column without one. pandas would rename a second x to x.1."""
    try:
        names, first = _first_rows(path, separator=separator)
    except csv.Error as error:
        raise TableError(f"{path}: row 1 cannot be read: {error}.") from error
    if not any(names):
        raise TableError(f"{path}: row 1 is blank; it must hold the column names.")
    twice = [name for name in duplicates(names) if name]
    if twice:
        raise TableError(
            f"{path}: row 1 has {join_names(map(repr, twice))} more than once; rename one of them."
            f"{no_header_hint(names)}"
        )
    other = next((mark for mark in _SEPARATORS if mark in names[0] and mark != separator), None)
    if len(names) == 1 and other is not None:
        raise TableError(f"{path}: {_save_with(other, separator)}.")
    if len(first) > len(names):
        # The parser lets the first data row be longer than the header, and cuts it off.
        hint = _separator_hint(path, separator=separator)
        raise TableError(f"{path}: {_too_many(row=2, cells=len(first), names=len(names))}{hint}.")
    return names


def _first_rows(path: Path, *, separator: str) -> tuple[list[str], list[str]]:
    """Return the cells of the header and of the row after it."""
    with open_text(path) as file:
        records = csv.reader(file, delimiter=separator, skipinitialspace=True)
        return [name.strip() for name in next(records, [])], next(records, [])


def _used_separator(path: Path, *, separator: str) -> str:
    """Return what separates the cells: semicolons in a .csv file of many spreadsheets, where header and row agree."""
    if separator != ",":
        return separator
    try:
        plain, cells = (_first_rows(path, separator=mark) for mark in (separator, ";"))
    except csv.Error:
        return separator
    names, first = cells
    return ";" if len(plain[0]) == 1 and len(names) > 1 and len(first) in (0, len(names)) else separator


def _refuse_decimal_commas(frame: pd.DataFrame, path: Path, *, first_row: int) -> None:
    """Refuse 3,5 for 3.5, which would be read as a text: files with semicolons often have it."""
    for name in frame.columns:
        if frame[name].dtype.kind in "iufb":
            continue
        for label, cell in frame[name].items():
            if isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell):
                raise TableError(
                    f"{path}: row {int(str(label)) + first_row}, column {name}: {cell!r} has a decimal comma; save the "
                    "file with decimal points, such as 3.5."
                )


def _separator_hint(path: Path, *, separator: str) -> str:
    """Return the clause that offers another separator where header and first row have as many cells by it."""
    for mark in _SEPARATORS:
        try:
            names, first = _first_rows(path, separator=mark)
        except csv.Error:
            continue
        if mark != separator and len(names) == len(first) > 1:
            return f"; {_save_with(mark, separator)}"
    return ""


def _save_with(other: str, separator: str) -> str:
    wanted = _SEPARATORS.get(separator, repr(separator))
    return f"the cells seem to be separated by {_SEPARATORS[other]}; save the file with {wanted}"


def parser_sentence(message: str) -> str:
    """Return the parser's message in one line, with the row numbers of a spreadsheet.

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


CSV = Delimited("csv", ".csv", separator=",")
TSV = Delimited("tsv", ".tsv", separator="\t")
