"""Labels and answers of a table as class numbers; those that are none of the classes in one error, by spelling."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from defero.core.checks.arrays import IntArray
from defero.core.errors import Argument, InputError, TableError
from defero.core.labels import MISSING, Labels, find_classes
from defero.core.wording import count_of, join_names, list_in_words, nearest_name
from defero.data.tables.cells import as_written, is_blank, number_of, quote_cell, row_number, says_none, text_of

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

    `alike` has classes that differ in capitals or blanks alone: from the rarer spelling to the other.
    """

    answers: tuple[BadAnswer, ...] = ()
    renamed: Mapping[str, str] = MappingProxyType({})
    alike: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(
        cls,
        bad: Iterable[BadAnswer],
        classes: Labels,
        *,
        renamed: Mapping[str, str],
        alike: Mapping[str, str] | None = None,
        n_good: int | None = None,
    ) -> "BadAnswersError":
        """List all spellings of one or several columns, the same spelling once.

        `renamed` is what `Spellings` mean. `alike` is None where the classes are settled; where they are the labels of
        this table and no answer is one of them, the error asks for the right column.
        """
        answers = _merged(bad)
        listing = _one(answers[0], classes) if len(answers) == 1 else _several(answers, classes)
        wrong_column = alike is not None and n_good == 0
        question = f" No answer is one of the labels; is {Argument('label')} the right column?" if wrong_column else ""
        error = cls(f"{listing}{_blank_offer(answers)}{question}")
        error.answers, error.renamed, error.alike = answers, renamed, alike or {}
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
    column: "pd.Series[Any]",
    wrong: IntArray,
    classes: Labels,
    *,
    source: str,
    what: What,
    first_row: int,
    unit: str = "row",
) -> list[BadAnswer]:
    """Group the cells of a column at the places `wrong` by spelling, in the order of the rows."""
    spellings = [as_written(cell) for cell in column.iloc[wrong].tolist()]
    first = dict(zip(reversed(spellings), reversed(wrong.tolist()), strict=True))
    names = list(map(str, classes.tolist()))
    where: dict[str, Any] = {"source": source, "column": str(column.name), "unit": unit}
    return [
        BadAnswer(value, what, count, row=row, suggestion=nearest_name(value, names), **where)
        for value, count in Counter(spellings).items()
        for row in [row_number(column, first[value], first_row=first_row)]
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


def _blank_offer(answers: Sequence[BadAnswer]) -> str:
    """Name the option that reads spellings such as "unsure" as blank; nothing where no spelling is like that."""
    values = [one.value for one in answers[:MOST_LISTED] if says_none(one.value)]
    if not values:
        return ""
    verb = "means" if len(values) == 1 else "mean"
    which = list_in_words([quote_cell(value) for value in values], most=MOST_LISTED)
    return f" If {which} {verb} that there is no answer, pass {Argument('blank', values)}."


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


_EXACT = 2**53  # integers beyond this are rounded as floats
NO_CLASS = -2
_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0\d", re.ASCII)


def parse_labels(labels: "pd.Series[Any]") -> "pd.Series[Any]":
    """Turn labels as written into numbers, or into true and false, where all of them can be.

    Numbers with a leading zero are codes and stay text. Labels without a text among them have their type already.

    >>> parse_labels(pd.Series(["0", 1, "1"], dtype=object)).tolist()
    [0, 1, 1]
    """
    distinct = [cell for cell in distinct_cells(labels)[1] if not is_blank(cell)]
    if not any(isinstance(cell, str) for cell in distinct) or labels.isna().any():
        return labels
    written = {cell: cell if isinstance(cell, str) else text_of(cell) for cell in distinct}
    if all(_INTEGER.fullmatch(text) for text in written.values()):
        return labels.map({cell: int(text) for cell, text in written.items()})
    if all(text_of(text) in {"True", "False"} for text in written.values()):
        return labels.map({cell: text_of(text) == "True" for cell, text in written.items()})
    if any(_LEADING_ZERO.match(text) or number_of(text) is None or text.isalpha() for text in written.values()):
        return labels  # isalpha: true, inf
    parsed = {cell: number_of(text) for cell, text in written.items()}
    return whole_labels(labels.map(parsed))


def whole_labels(labels: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return float labels (n,) without a fraction as whole numbers: one blank cell, or 1.0 beside 1, made them float.

    >>> whole_labels(pd.Series([1.0, 0.0])).tolist(), whole_labels(pd.Series([1.5, 0.0])).tolist()
    ([1, 0], [1.5, 0.0])
    """
    if labels.dtype.kind != "f" or not ((labels % 1 == 0) & (labels.abs() < _EXACT)).all():
        return labels
    return labels.astype("int64")


def classes_of(labels: "pd.Series[Any]", classes: ArrayLike | None, *, source: str) -> Labels:
    """Return the (K,) classes: numbers where every label is one, else text."""
    if classes is not None:
        return find_classes(classes, name="classes")
    cells = [cell for cell in distinct_cells(labels)[1] if not is_blank(cell)]
    if any(isinstance(cell, str) or number_of(cell) is None for cell in cells):
        cells = [as_written(cell) for cell in cells]
    try:
        return find_classes(cells, name=f"{source}: column {labels.name}")
    except InputError as error:
        raise TableError(str(error)) from error


def matching_codes(column: "pd.Series[Any]", classes: Labels) -> IntArray:
    """Return (n,) class numbers, -1 where the cell is blank, -2 where it is none of the classes.

    >>> matching_codes(pd.Series(["1", None, "odd"]), np.array([0, 1])).tolist()
    [1, -1, -2]
    """
    # A class as written, and as `text_of` writes it where that is not ambiguous.
    forms = [text_of(value) for value in classes.tolist()]
    times = Counter(forms)
    lookup = {form: number for number, form in enumerate(forms) if times[form] == 1}
    lookup |= {str(value): number for number, value in enumerate(classes.tolist())}

    def code(cell: Any) -> int:
        return MISSING if is_blank(cell) else lookup.get(as_written(cell), lookup.get(text_of(cell), NO_CLASS))

    return np.array(by_cell(column, code), dtype=np.int64)


def spell_like(values: Labels, classes: Labels) -> Labels:
    """Return (n,) values, each spelled as the class (K,) that it equals, or as it is where it equals none.

    >>> spell_like(np.array([1, None, 2], dtype=object), np.array(["01", "b"], dtype=object)).tolist()
    ['01', None, 2]
    """
    codes = matching_codes(pd.Series(values, dtype=object), classes)
    spelled = values.astype(object)
    spelled[codes >= 0] = classes[codes[codes >= 0]]
    return spelled


def by_cell(column: "pd.Series[Any]", function: Callable[[Any], Any]) -> Labels:
    """Return what a function says of each of (n,) cells, of a missing one as of None; equal cells are asked once.

    >>> by_cell(pd.Series(["a", None, "a"]), lambda cell: cell or "?").tolist()
    ['a', '?', 'a']
    """
    cell_idx, distinct = distinct_cells(column)
    results = np.empty(len(distinct) + 1, dtype=object)
    for place, cell in enumerate([*distinct, None]):  # a missing cell has the index -1: the last
        results[place] = function(cell)
    return results[cell_idx]


def distinct_cells(column: "pd.Series[Any]") -> tuple[IntArray, list[Any]]:
    """Return for each of (n,) cells its index among the distinct ones, -1 where missing, and the distinct cells."""
    try:
        cell_idx, cells = pd.factorize(column, use_na_sentinel=True)
    except TypeError:  # lists and the like cannot be compared
        cell_idx, cells = pd.factorize(column.map(str, na_action="ignore"), use_na_sentinel=True)
    return cell_idx, np.asarray(cells).astype(object).tolist()
