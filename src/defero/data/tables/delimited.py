"""CSV, TSV, and any other table whose cells are separated by one character."""

import csv
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import TableError
from defero.core.wording import join_names
from defero.data.tables.bad_rows import BadCell, OnBad, readable_cells
from defero.data.tables.cells import MARKED_BYTES, is_marked, no_header_hint, without_formula
from defero.data.tables.read import Append, TableFormat, duplicates, open_text, plain_values, strip_cells
from defero.data.whole_files import is_compressed

_TOO_MANY = re.compile(r"[Ee]xpected (\d+) fields in line (\d+), saw (\d+)")
_SKIPPED = re.compile(r"Skipping line (\d+): expected (\d+) fields, saw (\d+)")
_SEPARATORS = (";", "\t", ",", "|")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_WITH_COMMA = re.compile(r"[+-]?\d+(,\d+)?")
_EMPTY = '""'
_OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")


class Delimited(TableFormat):
    r"""A table of text: the first row holds the names, and one character separates the cells.

    >>> Delimited("psv", ".psv", separator="|").endings
    ('.psv', '.psv.gz')
    """

    first_row = 2
    typed = False
    reports_bad = True

    def __init__(self, name: str, ending: str, *, separator: str) -> None:
        self.name = name
        self.endings = (ending, f"{ending}.gz")
        self.separator = separator

    def read(
        self, path: Path, *, rows: int | None, as_text: Sequence[str], on_bad: OnBad | None = None
    ) -> Iterator[pd.DataFrame]:
        """Yield frames; rows that are blank throughout and columns without a name are left out."""
        try:
            yield from self._frames(path, rows=rows, as_text=as_text, on_bad=on_bad)
        except pd.errors.ParserError as error:
            raise TableError(f"{path}: {parser_sentence(str(error))}.") from error

    def _frames(
        self, path: Path, *, rows: int | None, as_text: Sequence[str], on_bad: OnBad | None
    ) -> Iterator[pd.DataFrame]:
        separator = _used_separator(path, separator=self.separator)
        names = read_header(path, separator=separator, any_first_row=on_bad is not None)
        texts = {name: str for name in as_text if name in set(names)}
        long_rows, decimals = _LongRows(), _Decimals(path)
        with _parser(path, names, separator=separator, texts=texts, lenient=on_bad is not None) as reader:
            while True:
                try:
                    with long_rows.skipped():
                        frame = reader.read(rows)
                except StopIteration:
                    return
                if on_bad is not None:
                    frame = long_rows.renumbered(frame, path, separator=separator, on_bad=on_bad)
                named = frame if all(names) else frame[[name for name in names if name]]  # a copy, where needed
                frame = strip_cells(named, as_text=as_text)
                if on_bad is not None:
                    frame = readable_cells(frame, first_row=self.first_row, on_bad=on_bad)
                if separator != self.separator:
                    frame = decimals.read(frame, as_text=as_text, first_row=self.first_row, on_bad=on_bad)
                blank = _blank_rows(frame)
                yield _whole_numbers(frame[~blank]) if blank.any() else frame
                if rows is None:
                    return

    @contextmanager
    def writer(self, file: IO[bytes], *, source: str) -> Iterator[Append]:
        """Yield the function that appends frames, the first one with the names; no cell is a spreadsheet's formula."""
        is_first, special = True, re.compile(f'[{re.escape(self.separator)}"\r\n]')

        def append(frame: pd.DataFrame) -> None:
            nonlocal is_first
            rows = zip(*(_written(frame[name], special) for name in frame.columns), strict=True)
            names = [[_cell(str(name), special) for name in frame.columns]] if is_first else []
            is_first = False
            # A cell that is empty is quoted where it is alone in its line.
            file.write("".join(f"{self.separator.join(row) or _EMPTY}\n" for row in [*names, *rows]).encode("utf-8"))

        yield append


def _written(column: "pd.Series[Any]", special: "re.Pattern[str]") -> list[str]:
    """Return the cells of a column as Python's csv module writes them, which takes a third more time."""
    if column.dtype == np.float64:
        return _floats(column.to_numpy())
    cells = plain_values(column)
    if not isinstance(column.dtype, pd.StringDtype):
        return [_cell(cell, special) for cell in cells]
    known = {cell: _cell(cell, special) for cell in set(cells)}
    return [known[cell] for cell in cells]


def _cell(cell: Any, special: "re.Pattern[str]") -> str:
    text = "" if cell is None else without_formula(cell) if isinstance(cell, str) else str(cell)
    return '"' + text.replace('"', '""') + '"' if special.search(text) else text


def _floats(values: FloatArray) -> list[str]:
    cells = pc.fill_null(pa.array(values, from_pandas=True).cast(pa.string()), "").to_numpy(zero_copy_only=False)
    size = np.abs(values)
    # These are written by Python in another way: 1e-05, 1.0.
    odd = ((size < 1e-4) | (size >= 1e15) | (values == np.rint(values))) & ~np.isnan(values)
    cells[odd] = list(map(repr, values[odd].tolist()))
    return cells.tolist()


def _parser(path: Path, names: list[str], *, separator: str, texts: dict[str, type[str]], lenient: bool) -> Any:
    """Open a table; a lenient parser leaves rows out that are too long, and marks bytes that are not UTF-8."""
    # pandas wants a name for each column; a nameless one is dropped later.
    handles = [name or f"\0{place}" for place, name in enumerate(names)]
    return pd.read_csv(
        path,
        sep=separator,
        compression="gzip" if is_compressed(path) else None,
        encoding="utf-8-sig",
        encoding_errors=MARKED_BYTES if lenient else "strict",
        on_bad_lines="warn" if lenient else "error",
        header=0,
        names=handles,
        index_col=False,
        dtype=texts,
        keep_default_na=False,
        na_values=[""],
        skipinitialspace=True,
        skip_blank_lines=False,  # so that rows keep the number they have in the file
        low_memory=False,
        iterator=True,
    )


class _LongRows:
    """Rows with more cells than the header has: the parser leaves them out and numbers the others anew."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._new: list[tuple[int, str]] = []
        self._first = True

    @contextmanager
    def skipped(self) -> Iterator[None]:
        """Note the rows that the parser leaves out: it warns of them."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", pd.errors.ParserWarning)
            yield
        for one in caught:
            for row, expected, cells in _SKIPPED.findall(str(one.message)):
                self._new.append((int(row), _too_many(cells=int(cells), names=int(expected))))

    def renumbered(self, frame: pd.DataFrame, path: Path, *, separator: str, on_bad: OnBad) -> pd.DataFrame:
        """Return the rows with the numbers that they have in the file, and report those that were left out."""
        for row, why in self._new:
            on_bad(BadCell(row, "", "", why))
            self._rows.append(row)
        self._new.clear()
        if self._rows:
            skipped = np.array(sorted(self._rows)) - 2  # as an index: row 2 is the first
            before = np.searchsorted(skipped - np.arange(len(skipped)), frame.index, side="right")
            frame = frame.set_axis(frame.index + before, axis=0)
        if self._first:
            self._first = False
            # The parser lets the first data row be longer than the header, and cuts it off.
            names, cells = _first_rows(path, separator=separator)
            if len(cells) > len(names):
                on_bad(BadCell(2, "", "", _too_many(cells=len(cells), names=len(names))))
                frame = frame.drop(index=0)
        return frame


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


def read_header(path: Path, *, separator: str, any_first_row: bool = False) -> list[str]:
    """Return the column names, "" for a column without one. pandas would rename a second x to x.1.

    A first row with more cells than names is an error, unless `any_first_row`.
    """
    try:
        names, first = _first_rows(path, separator=separator)
    except csv.Error as error:
        raise TableError(f"{path}: row 1 cannot be read: {error}.") from error
    if any(map(is_marked, names)):
        with open_text(path) as file:
            file.readline()  # raises: not UTF-8
    if not any(names):
        raise TableError(f"{path}: row 1 is blank; it must hold the column names.")
    twice = [name for name in duplicates(names) if name]
    if twice:
        raise TableError(
            f"{path}: row 1 has {join_names(map(repr, twice))} more than once; rename one of them."
            f"{no_header_hint(names)}"
        )
    if len(first) > len(names) and not any_first_row:
        # The parser lets the first data row be longer than the header, and cuts it off.
        raise TableError(f"{path}: row 2 {_too_many(cells=len(first), names=len(names))}.")
    return names


def _first_rows(path: Path, *, separator: str) -> tuple[list[str], list[str]]:
    """Return the cells of the header and of the row after it."""
    with open_text(path, errors=MARKED_BYTES) as file:
        records = csv.reader(file, delimiter=separator, skipinitialspace=True)
        names = [name.strip() for name in next(records, [])]
        with suppress(csv.Error):  # a cell that is too long here: the parser reads it, or says what is wrong
            return names, next(records, [])
        return names, []


def _used_separator(path: Path, *, separator: str) -> str:
    """Return what separates the cells: the character by which the header has the most names and the next row as many.

    A name may hold a comma, such as "size, mm": the header then has more names by semicolons than by commas.
    """
    used, most = separator, 0
    for mark in dict.fromkeys((separator, *_SEPARATORS)):
        try:
            names, first = _first_rows(path, separator=mark)
        except csv.Error:
            if mark == separator:
                return separator  # `read_header` says what is wrong
            continue
        if mark == separator or (len(names) > most and len(first) in (0, len(names))):
            used, most = mark, len(names)
    return used


def _have_commas(cells: "pd.Series[Any]") -> bool:
    """Tell whether all cells that are not blank are numbers without a decimal point, and are read as text so far."""
    if cells.empty or cells.dtype.kind in "iufb":
        return False
    return all(isinstance(cell, str) and _WITH_COMMA.fullmatch(cell) for cell in cells)


class _Decimals:
    """Columns of numbers that are written with a decimal comma throughout, such as 3,5, in pieces of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._points, self._commas = set[str](), set[str]()

    def read(
        self, frame: pd.DataFrame, *, as_text: Sequence[str], first_row: int, on_bad: OnBad | None
    ) -> pd.DataFrame:
        """Return a piece in which such columns are numbers; one with 1.234 as well may mean thousands, and stays.

        Any other 3,5 is refused: it would be read as a text, and files with semicolons often have it for 3.5.
        """
        result, bad = frame.copy(deep=False), list[BadCell]()
        why = "has a decimal comma; save the file with decimal points, such as 3.5"
        for name, column in frame.items():
            cells = column.dropna()
            if column.dtype.kind in "iufb":
                self._points |= {str(name)} if column.dtype.kind == "f" and (cells % 1 != 0).any() else set()
            elif name not in as_text and name not in self._points and _have_commas(cells):
                self._commas.add(str(name))
                result[name] = pd.to_numeric(column.str.replace(",", "."))
            else:
                marked = [(label, cell) for label, cell in cells.items() if _DECIMAL_COMMA.fullmatch(str(cell))]
                bad += [BadCell(int(str(label)) + first_row, str(name), str(cell), why) for label, cell in marked]
        both = sorted(self._points & self._commas)
        if both:
            raise TableError(f"{self._path}: column {both[0]} has decimal commas and decimal points; use points alone.")
        for one in bad:
            if on_bad is None:
                raise TableError(f"{self._path}: {one.sentence()}")
            on_bad(one)
        return result.drop(index=[one.row - first_row for one in bad])


def parser_sentence(message: str) -> str:
    """Return the parser's message in one line, with the row numbers of a spreadsheet.

    >>> parser_sentence("Error tokenizing data. C error: Expected 2 fields in line 3, saw 5")
    'row 3 has 5 cells where the header has 2'
    """
    long_row, open_quote = _TOO_MANY.search(message), _OPEN_QUOTE.search(message)
    if long_row:
        names, row, cells = map(int, long_row.groups())
        return f"row {row} {_too_many(cells=cells, names=names)}"
    if open_quote:
        return f"row {int(open_quote.group(1)) + 1} opens a quotation mark that is never closed"
    return f"cannot be read: {next(iter(message.splitlines()), '')}".rstrip(". ")


def _too_many(*, cells: int, names: int) -> str:
    return f"has {cells} cells where the header has {names}"


CSV = Delimited("csv", ".csv", separator=",")
TSV = Delimited("tsv", ".tsv", separator="\t")
