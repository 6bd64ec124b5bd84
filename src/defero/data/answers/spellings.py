"""Other spellings of answers: values that mean none, and a mapping from what is written to what is meant.

At the end: classes and experts that are written in two ways, such as "Heart failure" beside "heart failure".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.errors import Argument, InputError, Message
from defero.core.wording import count_of, join_names, list_in_words
from defero.data.answers.bad_answers import BadAnswersError
from defero.data.answers.class_codes import distinct_cells
from defero.data.tables.cells import as_written, is_blank, text_of
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
        named = {as_written(cell): "" if is_blank(text) else as_written(text) for cell, text in renamed.items()}
        both = next((value for value in map(as_written, blank) if named.get(value)), None)
        if both is not None:
            raise InputError(
                Argument("blank", both), f": is renamed to {named[both]!r} by ", Argument("rename"), "; choose one."
            )
        return cls(named | dict.fromkeys(map(as_written, blank), ""))

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
        text = self.meant.get(as_written(cell), self.meant.get(text_of(cell)))
        return cell if text is None else text or None


def read_rename(path: str | PathLike[str]) -> dict[str, str]:
    """Read a table with the columns from and to; a blank cell in to means none."""
    head = read_frame(path, columns=[FROM, TO], as_text=[FROM, TO])
    mapping: dict[str, str] = {}
    for written, meant in zip(head[FROM].tolist(), head[TO].tolist(), strict=True):
        if is_blank(written):
            raise InputError(Argument("rename", str(path)), f": a cell of the column {FROM} is blank; fill it in.")
        text, spelling = "" if is_blank(meant) else as_meant(as_written(meant)), as_meant(as_written(written))
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


_MARKS = str.maketrans("", "", "_-.")


def alike_classes(counts: Mapping[object, int]) -> list[list[str]]:
    """Return classes that differ in capitals or blanks alone, those of each group by falling counts.

    Marks tell classes apart: a blood group A- is no A.

    >>> alike_classes({"Flu": 2, "flu": 40, "A-": 3, "A": 3})
    [['flu', 'Flu']]
    """
    texts = sorted((name for name in counts if isinstance(name, str)), key=lambda name: -counts[name])
    return _groups((name, "".join(name.casefold().split())) for name in texts)


def alike_experts(names: Iterable[str]) -> list[list[str]]:
    """Return names that differ in capitals, blanks or marks alone.

    >>> alike_experts(["Dr Chen", "dr_chen", "bo"])
    [['Dr Chen', 'dr_chen']]
    """
    return _groups((name, "".join(name.casefold().translate(_MARKS).split()) or name) for name in names)


def alike_class_notes(counts: Mapping[object, int], *, source: str) -> list[str]:
    """Say which classes are probably one, with how many cases each has, and how to merge them."""
    notes: list[str] = []
    for names in alike_classes(counts):
        written = list_in_words([f"{name!r} ({count_of(counts[name], 'case')})" for name in names])
        merge = join_names([f"from {name!r} to {names[0]!r}" for name in names[1:]])
        notes.append(
            Message(
                f"{source}: the labels {written} differ in capitals or blanks alone and are {len(names)} classes here; "
                "if they are one, merge them with ",
                Argument("rename"),
                f": {merge}.",
            )
        )
    return notes


def alike_expert_notes(names: Iterable[str], *, source: str, merge: str) -> list[str]:
    """Say which experts are probably one person; `merge` says what to do about it."""
    return [
        f"{source}: the experts {join_names(alike)} may be one person: their names differ in capitals, spaces or marks "
        f"alone. To merge them, {merge}."
        for alike in alike_experts(names)
    ]


@contextmanager
def alike_in_errors(counts: Mapping[object, int]) -> Iterator[None]:
    """Let an error about bad answers remember which classes are probably one: the rarer spelling to the other."""
    try:
        yield
    except BadAnswersError as error:
        error.alike = {name: names[0] for names in alike_classes(counts) for name in names[1:]}
        raise


def _groups(spelled: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the names that share a plain spelling, in their order; names without another are left out."""
    groups: dict[str, list[str]] = {}
    for name, plain in spelled:
        groups.setdefault(plain, []).append(name)
    return [names for names in groups.values() if len(names) > 1]
