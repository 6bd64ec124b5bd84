"""Where decisions go: a frame, a file in one go, tasks of an export, or a file with a journal."""

import gzip
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from defero.data.exports.export import EXPORTS, OpenCases, writes
from defero.data.tables.bad_cells import BadCell
from defero.data.tables.formats import Encoder, is_compressed, table_format
from defero.data.tables.journal import Journal, open_journal
from defero.data.tables.write import write_decisions
from defero.study.bad_rows import BadRows, list_of_bad_rows
from defero.study.routing.decisions import Columns
from defero.study.routing.repeated_keys import RepeatedKeys, key_marks, n_repeated_in

DECISIONS, BAD_ROWS, BAD_CELLS, KEYS = "decisions", "bad-rows", "bad-cells", "keys"
"""Files of a journal. The list of bad rows is for spreadsheets; with the bad cells another run goes on."""


class Sink(ABC):
    """Takes the decisions of a file, piece by piece; made by `sink_to`.

    Attributes
    ----------
    routing : Routing or PoolRouting
        Counts what was decided.
    bad : BadRows
        Has the bad rows of the file.
    """

    def __init__(self, routing: Any, bad: BadRows) -> None:
        self.routing, self.bad = routing, bad

    @abstractmethod
    def put(self, columns: Columns, keys: "pd.Series[Any] | None" = None) -> None:
        """Take the decisions of the next rows, which `routing` and `bad` know already."""

    @abstractmethod
    def n_repeated(self) -> int:
        """Return how many rows have a key that an earlier row has too."""


class _PlainSink(Sink):
    """Decisions that are written in one go, or kept."""

    def __init__(
        self,
        routing: Any,
        bad: BadRows,
        write: Callable[[Columns], None],
        write_bad: Callable[[Columns], None] | None,
    ) -> None:
        super().__init__(routing, bad)
        self._write, self._write_bad, self._repeated = write, write_bad, RepeatedKeys()

    def put(self, columns: Columns, keys: "pd.Series[Any] | None" = None) -> None:
        """Write them."""
        self._write(columns)
        self.end()
        if keys is not None:
            self._repeated.add(key_marks(keys))

    def end(self) -> None:
        """Write the bad rows since the last call."""
        if self._write_bad is not None:
            self._write_bad(self.bad.new_rows())

    def n_repeated(self) -> int:
        """Count the keys."""
        return self._repeated.count()


class _JournalSink(Sink):
    """Decisions in a journal: what an earlier run has made is taken over."""

    def __init__(self, routing: Any, bad: BadRows, journal: Journal, out: Path) -> None:
        super().__init__(routing, bad)
        self._journal, self._out = journal, out
        self._encoder, self._bad_encoder = _encoder(out), _encoder(list_of_bad_rows(out))
        entries = journal.entries
        notes = [one["note"] for one in entries]
        self._encoder.go_on(notes, journal.sizes[DECISIONS])
        self._bad_encoder.go_on(notes if journal.sizes[BAD_ROWS] else [], journal.sizes[BAD_ROWS])
        if entries:
            routing.go_on(entries[-1]["routing"])
            bad.go_on(_bad_cells(journal.path(BAD_CELLS)), entries[-1]["read"])

    def put(self, columns: Columns, keys: "pd.Series[Any] | None" = None) -> None:
        """Append them to the journal."""
        content, note = self._encoder.encode(pd.DataFrame(columns))
        self._append(DECISIONS, content, self._out)
        if keys is not None:
            self._journal.append(KEYS, key_marks(keys).tobytes())
        self._list_bad()
        self._journal.commit({"read": self.bad.n_read, "routing": self.routing.state(), "note": note})

    def end(self) -> None:
        """Give the file its name; the list of bad rows comes first."""
        self._list_bad()
        self._append(DECISIONS, self._encoder.end(), self._out)
        listed = {BAD_ROWS: list_of_bad_rows(self._out)} if self.bad.skip else {}
        self._repeated = n_repeated_in(self._journal.path(KEYS))
        self._journal.finish({**listed, DECISIONS: self._out})

    def n_repeated(self) -> int:
        """Return what was counted at the end."""
        return self._repeated

    def _list_bad(self) -> None:
        if self.bad.skip:
            rows = self.bad.new_rows()
            content, _ = self._bad_encoder.encode(pd.DataFrame(rows))
            self._journal.append(BAD_ROWS, content)
            lines = (f"{json.dumps(one)}\n" for one in zip(*rows.values(), strict=True))
            self._journal.append(BAD_CELLS, "".join(lines).encode())

    def _append(self, name: str, content: bytes, path: Path) -> None:
        # Every piece is a compressed file of its own: one after the other they are one, too.
        packed = gzip.compress(content, mtime=0) if content and is_compressed(path) else content
        self._journal.append(name, packed)


@contextmanager
def sink_to(
    out: Path | None,
    routing: Any,
    bad: BadRows,
    *,
    file_format: str,
    cases: OpenCases | None = None,
    identity: Mapping[str, Any] | None = None,
) -> Iterator[Sink]:
    """Give a sink for decisions; `routing` has the file and the list of bad rows when the block ends.

    Parameters
    ----------
    out : Path, optional
        The file; by default decisions are kept as a frame.
    routing : Routing or PoolRouting
    bad : BadRows
    file_format, cases
        Of an export: the tasks, which may be written.
    identity : plain values, optional
        What must be the same for a run to go on with an earlier one; by default there is no journal.
    """
    is_table = out is not None and (cases is None or not writes(file_format, out))
    if out is not None and is_table and identity is not None and table_format(out).encoder(source=str(out)) is not None:
        with open_journal(out, (DECISIONS, BAD_ROWS, BAD_CELLS, KEYS), identity) as journal:
            journaled = _JournalSink(routing, bad, journal, out)
            yield journaled
            journaled.end()
        routing.bad_list = list_of_bad_rows(out) if bad.skip else None
    else:
        decided: list[pd.DataFrame] = []
        with ExitStack() as stack:
            write = stack.enter_context(_decisions_to(out, decided, file_format=file_format, cases=cases))
            write_bad = stack.enter_context(_bad_list_to(out, routing)) if bad.skip else None
            plain = _PlainSink(routing, bad, write, write_bad)
            yield plain
            plain.end()
        if out is None:
            routing.decisions = pd.concat(decided, ignore_index=True)
    routing.bad_rows = bad.cells if bad.skip else None


def _encoder(path: Path) -> Encoder:
    encoder = table_format(path).encoder(source=str(path))
    assert encoder is not None  # CSV has one, and the caller has asked for the other
    return encoder


def _bad_cells(path: Path) -> Iterator[BadCell]:
    """Yield the bad cells that an earlier run has found."""
    with path.open(encoding="ascii") as file:
        for line in file:
            yield BadCell(*json.loads(line))


@contextmanager
def _decisions_to(
    out: Path | None, pieces: list[pd.DataFrame], *, file_format: str, cases: OpenCases | None
) -> Iterator[Callable[[Columns], None]]:
    """Give a function that takes decisions column by column; without a file they are collected in `pieces`.

    Tasks are written when all decisions have come.
    """
    if out is not None and (cases is None or not writes(file_format, out)):
        with write_decisions(out) as decisions:
            yield decisions.write
        return
    yield lambda columns: pieces.append(pd.DataFrame(columns))
    if out is not None and cases is not None:
        EXPORTS.find(file_format).write(out, cases, pd.concat(pieces, ignore_index=True))


@contextmanager
def _bad_list_to(out: Path | None, routing: Any) -> Iterator[Callable[[Columns], None]]:
    """Give a function that takes bad cells column by column; without a file of decisions they are kept as a frame.

    The `bad_list` of a `Routing` or `PoolRouting` is then the file or the frame.
    """
    if out is None:
        pieces: list[pd.DataFrame] = []
        yield lambda columns: pieces.append(pd.DataFrame(columns))
        routing.bad_list = pd.concat(pieces, ignore_index=True)
        return
    routing.bad_list = list_of_bad_rows(out)
    with write_decisions(routing.bad_list) as rows:
        yield rows.write
