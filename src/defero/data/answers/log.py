"""Logs of answers: one row per answer, joined into a table of cases; and labels made from them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from defero.core.answers import Answers, code_type, group_by_expert
from defero.core.checks.arrays import BoolArray, IntArray
from defero.core.errors import TableError
from defero.core.labels import MISSING, Labels, find_classes
from defero.core.wording import count_of, join_names
from defero.data.answers.class_codes import (
    NO_CLASS,
    BadAnswer,
    BadAnswersError,
    bad_answers,
    by_cell,
    classes_of,
    distinct_cells,
    matching_codes,
    parse_labels,
    spell_like,
)
from defero.data.answers.spellings import Spellings
from defero.data.tables.cells import is_blank, is_missing_spelling


@dataclass(frozen=True, eq=False)
class AnswerLog:
    """m answers of J experts to n items, as triplets; `to_frame` makes an (n, J) array, nothing else does.

    Attributes
    ----------
    expert_names : J names
        In natural order: reader 2 before reader 10.
    item_idx, expert_idx : (m,) int
        Which item, which expert; each pair once, sorted by item, then by expert.
    answers : (m,) object
        As written.
    rows : (m,) int
        The rows of the source that the answers stand in.
    n_items : int
        n.
    n_repeated, n_blank, n_unknown : int
        Rows left out: replaced by another answer of the same person to the same item, without an answer, of no item.
    source : str
        What a message calls the file.
    column : str or None
        The column of answers; None where each expert has one.
    unit : str
        What `rows` count: "row", or "task".
    """

    expert_names: tuple[str, ...]
    item_idx: IntArray
    expert_idx: IntArray
    answers: Labels
    rows: IntArray
    n_items: int
    n_repeated: int = 0
    n_blank: int = 0
    n_unknown: int = 0
    source: str = "annotations"
    column: str | None = "answer"
    unit: str = "row"

    def __len__(self) -> int:
        return len(self.item_idx)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.expert_names)

    def class_idx(
        self,
        classes: ArrayLike,
        *,
        others: Sequence[BadAnswer] = (),
        renamed: Mapping[str, str] = MappingProxyType({}),
        alike: Mapping[str, str] | None = None,
    ) -> IntArray:
        """Return the class number of each answer, (m,).

        Answers that are no class are an error that lists them, and the `others` that are bad elsewhere; `renamed`
        and `alike` are those of `BadAnswersError.of`.
        """
        known = find_classes(classes, name="classes")
        codes = np.empty(len(self), dtype=np.int64)
        bad = list(others)
        for name, places in self._columns():
            cells = pd.Series(self.answers[places], index=self.rows[places], name=name, dtype=object)
            codes[places] = matching_codes(cells, known)
            wrong = np.flatnonzero(codes[places] == NO_CLASS)
            where: dict[str, Any] = {"source": self.source, "first_row": 0, "unit": self.unit}
            bad += bad_answers(cells, wrong, known, what="answer", **where)
        if bad:
            raise BadAnswersError.of(bad, known, renamed=renamed, alike=alike, n_good=int((codes >= 0).sum()))
        return codes

    def _columns(self) -> Iterator[tuple[str, IntArray]]:
        """Yield the columns in which the answers stand, with their places among the m answers."""
        if self.column is not None:
            yield self.column, np.arange(len(self))
            return
        order, starts = group_by_expert(self.expert_idx, self.n_experts)
        for j, name in enumerate(self.expert_names):
            yield name, order[starts[j] : starts[j + 1]]

    def without_missing(self, classes: Labels) -> tuple["AnswerLog", Counter[str]]:
        """Return the log without answers that pandas reads as missing, such as n/a, and their counts by spelling.

        A class is never one of them.
        """
        codes = matching_codes(pd.Series(self.answers, dtype=object), classes)
        cells = self.answers[codes == NO_CLASS].tolist()
        missing = Counter(cell.strip() for cell in cells if is_missing_spelling(cell))
        return self.respelled(Spellings(dict.fromkeys(missing, ""))), missing

    def respelled(self, spellings: Spellings) -> "AnswerLog":
        """Return the log with every answer spelled as it is meant; those that mean none are dropped."""
        if not spellings:
            return self
        answers = spellings.apply(pd.Series(self.answers, dtype=object)).to_numpy(dtype=object)
        blank = np.array([is_blank(cell) for cell in answers.tolist()], dtype=np.bool_)
        respelled = replace(self, answers=answers, n_blank=self.n_blank + int(blank.sum()))
        return respelled._renumbered(np.where(blank, -1, self.item_idx), self.expert_idx)

    def among(self, classes: ArrayLike, **options: Any) -> Answers:
        """Return the answers as class numbers: cell by cell where each expert has a column, else sparse.

        Answers that are no class are an error, as in `class_idx`, whose options these are.

        >>> given = {"item": [1, 0, 0], "who": ["bo", "al", "bo"], "answer": ["b", "a", "b"], "row": [1, 2, 3]}
        >>> long = latest_answers(pd.DataFrame(given), n_items=2)
        >>> long.among(["a", "b"]).dense().tolist()
        [[0, 1], [-1, 1]]
        """
        known = find_classes(classes, name="classes")
        codes = self.class_idx(known, **options).astype(code_type(len(known)))
        if self.column is None:
            cells = np.full((self.n_items, self.n_experts), MISSING, dtype=codes.dtype)
            cells[self.item_idx, self.expert_idx] = codes
            return Answers.from_cells(cells, classes=known, expert_names=self.expert_names)
        return Answers.from_triplets(
            self.item_idx,
            self.expert_idx,
            codes,
            n_items=self.n_items,
            n_experts=self.n_experts,
            classes=known,
            expert_names=self.expert_names,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the (n, J) answers as written, one column per expert, None where missing. Dense."""
        cells = np.full((self.n_items, self.n_experts), None, dtype=object)
        cells[self.item_idx, self.expert_idx] = self.answers
        return pd.DataFrame(cells, columns=list(self.expert_names), dtype=object)

    def take(self, items: ArrayLike) -> "AnswerLog":
        """Return the answers to some items (distinct indices in any order, or a mask); the experts stay."""
        chosen = np.arange(self.n_items)[np.asarray(items)]
        position = np.full(self.n_items, -1)
        position[chosen] = np.arange(len(chosen))
        return self._renumbered(position[self.item_idx], self.expert_idx, n_items=len(chosen))

    def of_experts(self, names: Sequence[str]) -> "AnswerLog":
        """Return the answers of some experts in this order, such as those of a trained team; others are dropped."""
        column = {name: j for j, name in enumerate(names)}
        expert_idx = np.array([column.get(name, -1) for name in self.expert_names], dtype=np.int64)[self.expert_idx]
        return self._renumbered(self.item_idx, expert_idx, expert_names=tuple(names))

    def _renumbered(self, item_idx: IntArray, expert_idx: IntArray, **changes: Any) -> "AnswerLog":
        """Return the answers with new indices (m,), sorted by them; those with an index of -1 are dropped."""
        order = np.lexsort((expert_idx, item_idx))
        order = order[(item_idx[order] >= 0) & (expert_idx[order] >= 0)]
        return replace(
            self,
            item_idx=item_idx[order],
            expert_idx=expert_idx[order],
            answers=self.answers[order],
            rows=self.rows[order],
            **changes,
        )

    def notes(self) -> tuple[str, ...]:
        """Return one sentence for each reason why rows were left out."""
        reasons = (
            (self.n_blank, "row", "without an answer: ignored"),
            (self.n_repeated, "answer", "ignored: the same person answered the same item again"),
            (self.n_unknown, "answer", "to items that are not in the table: ignored"),
        )
        return tuple(f"{self.source}: {count_of(count, what)} {why}." for count, what, why in reasons if count)


def latest_answers(
    given: pd.DataFrame, *, n_items: int, source: str = "annotations", column: str = "answer", unit: str = "row"
) -> AnswerLog:
    """Keep one answer of each person to each item: the latest, and among equal times the last given.

    Parameters
    ----------
    given : (m, ...) DataFrame
        The item's index, -1 for none of the n; who answered; the answer, blank for none, which replaces none; its row;
        and perhaps when it was given, else in the order of the rows.
    n_items, source, column, unit : see `AnswerLog`

    >>> given = {"item": [1, 0, 0], "who": ["bo", "al", "al"], "answer": ["b", "a", None], "row": [2, 3, 4]}
    >>> log = latest_answers(pd.DataFrame(given), n_items=2)
    >>> log.expert_names, log.answers.tolist(), log.n_blank
    (('al', 'bo'), ['a', 'b'], 1)
    """
    answered = given[~np.array(by_cell(given["answer"], is_blank), dtype=np.bool_)]
    known = answered[answered["item"] >= 0]
    experts = tuple(sorted(set(known["who"]), key=natural))
    item_idx = known["item"].to_numpy(np.int64)
    expert_idx = known["who"].map({name: j for j, name in enumerate(experts)}).to_numpy(np.int64)
    order = np.argsort(known["when"].to_numpy(float), kind="stable") if "when" in known else np.arange(len(known))
    pair = item_idx[order] * max(len(experts), 1) + expert_idx[order]
    _, from_end = np.unique(pair[::-1], return_index=True)  # sorted by item, then by expert
    last = order[::-1][from_end]
    return AnswerLog(
        expert_names=experts,
        item_idx=item_idx[last],
        expert_idx=expert_idx[last],
        answers=known["answer"].to_numpy(dtype=object)[last],
        rows=known["row"].to_numpy(np.int64)[last],
        n_items=n_items,
        n_repeated=len(known) - len(last),
        n_blank=len(given) - len(answered),
        n_unknown=len(answered) - len(known),
        source=source,
        column=column,
        unit=unit,
    )


def log_from_columns(frame: pd.DataFrame, experts: Sequence[str], *, source: str, first_row: int = 0) -> AnswerLog:
    """Return the answers that stand in a column per expert, (n, J); blank cells are none.

    >>> frame = pd.DataFrame({"bo": ["x", None], "al": [" ", "y"]})
    >>> log = log_from_columns(frame, ["bo", "al"], source="a.csv")
    >>> log.expert_names, log.item_idx.tolist(), log.answers.tolist()
    (('bo', 'al'), [0, 1], ['x', 'y'])
    """
    cells = np.full((len(frame), len(experts)), None, dtype=object)
    answered = np.zeros(cells.shape, dtype=np.bool_)
    for j, name in enumerate(experts):
        cells[:, j] = frame[name].to_numpy(dtype=object)
        answered[:, j] = ~np.array(by_cell(frame[name], is_blank), dtype=np.bool_)
    item_idx, expert_idx = np.nonzero(answered)  # by item, then by expert
    rows = frame.index.to_numpy()[item_idx] + first_row
    names = tuple(experts)
    return AnswerLog(names, item_idx, expert_idx, cells[answered], rows, len(frame), source=source, column=None)


_DIGITS = re.compile(r"(\d+)", re.ASCII)


def natural(name: str) -> tuple[Any, ...]:
    """Return a sort key by which reader 2 stands before reader 10.

    >>> sorted(["r10", "r2", "r02", "a"], key=natural)
    ['a', 'r02', 'r2', 'r10']
    """
    parts = [part.lstrip("0") if place % 2 else part for place, part in enumerate(_DIGITS.split(name))]
    # Digits compare by length first: int() refuses thousands of them.
    return tuple((len(part), part) if place % 2 else part for place, part in enumerate(parts)), name


MAJORITY = "majority"


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels and where they come from.

    Attributes
    ----------
    labels, sources : (n,) object
        The label, and the name of its source; None where nothing knows it.
    tied : (n,) bool
        The label is a majority, and two or more answers were equally frequent.
    """

    labels: Labels
    sources: Labels
    tied: BoolArray

    @property
    def known(self) -> BoolArray:
        """(n,): has the item a label?"""
        return np.array([one is not None for one in self.sources.tolist()], dtype=np.bool_)

    @property
    def n_tied(self) -> int:
        """How many items the rule for ties decided."""
        return int(self.tied.sum())


def majority_labels(answers: AnswerLog) -> KnownLabels:
    """Take the most frequent recorded answer to each item as its label.

    Among equally frequent answers to an item the one that is more frequent over all items wins, and where that is
    equal too the first class in sorted order. An expert's answer is part of the label it is judged by: with few
    answers per item everybody looks better than they are.

    Examples
    --------
    >>> from defero.data.answers.read_log import join_answers
    >>> items = pd.DataFrame({"item": [1, 2, 3]})
    >>> long = pd.DataFrame({"item": [1, 1, 2, 2], "worker": list("abab"), "label": ["x", "x", "x", "y"]})
    >>> majority = majority_labels(join_answers(items, long))
    >>> majority.labels.tolist(), majority.n_tied
    (['x', 'x', None], 1)
    """
    if len(answers) == 0:
        raise TableError(f"{answers.source}: no answer to take labels from.")
    classes = _classes(answers)
    class_idx = answers.class_idx(classes)
    total = np.bincount(class_idx, minlength=len(classes))
    pairs, count = np.unique(answers.item_idx * len(classes) + class_idx, return_counts=True)
    item, value = np.divmod(pairs, len(classes))
    order = np.lexsort((value, -total[value], -count, item))
    item, value, count = item[order], value[order], count[order]
    first = np.flatnonzero(np.r_[True, item[1:] != item[:-1]])
    labels, sources = (np.full(answers.n_items, None, dtype=object) for _ in range(2))
    labels[item[first]], sources[item[first]] = classes[value[first]].astype(object), MAJORITY
    tied = np.zeros(answers.n_items, dtype=np.bool_)
    second = first[first + 1 < len(item)] + 1
    second = second[item[second] == item[second - 1]]
    tied[item[second]] = count[second] == count[second - 1]
    return KnownLabels(labels, sources, tied)


def _classes(answers: AnswerLog) -> Labels:
    cells = pd.Series(answers.answers, name=answers.column, dtype=object)
    distinct = pd.Series(distinct_cells(cells)[1], name=answers.column, dtype=object)
    if all(isinstance(cell, str) for cell in distinct.tolist()):
        distinct = parse_labels(distinct)
    return classes_of(distinct, None, source=answers.source)


def known_labels(answers: AnswerLog, sources: Mapping[str, Sequence[Any]], *, majority: bool) -> KnownLabels:
    """Take each item's label from the first source that knows it, and from the majority where that is wanted.

    A majority is written as the same class of the other sources is: "01" where a source has "01" and people said 1.

    Parameters
    ----------
    answers : AnswerLog
        For the majority.
    sources : mapping
        From the name of a source to its (n,) labels; earlier ones count first.
    majority : bool
    """
    labels, origin = (np.full(answers.n_items, None, dtype=object) for _ in range(2))
    for name, values in sources.items():
        for place, value in enumerate(values):
            if origin[place] is None and not is_blank(value):
                if isinstance(value, list | dict):
                    raise TableError(f"{answers.source}: the {name} must be a text or a number, got {value!s:.40}.")
                labels[place], origin[place] = value, name
    recorded = KnownLabels(labels, origin, np.zeros(answers.n_items, dtype=np.bool_))
    if not majority:
        return recorded
    voted, known = majority_labels(answers), recorded.known
    filled = voted.known & ~known
    labels[filled] = spell_like(voted.labels[filled], np.asarray(pd.unique(pd.Series(labels[known]))))
    origin[filled] = MAJORITY
    return KnownLabels(labels, origin, voted.tied & filled)


def describe_sources(origin: Labels, *, source: str) -> str:
    """Return one sentence: where the labels come from.

    >>> describe_sources(np.array(["majority", None, "majority"], dtype=object), source="a.json")
    'a.json: labels of 3 items: 2 by majority, 1 without one.'
    """
    times = Counter("without one" if one is None else f"by {one}" for one in origin.tolist())
    counts = join_names(f"{count} {name}" for name, count in times.most_common())
    return f"{source}: labels of {len(origin)} items: {counts}."
