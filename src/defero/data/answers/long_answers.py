"""Answers of experts to items as triplets: a person seldom answers more than a few of the items."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from defero.core.answers import Answers
from defero.core.checks import IntArray
from defero.core.errors import TableError
from defero.core.labels import Labels, find_classes
from defero.core.lookup import code_type
from defero.data.answers.class_codes import class_codes, distinct_cells
from defero.data.tables.cells import is_blank


@dataclass(frozen=True, eq=False)
class LongAnswers:
    """m answers of J experts to n items, as triplets; no (n, J) array is made unless asked for.

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
    source, column : str
        What a message calls the file and the column of answers.
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
    column: str = "answer"
    unit: str = "row"

    def __len__(self) -> int:
        return len(self.item_idx)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.expert_names)

    def class_idx(self, classes: ArrayLike) -> IntArray:
        """Return the class number of each answer, (m,); an answer that is no class is an error naming its row."""
        frame = pd.DataFrame({self.column: self.answers}, index=self.rows, dtype=object)
        known = find_classes(classes, name="classes")
        try:
            return class_codes(frame, self.column, known, source=self.source, what="answer", first_row=0)
        except TableError as error:
            told = str(error).replace(f"{self.source}: row ", f"{self.source}: {self.unit} ", 1)
            raise TableError(told) from error

    def among(self, classes: ArrayLike) -> Answers:
        """Return the answers as class numbers.

        >>> cells = np.array(["b", "a", "b"], dtype=object)
        >>> long = triplets(np.array([1, 0, 0]), ["bo", "al", "bo"], cells, rows=np.arange(3), n_items=2)
        >>> long.among(["a", "b"]).dense().tolist()
        [[0, 1], [-1, 1]]
        """
        known = find_classes(classes, name="classes")
        return Answers.from_triplets(
            self.item_idx,
            self.expert_idx,
            self.class_idx(known).astype(code_type(len(known))),
            n_items=self.n_items,
            n_experts=self.n_experts,
            classes=known,
            expert_names=self.expert_names,
        )

    def frame(self) -> pd.DataFrame:
        """Return the (n, J) answers as written, one column per expert, None where missing. Dense."""
        cells = np.full((self.n_items, self.n_experts), None, dtype=object)
        cells[self.item_idx, self.expert_idx] = self.answers
        return pd.DataFrame(cells, columns=list(self.expert_names), dtype=object)

    def take(self, items: ArrayLike) -> "LongAnswers":
        """Return the answers to these items (numbers, each once, or a mask), numbered in this order; J stays."""
        chosen = np.arange(self.n_items)[np.asarray(items)]
        place = np.full(self.n_items, -1)
        place[chosen] = np.arange(len(chosen))
        kept = np.flatnonzero(place[self.item_idx] >= 0)
        kept = kept[np.lexsort((self.expert_idx[kept], place[self.item_idx[kept]]))]
        return replace(self._rows(kept), item_idx=place[self.item_idx[kept]], n_items=len(chosen))

    def of_experts(self, names: Sequence[str]) -> "LongAnswers":
        """Return the answers of these experts in this order, such as those of a trained team; others are dropped."""
        column = {name: j for j, name in enumerate(names)}
        expert_idx = np.array([column.get(name, -1) for name in self.expert_names], dtype=np.int64)[self.expert_idx]
        kept = np.flatnonzero(expert_idx >= 0)
        kept = kept[np.lexsort((expert_idx[kept], self.item_idx[kept]))]
        return replace(self._rows(kept), expert_names=tuple(names), expert_idx=expert_idx[kept])

    def _rows(self, kept: IntArray) -> "LongAnswers":
        return replace(
            self,
            item_idx=self.item_idx[kept],
            expert_idx=self.expert_idx[kept],
            answers=self.answers[kept],
            rows=self.rows[kept],
        )

    def notes(self) -> tuple[str, ...]:
        """Say which rows were left out and why, a sentence each."""
        said = (
            (self.n_repeated, "answers were replaced by another of the same person to the same item"),
            (self.n_blank, "rows hold no answer"),
            (self.n_unknown, "answers are to items that are not in the table"),
        )
        return tuple(f"{self.source}: {count} {what}." for count, what in said if count)


def triplets(
    item_idx: IntArray,
    names: Sequence[str],
    answers: Labels,
    *,
    rows: IntArray,
    when: ArrayLike | None = None,
    n_items: int,
    n_blank: int = 0,
    n_unknown: int = 0,
    source: str = "annotations",
    column: str = "answer",
    unit: str = "row",
) -> LongAnswers:
    """Keep one answer of each person to each item: the latest, and among equal times the last given."""
    experts = tuple(sorted(set(names), key=natural))
    number = {name: j for j, name in enumerate(experts)}
    expert_idx = np.array([number[name] for name in names], dtype=np.int64)
    order = np.arange(len(names)) if when is None else np.argsort(np.asarray(when), kind="stable")
    pair = item_idx[order] * max(len(experts), 1) + expert_idx[order]
    _, from_end = np.unique(pair[::-1], return_index=True)  # sorted by item, then by expert
    kept = order[::-1][from_end]
    return LongAnswers(
        expert_names=experts,
        item_idx=item_idx[kept],
        expert_idx=expert_idx[kept],
        answers=answers[kept],
        rows=rows[kept],
        n_items=n_items,
        n_repeated=len(names) - len(kept),
        n_blank=n_blank,
        n_unknown=n_unknown,
        source=source,
        column=column,
        unit=unit,
    )


def answers_of_columns(frame: pd.DataFrame, experts: Sequence[str], *, source: str) -> LongAnswers:
    """Return the answers that stand in a column per expert, (n, J); blank cells are none.

    >>> frame = pd.DataFrame({"bo": ["x", None], "al": [" ", "y"]})
    >>> found = answers_of_columns(frame, ["bo", "al"], source="a.csv")
    >>> found.expert_names, found.item_idx.tolist(), found.answers.tolist()
    (('al', 'bo'), [0, 1], ['x', 'y'])
    """
    ordered = tuple(sorted(experts, key=natural))
    cells = np.full((len(frame), len(ordered)), None, dtype=object)
    said = np.zeros(cells.shape, dtype=np.bool_)
    for j, name in enumerate(ordered):
        cells[:, j] = frame[name].to_numpy(dtype=object)
        cell_idx, distinct = distinct_cells(frame[name])
        said[:, j] = np.array([*(not is_blank(cell) for cell in distinct), False])[cell_idx]  # -1, missing: the last
    item_idx, expert_idx = np.nonzero(said)  # by item, then by expert
    return LongAnswers(ordered, item_idx, expert_idx, cells[said], item_idx, len(frame), source=source)


_DIGITS = re.compile(r"(\d+)", re.ASCII)


def natural(name: str) -> tuple[Any, ...]:
    """Return a sort key by which reader 2 stands before reader 10.

    >>> sorted(["r10", "r2", "r02", "a"], key=natural)
    ['a', 'r02', 'r2', 'r10']
    """
    parts = [part.lstrip("0") if place % 2 else part for place, part in enumerate(_DIGITS.split(name))]
    # Digits compare by length first: int() refuses thousands of them.
    return tuple((len(part), part) if place % 2 else part for place, part in enumerate(parts)), name
