"""Other spellings of answers: values that mean none, and a mapping from what is written to what is meant.

At the end: classes and experts that are written in two ways, such as "Heart failure" beside "heart failure".
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.errors import Argument, InputError, Message
from defero.core.table import ExpertTable
from defero.core.wording import count_of, join_names, list_in_words, share_words
from defero.data.answers.class_codes import by_cell
from defero.data.tables.cells import as_meant, as_written, is_blank, is_missing_spelling, text_of
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
                f"{Argument('blank', both)}: is renamed to {named[both]!r} by {Argument('rename')}; choose one."
            )
        return cls(named | dict.fromkeys(map(as_written, blank), ""))

    def __bool__(self) -> bool:
        return bool(self.meant)

    def apply(self, column: "pd.Series[Any]") -> "pd.Series[Any]":
        """Return a column (n,) with every cell spelled as it is meant, None where that is none.

        >>> Spellings.of(rename={"2": "b"}, blank=["-"]).apply(pd.Series(["a", "2", "-"])).tolist()
        ['a', 'b', None]
        """
        if not by_cell(column, lambda cell: self._meant(cell) is not cell).any():
            return column
        return pd.Series(by_cell(column, self._meant), index=column.index, name=column.name, dtype=object)

    def apply_to(self, frame: pd.DataFrame, columns: Iterable[str | None]) -> pd.DataFrame:
        """Return a frame with these columns respelled; names that it does not have are passed over."""
        if not self:
            return frame
        result = frame.copy(deep=False)
        for name in columns:
            if name is not None and name in frame.columns:
                result[name] = self.apply(frame[name])
        return result

    def _meant(self, cell: Any) -> Any:
        if is_blank(cell):
            return cell
        text = self.meant.get(as_written(cell), self.meant.get(text_of(cell)))
        return cell if text is None else text or None


def missing_answers_note(counts: Counter[str], *, source: str) -> tuple[str, ...]:
    """Say how many answers were read as none, and what to do if that is wrong."""
    if not counts:
        return ()
    written = list_in_words([f"{value!r} ({count:,})" for value, count in counts.most_common()])
    is_read = "is read as no answer" if counts.total() == 1 else "are read as no answer"
    return (
        Message(
            f"{source}: {count_of(counts.total(), 'answer')} {is_read}: {written}. If one of these is a class, map it "
            f"to that class with {Argument('rename')}."
        ),
    )


def read_rename(path: str | PathLike[str]) -> dict[str, str]:
    """Read a table with the columns from and to; a blank cell in to means none."""
    head, file = read_frame(path, as_text=[FROM, TO]), Argument("rename", str(path))
    if not {FROM, TO} <= {*head.columns}:
        raise InputError(f"{file}: needs the columns {FROM} and {TO}, got {join_names(head.columns, most=30)}.")
    mapping: dict[str, str] = {}
    for written, meant in zip(head[FROM].tolist(), head[TO].tolist(), strict=True):
        if is_blank(written):
            raise InputError(f"{file}: a cell of the column {FROM} is blank; fill it in.")
        text, spelling = "" if is_blank(meant) else as_meant(as_written(meant)), as_meant(as_written(written))
        if mapping.setdefault(spelling, text) != text:
            raise InputError(f"{file}: {spelling!r} is renamed in two ways; choose one.")
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


LEAST_ANSWERS = 5
"""From so many answers on it is no chance that a class is never among them."""

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
                f"if they are one, merge them with {Argument('rename')}: {merge}."
            )
        )
    return notes


def missing_class_notes(counts: Mapping[object, int], *, source: str) -> list[str]:
    """Say which labels, such as n/a, are read as a class though they usually mean that there is none."""
    names = [str(name) for name in counts if is_missing_spelling(name) and str(name).casefold() != "none"]
    return [
        Message(
            f"{source}: the label {name!r} ({count_of(counts[name], 'case')}) is read as a class; if it means that the "
            f"label is unknown, pass {Argument('blank', [name])}."
        )
        for name in names
    ]


def alike_expert_notes(names: Iterable[str], *, source: str, merge: str) -> list[str]:
    """Say which experts are probably one person; `merge` says what to do about it."""
    return [
        f"{source}: the experts {join_names(alike)} may be one person: their names differ in capitals, spaces or marks "
        f"alone. To merge them, {merge}."
        for alike in alike_experts(names)
    ]


def one_sided_class_notes(table: ExpertTable, *, source: str) -> list[str]:
    """Say which classes are labels that nobody answers, or answers that are no label, with their likely pairs.

    Two spellings that differ by a word, such as "benign" beside "benign lesion", are two classes: every answer to the
    cases of one of them then counts as wrong. The one note says how to merge them.
    """
    n_cases = np.bincount(table.label_idx, minlength=table.n_classes)
    n_given = np.bincount(table.coded.triplets().codes, minlength=table.n_classes)
    n_there = np.bincount(table.label_idx, weights=table.answered, minlength=table.n_classes).astype(int)
    names = [str(name) for name in table.classes.tolist()]
    unanswered = [k for k in range(len(names)) if n_cases[k] and not n_given[k] and n_there[k] >= LEAST_ANSWERS]
    no_label = [k for k in range(len(names)) if not n_cases[k] and n_given[k] >= LEAST_ANSWERS]
    pairs = {k: _pair(k, names, n_given) for k in unanswered} | {k: _pair(k, names, n_cases) for k in no_label}
    merged = {k: other for k, other in pairs.items() if other is not None}
    written = [f"{names[k]!r} ({count_of(n_cases[k], 'case')})" for k in unanswered]
    stray = [f"{names[k]!r} ({count_of(n_given[k], 'answer')})" for k in no_label if k in merged]
    if not written and not stray:
        return []
    sentences = []
    if written:
        count = count_of(int(n_there[unanswered].sum()), "answer")
        sentences.append(f"No expert ever answers {list_in_words(written)}: all {count} to these cases count as wrong.")
    if stray:
        sentences.append(f"No case has the label {list_in_words(stray)}: these answers count as wrong.")
    rename = Argument("rename")
    if not merged:
        sentences.append(f"If the experts write it in another way, merge the spellings with {rename}.")
        return [Message(f"{source}: {' '.join(sentences)}")]
    others = [f"{names[k]!r} ({count_of(n_given[k], 'answer')})" for k in dict.fromkeys(merged.values()) if n_given[k]]
    merge = join_names([f"from {names[k]!r} to {names[other]!r}" for k, other in merged.items()])
    sentences.append(f"The experts answer {list_in_words(others)}.")
    sentences.append(f"If they mean the same class, merge them with {rename}: {merge}.")
    return [Message(f"{source}: {' '.join(sentences)}")]


def _pair(k: int, names: list[str], counts: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> int | None:
    """Return the most frequent other class that shares its words with class k; None where none does."""
    alike = [other for other in np.flatnonzero(counts).tolist() if other != k and share_words(names[k], names[other])]
    return max(alike, key=lambda other: counts[other], default=None)


def _groups(spelled: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the names that share a plain spelling, in their order; names without another are left out."""
    groups: dict[str, list[str]] = {}
    for name, plain in spelled:
        groups.setdefault(plain, []).append(name)
    return [names for names in groups.values() if len(names) > 1]
