"""Logs of answers: one row per answer, joined into a table of cases."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from defero.core.answers import Answers, code_type
from defero.core.checks.arrays import BoolArray, IntArray, one_of
from defero.core.errors import TableError
from defero.core.labels import MISSING, Labels, as_column, find_classes
from defero.core.table import ExpertTable
from defero.core.wording import count_of, join_names
from defero.data.answers.class_codes import BadAnswer, as_answers, class_codes, classes_of, distinct_cells
from defero.data.answers.spellings import Spellings
from defero.data.tables.cells import is_blank, no_such_column


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

    def class_idx(self, classes: ArrayLike, *, others: Sequence[BadAnswer] = ()) -> IntArray:
        """Return the class number of each answer, (m,).

        Answers that are no class are an error that lists them, and the `others` that are bad elsewhere.
        """
        frame = pd.DataFrame({self.column: self.answers}, index=self.rows, dtype=object)
        known = find_classes(classes, name="classes")
        where: dict[str, Any] = {"source": self.source, "first_row": 0, "unit": self.unit}
        return class_codes(frame, {self.column: "answer"}, known, others=others, **where)[self.column]

    def respelled(self, spellings: Spellings) -> "AnswerLog":
        """Return the log with every answer spelled as it is meant; those that mean none are dropped."""
        if not spellings:
            return self
        answers = spellings.apply(pd.Series(self.answers, dtype=object)).to_numpy(dtype=object)
        blank = np.array([is_blank(cell) for cell in answers.tolist()], dtype=np.bool_)
        respelled = replace(self, answers=answers, n_blank=self.n_blank + int(blank.sum()))
        return respelled._renumbered(np.where(blank, -1, self.item_idx), self.expert_idx)

    def among(self, classes: ArrayLike) -> Answers:
        """Return the answers as class numbers.

        >>> cells = np.array(["b", "a", "b"], dtype=object)
        >>> long = latest_answers(np.array([1, 0, 0]), ["bo", "al", "bo"], cells, rows=np.arange(3), n_items=2)
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
) -> AnswerLog:
    """Keep one answer of each person to each item: the latest, and among equal times the last given."""
    experts = tuple(sorted(set(names), key=natural))
    number = {name: j for j, name in enumerate(experts)}
    expert_idx = np.array([number[name] for name in names], dtype=np.int64)
    order = np.arange(len(names)) if when is None else np.argsort(np.asarray(when), kind="stable")
    pair = item_idx[order] * max(len(experts), 1) + expert_idx[order]
    _, from_end = np.unique(pair[::-1], return_index=True)  # sorted by item, then by expert
    last = order[::-1][from_end]
    return AnswerLog(
        expert_names=experts,
        item_idx=item_idx[last],
        expert_idx=expert_idx[last],
        answers=answers[last],
        rows=rows[last],
        n_items=n_items,
        n_repeated=len(names) - len(last),
        n_blank=n_blank,
        n_unknown=n_unknown,
        source=source,
        column=column,
        unit=unit,
    )


def log_from_columns(frame: pd.DataFrame, experts: Sequence[str], *, source: str) -> AnswerLog:
    """Return the answers that stand in a column per expert, (n, J); blank cells are none.

    >>> frame = pd.DataFrame({"bo": ["x", None], "al": [" ", "y"]})
    >>> log = log_from_columns(frame, ["bo", "al"], source="a.csv")
    >>> log.expert_names, log.item_idx.tolist(), log.answers.tolist()
    (('al', 'bo'), [0, 1], ['x', 'y'])
    """
    ordered = tuple(sorted(experts, key=natural))
    cells = np.full((len(frame), len(ordered)), None, dtype=object)
    answered = np.zeros(cells.shape, dtype=np.bool_)
    for j, name in enumerate(ordered):
        cells[:, j] = frame[name].to_numpy(dtype=object)
        cell_idx, distinct = distinct_cells(frame[name])
        answered[:, j] = np.array([*(not is_blank(cell) for cell in distinct), False])[
            cell_idx
        ]  # -1, missing: the last
    item_idx, expert_idx = np.nonzero(answered)  # by item, then by expert
    return AnswerLog(ordered, item_idx, expert_idx, cells[answered], item_idx, len(frame), source=source)


_DIGITS = re.compile(r"(\d+)", re.ASCII)


def natural(name: str) -> tuple[Any, ...]:
    """Return a sort key by which reader 2 stands before reader 10.

    >>> sorted(["r10", "r2", "r02", "a"], key=natural)
    ['a', 'r02', 'r2', 'r10']
    """
    parts = [part.lstrip("0") if place % 2 else part for place, part in enumerate(_DIGITS.split(name))]
    # Digits compare by length first: int() refuses thousands of them.
    return tuple((len(part), part) if place % 2 else part for place, part in enumerate(parts)), name


def table_from_long(
    items: pd.DataFrame,
    answers: AnswerLog,
    *,
    labels: ArrayLike,
    features: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    classes: ArrayLike | None = None,
    layout: Literal["frame", "sparse"] = "frame",
) -> ExpertTable:
    """Put items, labels and answers together; items without a label are left out.

    Parameters
    ----------
    items : (n, ...) DataFrame
    answers : AnswerLog
        To these items, in this order.
    labels : (n,)
        The truth, blank where it is not known.
    features : sequence of str, optional
        Columns of `items`; else all but those of `leave_out`, such as the key.
    classes : (K,), optional
        All classes; else the distinct labels.
    layout : "frame" or "sparse"
        The table's answers: a DataFrame, or, where most cells are blank, `Answers`. Both carry the experts'
        names and what the answers say.

    Examples
    --------
    >>> from defero.data.answers.read_log import join_answers
    >>> items = pd.DataFrame({"item": [1, 2, 3], "size": [0.5, 1.5, 2.5], "truth": ["a", "b", "a"]})
    >>> long = pd.DataFrame({"item": [1, 3, 3], "worker": ["al", "al", "bo"], "label": ["a", "b", "a"]})
    >>> table = table_from_long(items, join_answers(items, long), labels=items["truth"], leave_out=["item", "truth"])
    >>> table.expert_names, list(table.features), table.correct.sum(axis=0).tolist()
    (('al', 'bo'), ['size'], [1, 1])
    """
    one_of("layout", layout, ("frame", "sparse"))
    label_column = pd.Series(as_column(labels, name="labels").astype(object), name="label", dtype=object)
    if len(label_column) != len(items) or answers.n_items != len(items):
        raise TableError(
            f"items, labels and answers must be of the same items: {len(items)} items, {len(label_column)} labels, "
            f"answers to {answers.n_items}."
        )
    columns = list(map(str, items.columns))
    missing = next((name for name in features or () if name not in columns), None)
    if missing is not None:
        raise no_such_column(missing, columns, source=answers.source, role="a feature")
    chosen = [name for name in columns if name not in leave_out] if features is None else list(features)
    if not chosen:
        raise TableError(f"{answers.source}: no column is left as a feature; the columns are {join_names(columns)}.")
    labelled: BoolArray = np.array([not is_blank(cell) for cell in label_column.tolist()], dtype=np.bool_)
    if not labelled.any():
        raise TableError(f"{answers.source}: no item has a label.")
    label_frame = label_column[labelled].to_frame()
    known = classes_of(label_frame["label"], None, source=answers.source) if classes is None else find_classes(classes)
    label_idx = class_codes(label_frame, {"label": "label"}, known, source=answers.source, first_row=0)["label"]
    log = answers.take(labelled)
    return ExpertTable(
        labels=known[label_idx],
        answers=log.among(known) if layout == "sparse" else _frame(log, known),
        features=items.set_axis(columns, axis=1).loc[labelled, chosen].reset_index(drop=True),
        classes=known,
        expert_names=answers.expert_names,
    )


def _frame(answers: AnswerLog, classes: Labels) -> pd.DataFrame:
    """Return (n, J) answers in the labels' own type, missing as missing."""
    codes = np.full((answers.n_items, answers.n_experts), MISSING, dtype=np.int64)
    codes[answers.item_idx, answers.expert_idx] = answers.class_idx(classes)
    columns = {name: as_answers(codes[:, j], classes) for j, name in enumerate(answers.expert_names)}
    return pd.DataFrame(columns, index=range(answers.n_items))
