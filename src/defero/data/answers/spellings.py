"""Other spellings of answers: values that mean none, and a mapping from what is written to what is meant."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.errors import Argument, InputError, Message
from defero.core.labels import Labels
from defero.core.wording import count_of, join_names, list_in_words
from defero.data.answers.bad_answers import BadAnswersError
from defero.data.answers.class_codes import NO_CLASS, distinct_cells, matching_codes
from defero.data.tables.cells import is_blank, is_missing_spelling, text_of
from defero.data.tables.csv_lines import as_meant
from defero.data.tables.read import read_frame
from defero.data.tables.write import write_decisions

FROM, TO = "from", "to"
Rename = Mapping[str, str] | str | PathLike[str]
"""From a spelling to the class that is meant, "" for none; or a file with the columns from and to."""


@dataclass(frozen=True)
class Spellings:
    """How answers and labels are spelled in a file.

    Attributes
    ----------
    meant : mapping
        From a text as written to the text that is meant; "" means none.
    """

    meant: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *, rename: Rename | None = None, blank: Sequence[str] = ()) -> "Spellings":
        """Check what somebody passed.

        >>> Spellings.of(rename={"Benign": "benign"}, blank=["n/a"]).meant
        {'Benign': 'benign', 'n/a': ''}
        """
        if isinstance(blank, str):
            raise InputError(f"must be a list of values, got the text {blank!r}.", argument="blank")
        renamed = read_rename(rename) if isinstance(rename, str | PathLike) else dict(rename or {})
        named = {_written(cell): "" if is_blank(text) else _written(text) for cell, text in renamed.items()}
        both = next((value for value in map(_written, blank) if named.get(value)), None)
        if both is not None:
            raise InputError(
                Argument("blank", both), f": is renamed to {named[both]!r} by ", Argument("rename"), "; choose one."
            )
        return cls(named | dict.fromkeys(map(_written, blank), ""))

    def __bool__(self) -> bool:
        return bool(self.meant)

    def apply(self, column: "pd.Series[Any]") -> "pd.Series[Any]":
        """Return a column (n,) with every cell spelled as it is meant, None where that is none.

        >>> Spellings.of(rename={"2": "b"}, blank=["-"]).apply(pd.Series(["a", "2", "-"])).tolist()
        ['a', 'b', None]
        """
        cell_idx, distinct = distinct_cells(column)
        meant = [self._meant(cell) for cell in distinct]
        if all(new is old for new, old in zip(meant, distinct, strict=True)):
            return column
        cells = np.empty(len(meant) + 1, dtype=object)  # a missing cell has the index -1: the last
        cells[:-1] = meant
        return pd.Series(cells[cell_idx], index=column.index, name=column.name, dtype=object)

    def apply_to(self, frame: pd.DataFrame, columns: Iterable[str | None]) -> pd.DataFrame:
        """Return a frame with these columns respelled; names that it does not have are passed over."""
        if not self:
            return frame
        result = frame.copy(deep=False)
        for name in columns:
            if name is not None and name in frame.columns:
                result[name] = self.apply(frame[name])
        return result

    @contextmanager
    def in_errors(self) -> Iterator[None]:
        """Let an error about bad answers remember what was renamed."""
        try:
            yield
        except BadAnswersError as error:
            error.renamed = self.meant
            raise

    def _meant(self, cell: Any) -> Any:
        if is_blank(cell):
            return cell
        text = self.meant.get(_written(cell), self.meant.get(text_of(cell)))
        return cell if text is None else text or None


def missing_answers(column: "pd.Series[Any]", classes: Labels) -> Counter[str]:
    """Count the answers (n,) that pandas reads as missing, such as n/a, by their spelling; a class is never one.

    >>> missing_answers(pd.Series(["n/a", "none", "b", None]), np.array(["b", "none"]))
    Counter({'n/a': 1})
    """
    cells = column[matching_codes(column, classes) == NO_CLASS].tolist()
    return Counter(cell.strip() for cell in cells if is_missing_spelling(cell))


def without_missing_answers(
    frame: pd.DataFrame, columns: Sequence[str], classes: Labels | None
) -> tuple[pd.DataFrame, Counter[str]]:
    """Return a frame in which such answers are blank, and their counts; unchanged where no class is known yet."""
    counts: Counter[str] = Counter()
    if classes is not None:
        for name in columns:
            counts += missing_answers(frame[name], classes)
    return Spellings(dict.fromkeys(counts, "")).apply_to(frame, columns), counts


def missing_answers_note(counts: Counter[str], *, source: str) -> tuple[str, ...]:
    """Say how many answers were read as none, and what to do if that is wrong."""
    if not counts:
        return ()
    written = list_in_words([f"{value!r} ({count:,})" for value, count in counts.most_common()])
    is_read = "is read as no answer" if counts.total() == 1 else "are read as no answer"
    return (
        Message(
            f"{source}: {count_of(counts.total(), 'answer')} {is_read}: {written}. If one of these is a class, map it "
            "to that class with ",
            Argument("rename"),
            ".",
        ),
    )


def _written(cell: object) -> str:
    return cell.strip() if isinstance(cell, str) else text_of(cell)


def read_rename(path: str | PathLike[str]) -> dict[str, str]:
    """Read a table with the columns from and to; a blank cell in to means none."""
    head = read_frame(path, as_text=[FROM, TO])
    if not {FROM, TO} <= {*head.columns}:
        columns = join_names(head.columns, most=30)
        raise InputError(Argument("rename", str(path)), f": needs the columns {FROM} and {TO}, got {columns}.")
    mapping: dict[str, str] = {}
    for written, meant in zip(head[FROM].tolist(), head[TO].tolist(), strict=True):
        if is_blank(written):
            raise InputError(Argument("rename", str(path)), f": a cell of the column {FROM} is blank; fill it in.")
        text, spelling = "" if is_blank(meant) else as_meant(_written(meant)), as_meant(_written(written))
        if mapping.setdefault(spelling, text) != text:
            raise InputError(Argument("rename", str(path)), f": {spelling!r} is renamed in two ways; choose one.")
    return mapping


def write_rename(mapping: Mapping[str, str], beside: Path) -> Path:
    """Write a mapping next to a table, as <name>.rename.csv; a file that exists is left alone and another name taken.

    Parameters
    ----------
    mapping : from a spelling to the class that is probably meant, "" where nobody knows
    beside : the table

    Returns
    -------
    The path of the file.
    """
    stem, number = beside.name.split(".")[0] or "table", 1
    path = beside.with_name(f"{stem}.rename.csv")
    while path.exists():
        number += 1
        path = beside.with_name(f"{stem}.rename-{number}.csv")
    with write_decisions(path) as table:
        table.write({FROM: list(mapping), TO: list(mapping.values())})
    return path
