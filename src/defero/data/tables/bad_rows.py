"""Cells and rows of a table that cannot be used: each with its place and the reason, all of them in one error.

All of them are named before anything is written, or they are left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from defero.core.checks.arrays import BoolArray, one_of
from defero.core.errors import Argument, TableError
from defero.core.wording import count_of, printable
from defero.data.tables.cells import as_written, is_blank, is_marked, plain_bytes, quote_cell, row_number, says_none

if TYPE_CHECKING:
    import pandas as pd


MOST_VALUE = 200
"""Of a longer value the list of bad cells has the beginning."""
MOST_KINDS, MOST_SPELLINGS, MOST_SHOWN = 30, 20, 8
NOT_UTF8 = "is not UTF-8"
NOT_A_NUMBER = "is not a number"
LIST_COLUMNS = ("row", "column", "value", "why")


@dataclass(frozen=True)
class BadCell:
    """One cell that cannot be used, or a whole row.

    Attributes
    ----------
    row : int
        As a message numbers it.
    column : str
        "" for a row that cannot be read at all.
    value : str
        As written.
    why : str
        Follows the value in a sentence: "is not a number". What to do may stand after a semicolon.
    """

    row: int
    column: str
    value: str
    why: str

    def sentence(self) -> str:
        """Return one sentence, without the file.

        >>> BadCell(3, "age", "old", "is not a number; leave the cell blank if it is unknown").sentence()
        "row 3, column age: 'old' is not a number; leave the cell blank if it is unknown."
        """
        if self.column:
            value = "a blank cell" if is_blank(self.value) else quote_cell(self.value)
            return f"row {self.row}, column {self.column}: {value} {self.why}."
        got = f", got {self.value:.40}" if self.value and self.why.startswith("must") else ""
        return f"row {self.row} {self.why}{got}."


OnBad = Callable[[BadCell], None]
"""What takes a cell or row that is left out while a file is read."""


def bad_cell(frame: Any, column: Any, position: int, why: str, *, first_row: int) -> BadCell:
    """Return the cell of a frame at a position; the frame's index plus `first_row` is the row."""
    cell = np.asarray(frame[column]).astype(object)[position]
    value = "" if is_blank(cell) else as_written(cell)
    return BadCell(row_number(frame, position, first_row=first_row), str(column), value[:MOST_VALUE], why)


def readable_cells(frame: "pd.DataFrame", *, first_row: int, on_bad: OnBad) -> "pd.DataFrame":
    """Return the rows without bytes that are not UTF-8; the others are reported."""
    wrong: BoolArray = np.zeros(len(frame), dtype=np.bool_)
    for name in frame.columns:
        if frame[name].dtype.kind in "iufb":
            continue
        marked = np.array([isinstance(cell, str) and is_marked(cell) for cell in frame[name].tolist()], dtype=np.bool_)
        for place in np.flatnonzero(marked).tolist():
            one = bad_cell(frame, name, place, f"{NOT_UTF8}; save the file as UTF-8", first_row=first_row)
            on_bad(BadCell(one.row, one.column, plain_bytes(one.value), one.why))
        wrong |= marked
    return frame[~wrong] if wrong.any() else frame


class BadRowsError(TableError):
    """Some rows of a table cannot be used; the message has every kind of bad cell, with counts."""


@dataclass(eq=False)
class BadCells:
    """All bad cells of a file, counted by column and reason; of each kind the first row and the spellings are kept.

    >>> bad = BadCells()
    >>> bad.add([BadCell(3, "age", "old", "is not a number"), BadCell(9, "age", "old", "is not a number")])
    >>> bad.add([BadCell(4, "fee", "-1", "is negative")])
    >>> str(bad.error("a.csv"))  # doctest: +ELLIPSIS
    "a.csv: 3 bad cells in 3 rows: column age: 'old' (2 cells) is not a number, first in row 3; column fee: '-1' is ..."
    """

    n_cells: int = 0
    n_rows: int = 0
    _kinds: dict[tuple[str, str], "_Kind"] = field(default_factory=dict)

    def add(self, cells: Iterable[BadCell]) -> None:
        """Take the bad cells of the next rows."""
        rows = set()
        for one in cells:
            kind = self._kinds.setdefault((one.column, one.why), _Kind(one))
            kind.add(one)
            rows.add(one.row)
            self.n_cells += 1
        self.n_rows += len(rows)

    def __bool__(self) -> bool:
        return self.n_cells > 0

    def error(self, source: str, *, can_skip: bool = True) -> BadRowsError:
        """Return the error that names all kinds at once, and `bad_rows` where that is an argument."""
        if self.n_cells == 1:
            return BadRowsError(f"{source}: {next(iter(self._kinds.values())).first.sentence()}")
        none = [value for kind in self._kinds.values() for value in kind.spellings if says_none(value)]
        blank = f"pass {Argument('blank', list(dict.fromkeys(none))[:MOST_KINDS])}, or " if none else ""
        skip = f" Correct them, or {blank}pass {Argument('bad_rows', 'skip')} to leave out these rows."
        return BadRowsError(f"{source}: {self._counts()}: {self._listing()}.{skip if can_skip else ''}")

    def note(self, path: object) -> str:
        """Say that rows were left out, and where they are listed."""
        where = "" if path is None else f"; {path} has them all"
        return f"{self._counts()}, left out{where}: {self._listing()}."

    def _counts(self) -> str:
        return f"{count_of(self.n_cells, 'bad cell')} in {count_of(self.n_rows, 'row')}"

    def _listing(self) -> str:
        kinds = list(self._kinds.values())
        clauses = [kind.clause() for kind in kinds[:MOST_KINDS]]
        return "; ".join([*clauses, *([f"{len(kinds) - MOST_KINDS} more kinds"] if len(kinds) > MOST_KINDS else [])])

    def to_dict(self, path: object = None) -> dict[str, Any]:
        """Return plain values for JSON, with the file that lists all cells."""
        kinds = [
            {"column": kind.first.column, "why": kind.first.why, "cells": kind.count, "first_row": kind.first.row}
            for kind in self._kinds.values()
        ]
        list_file = str(path) if isinstance(path, PathLike) else None
        return {"cells": self.n_cells, "rows": self.n_rows, "list": list_file, "kinds": kinds}


@dataclass(eq=False)
class _Kind:
    """Bad cells of one column for one reason."""

    first: BadCell
    count: int = 0
    spellings: Counter[str] = field(default_factory=Counter)

    def add(self, cell: BadCell) -> None:
        self.count += 1
        if cell.value in self.spellings or len(self.spellings) < MOST_SPELLINGS:
            self.spellings[cell.value] += 1

    def clause(self) -> str:
        """Say which cells, why, and where the first one is."""
        why, row = self.first.why.partition(";")[0], self.first.row
        if not self.first.column:
            times = f"{count_of(self.count, 'row')}, the first one row {row}" if self.count > 1 else f"row {row}"
            return f"{times}: {why}"
        texts = [
            ("blank cells" if is_blank(value) else quote_cell(value))
            + (f" ({count_of(count, 'cell')})" if count > 1 else "")
            for value, count in self.spellings.most_common(MOST_SHOWN)
        ]
        rest = self.count - sum(count for _, count in self.spellings.most_common(MOST_SHOWN))
        cells = f"{', '.join(texts)} and {count_of(rest, 'other cell')}" if rest else ", ".join(texts)
        if rest and why == NOT_A_NUMBER:
            why = "are not numbers"
        return printable(f"column {self.first.column}: {cells} {why}, first in row {row}")


STOP, SKIP = "stop", "skip"
BAD_ROWS = (STOP, SKIP)
"""What becomes of a file with bad rows: nothing is written, or the good rows are done."""

FindBad = Callable[["pd.DataFrame"], list[BadCell]]


def list_of_bad_rows(out: Path) -> Path:
    """Return the file that lists bad rows, beside an output.

    >>> list_of_bad_rows(Path("runs/decisions.csv")).as_posix()
    'runs/decisions.csv.bad-rows.csv'
    """
    return out.with_name(f"{out.name}.bad-rows.csv")


@dataclass(eq=False)
class BadRows:
    """Sorts the rows of a file into good and bad ones while it is read.

    Attributes
    ----------
    source : str
        What a message calls the file.
    find : function of a piece
        Returns all bad cells of a piece; the rows are its index plus `first_row`.
    first_row : int
    skip : bool
        Whether bad rows are left out; else they are an error, once all of them are known.
    cells : BadCells
        What was found.
    """

    source: str
    find: FindBad
    first_row: int
    skip: bool = False
    cells: BadCells = field(default_factory=BadCells)
    _unread: list[BadCell] = field(default_factory=list)
    _waiting: list[BadCell] = field(default_factory=list)

    def on_bad(self, cell: BadCell) -> None:
        """Take a row that was left out while the file was read."""
        self._unread.append(cell)

    def good(self, pieces: "Iterator[pd.DataFrame]") -> "Iterator[pd.DataFrame]":
        """Yield the good rows of each piece; raise at the end of the file where bad rows are an error.

        After the first bad row the rest of the file is read and checked, and nothing more is yielded, unless bad rows
        are left out.
        """
        any_good = False
        for piece in pieces:
            keep = self.keep(piece)
            if self.cells and not self.skip:
                continue
            rest = piece if keep.all() else piece[keep]
            if len(rest):
                any_good = True
                yield rest
        self.add([])
        if self.cells and not (self.skip and any_good):
            raise self.cells.error(self.source)

    def keep(self, piece: "pd.DataFrame") -> BoolArray:
        """Return which rows of the next piece are good, (n,)."""
        bad = self.find(piece)
        self.add(bad)
        return ~np.isin(piece.index.to_numpy(), [one.row - self.first_row for one in bad])

    def add(self, bad: list[BadCell]) -> None:
        """Take bad cells, beside those that were left out while the file was read."""
        cells = sorted([*self._unread, *bad], key=lambda one: one.row)
        self._unread.clear()
        self.cells.add(cells)
        self._waiting += cells if self.skip else []

    def all_cells(self) -> list[BadCell]:
        """Return all bad cells, in the order of the rows, where they are left out and `new_rows` is not called."""
        return sorted(self._waiting, key=lambda one: one.row)

    def new_rows(self) -> dict[str, list[Any]]:
        """Return the bad cells since the last call, as columns of a table."""
        cells, self._waiting = self._waiting, []
        return listed(cells)


def listed(cells: list[BadCell]) -> dict[str, list[Any]]:
    """Return bad cells as columns of a table."""
    return {name: [getattr(one, name) for one in cells] for name in LIST_COLUMNS}


def are_skipped(bad_rows: str) -> bool:
    """Return whether bad rows are left out.

    >>> are_skipped("skip"), are_skipped("stop")
    (True, False)
    """
    one_of("bad_rows", bad_rows, BAD_ROWS)
    return bad_rows == SKIP
