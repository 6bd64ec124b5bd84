"""Answers and labels that are none of the classes: all of them in one error, grouped by spelling."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np
import pandas as pd

from defero.core.checks.arrays import IntArray
from defero.core.errors import Argument, TableError
from defero.core.labels import Labels
from defero.core.wording import count_of, join_names, list_in_words, nearest_name
from defero.data.tables.cells import as_written, quote_cell, row_number, says_none

MOST_LISTED = 20
What = Literal["label", "answer"]


@dataclass(frozen=True)
class BadAnswer:
    """One spelling that is no class.

    Attributes
    ----------
    value : str
        As written.
    what : "label" or "answer"
        Of the first cell.
    count : int
        How many cells have it.
    source, row, column : str, int, str
        Where it stands first.
    suggestion : str or None
        The class that was probably meant.
    unit : str
        What `row` counts: "row", or "task".
    mixed : bool
        Whether labels and answers have it.
    """

    value: str
    what: What
    count: int
    source: str
    row: int
    column: str
    suggestion: str | None = None
    unit: str = "row"
    mixed: bool = False

    @property
    def offer(self) -> str:
        """The clause that offers the class, or the end of the sentence."""
        return "." if self.suggestion is None else f"; did you mean {self.suggestion!r}?"


class BadAnswersError(TableError):
    """Some answers or labels are none of the classes; `answers` has every spelling once.

    `alike` has classes that differ in capitals or blanks alone: from the rarer spelling to the other. `n_good` counts
    the answers that are a class, where that is known.
    """

    answers: tuple[BadAnswer, ...] = ()
    renamed: Mapping[str, str] = MappingProxyType({})
    alike: Mapping[str, str] = MappingProxyType({})
    n_good: int | None = None

    @classmethod
    def of(cls, bad: Iterable[BadAnswer], classes: Labels) -> "BadAnswersError":
        """List all spellings of one or several columns, the same spelling once."""
        answers = _merged(bad)
        listing = _one(answers[0], classes) if len(answers) == 1 else _several(answers, classes)
        error = cls(listing, *_blank_offer(answers))
        error.answers = answers
        return error

    def with_more(self, *pieces: object) -> "BadAnswersError":
        """Return the same error with more at the end of its message."""
        error = type(self)(*self.pieces, *pieces)
        error.answers, error.renamed, error.alike, error.n_good = self.answers, self.renamed, self.alike, self.n_good
        return error

    def mapping(self) -> dict[str, str]:
        """Return each spelling with the class that was probably meant, "" where none is near.

        What was renamed already stays in it, so that the new mapping replaces the old one. Classes that are probably
        one are merged.
        """
        near = {one.value: one.suggestion or "" for one in self.answers}
        meant = {value: self.alike.get(text, text) for value, text in near.items()} | dict(self.alike)
        return {value: meant.get(text, text) for value, text in self.renamed.items()} | meant

    def merged_labels(self) -> str:
        """Name the classes that `mapping` merges."""
        return join_names(f"{name!r} to {other!r}" for name, other in self.alike.items())


def bad_answers(
    frame: pd.DataFrame,
    name: str,
    wrong: IntArray,
    classes: Labels,
    *,
    source: str,
    what: What,
    first_row: int,
    unit: str = "row",
) -> list[BadAnswer]:
    """Group the cells of a column at the places `wrong` by spelling, in the order of the rows."""
    cells = frame[name].iloc[wrong].tolist()
    spellings = [as_written(cell) for cell in cells]
    codes, distinct = pd.factorize(np.array(spellings, dtype=object))
    counts = np.bincount(codes, minlength=len(distinct)).tolist()
    first = np.unique(codes, return_index=True)[1]
    names = [str(value) for value in classes.tolist()]
    return [
        BadAnswer(
            value=value,
            what=what,
            count=counts[k],
            source=source,
            row=row_number(frame, int(wrong[first[k]]), first_row=first_row),
            column=name,
            suggestion=nearest_name(value, names),
            unit=unit,
        )
        for k, value in enumerate(distinct.tolist())
    ]


def _merged(bad: Iterable[BadAnswer]) -> tuple[BadAnswer, ...]:
    """Join the spellings of several columns; the first place stays, and the most frequent come first."""
    merged: dict[str, BadAnswer] = {}
    for one in bad:
        earlier = merged.get(one.value)
        if earlier is not None:
            mixed = earlier.mixed or one.what != earlier.what
            one = replace(earlier, count=earlier.count + one.count, mixed=mixed)
        merged[one.value] = one
    return tuple(sorted(merged.values(), key=lambda one: -one.count))


def _blank_offer(answers: Sequence[BadAnswer]) -> tuple[object, ...]:
    """Name the option that reads spellings such as "unsure" as blank; nothing where no spelling is like that."""
    values = [one.value for one in answers[:MOST_LISTED] if says_none(one.value)]
    if not values:
        return ()
    verb = "means" if len(values) == 1 else "mean"
    which = list_in_words([quote_cell(value) for value in values], most=MOST_LISTED)
    return f" If {which} {verb} that there is no answer, pass ", Argument("blank", values), "."


def _one(answer: BadAnswer, classes: Labels) -> str:
    more = f" {count_of(answer.count, 'cell')} have it." if answer.count > 1 else ""
    return (
        f"{answer.source}: {answer.unit} {answer.row}, column {answer.column}: {answer.what} "
        f"{quote_cell(answer.value)} is not one of {join_names(classes.tolist())}{answer.offer}{more}"
    )


def _several(answers: Sequence[BadAnswer], classes: Labels) -> str:
    cells, sources = sum(one.count for one in answers), {one.source for one in answers}
    head = (
        f"{join_names(sorted(sources))}: {count_of(cells, 'cell')} with {count_of(len(answers), 'spelling')} hold none "
        f"of {join_names(classes.tolist())}:"
    )
    sentences = []
    for one in answers[:MOST_LISTED]:
        where = f"{one.source}, " if len(sources) > 1 else ""
        count = count_of(one.count, "cell" if one.mixed else one.what)
        times = f"{count}, first in {where}{one.unit} {one.row}, column {one.column}"
        sentences.append(f"{quote_cell(one.value)}: {times}{one.offer}")
    if len(answers) > MOST_LISTED:
        sentences.append(f"... and {len(answers) - MOST_LISTED} more.")
    return " ".join([head, *sentences])
