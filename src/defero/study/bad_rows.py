"""Rows of a file that cannot be used: all of them are named before anything is written, or they are left out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray, one_of
from defero.data.tables.bad_cells import LIST_COLUMNS, BadCell, BadCells

STOP, SKIP = "stop", "skip"
BAD_ROWS = (STOP, SKIP)
"""What becomes of a file with bad rows: nothing is written, or the good rows are done."""

FindBad = Callable[[pd.DataFrame], list[BadCell]]


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
    n_read : int
        The index of the row after the last piece; rows before it have been read.
    """

    source: str
    find: FindBad
    first_row: int
    skip: bool = False
    cells: BadCells = field(default_factory=BadCells)
    n_read: int = 0
    _start: int = 0
    _unread: list[BadCell] = field(default_factory=list)
    _waiting: list[BadCell] = field(default_factory=list)

    def on_bad(self, cell: BadCell) -> None:
        """Take a row that was left out while the file was read; an earlier run has taken those before its end."""
        if cell.row - self.first_row >= self._start:
            self._unread.append(cell)

    def go_on(self, cells: Iterable[BadCell], start: int) -> None:
        """Take the bad cells that an earlier run has listed; it has read the rows with an index below `start`."""
        self._start = self.n_read = start
        self.cells.add(cells)

    def good(self, pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Yield the good rows of each piece; raise at the end of the file where bad rows are an error.

        After the first bad row the rest of the file is read and checked, and nothing more is yielded, unless bad rows
        are left out.
        """
        any_good = self._start > 0
        for piece in pieces:
            keep = self.keep(piece)
            self.n_read = int(piece.index[-1]) + 1
            if self.cells and not self.skip:
                continue
            rest = piece if keep.all() else piece[keep]
            if len(rest):
                any_good = True
                yield rest
        self.add([])
        if self.cells and not (self.skip and any_good):
            raise self.cells.error(self.source)

    def keep(self, piece: pd.DataFrame) -> BoolArray:
        """Return which rows of the next piece are good, (n,)."""
        bad = self.find(piece)
        self.add(bad)
        rows = np.array(sorted({one.row - self.first_row for one in bad}), dtype=np.int64)
        return ~np.isin(piece.index.to_numpy(), rows) if len(rows) else np.ones(len(piece), dtype=np.bool_)

    def add(self, bad: list[BadCell]) -> None:
        """Take bad cells, beside those that were left out while the file was read."""
        cells = sorted([*self._unread, *bad], key=lambda one: one.row)
        self._unread.clear()
        self.cells.add(cells)
        self._waiting += cells if self.skip else []

    def all_rows(self) -> dict[str, list[Any]]:
        """Return all bad cells as columns of a table, in the order of the rows, where `new_rows` is not called."""
        return {name: [getattr(one, name) for one in self.all_cells()] for name in LIST_COLUMNS}

    def all_cells(self) -> list[BadCell]:
        """Return all bad cells, in the order of the rows, where they are left out and `new_rows` is not called."""
        return sorted(self._waiting, key=lambda one: one.row)

    def new_rows(self) -> dict[str, list[Any]]:
        """Return the bad cells since the last call, as columns of a table."""
        cells, self._waiting = self._waiting, []
        return {name: [getattr(one, name) for one in cells] for name in LIST_COLUMNS}


def are_skipped(bad_rows: str) -> bool:
    """Return whether bad rows are left out.

    >>> are_skipped("skip"), are_skipped("stop")
    (True, False)
    """
    one_of("bad_rows", bad_rows, BAD_ROWS)
    return bad_rows == SKIP
