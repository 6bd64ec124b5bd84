"""Labels of items: a recorded truth, or the most frequent answer where there is none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from defero.core.checks.arrays import BoolArray, IntArray
from defero.core.errors import TableError
from defero.core.labels import MISSING, Labels, find_classes
from defero.core.wording import join_names
from defero.data.answers.class_codes import classes_of, distinct_cells, parse_labels, spell_like
from defero.data.answers.log import AnswerLog
from defero.data.tables.cells import is_blank


@dataclass(frozen=True, eq=False)
class MajorityLabels:
    """The most frequent answer to each item.

    Attributes
    ----------
    classes : (K,)
        The distinct answers; numbers where every answer is one.
    label_idx : (n,) int
        The class number, -1 where nobody answered.
    tied : (n,) bool
        Two or more answers were equally frequent, and the rule chose.
    """

    classes: Labels
    label_idx: IntArray
    tied: BoolArray

    @property
    def answered(self) -> BoolArray:
        """(n,): did anybody answer? The other items have no label and must be dropped."""
        return self.label_idx != MISSING

    @property
    def labels(self) -> NDArray[Any]:
        """(n,) labels, None where nobody answered."""
        labels = self.classes[np.maximum(self.label_idx, 0)].astype(object)
        labels[~self.answered] = None
        return labels

    @property
    def n_tied(self) -> int:
        """How many items the rule for ties decided."""
        return int(self.tied.sum())

    @property
    def n_without(self) -> int:
        """How many items nobody answered."""
        return int((~self.answered).sum())


def majority_labels(answers: AnswerLog, *, classes: ArrayLike | None = None) -> MajorityLabels:
    """Take the most frequent recorded answer to each item as its label.

    Among equally frequent answers to an item the one that is more frequent over all items wins, and where that is
    equal too the first class in sorted order. An expert's answer is part of the label it is judged by: with few
    answers per item everybody looks better than they are.

    Parameters
    ----------
    answers : AnswerLog
    classes : (K,), optional
        All classes; else the distinct answers.

    Examples
    --------
    >>> from defero.data.answers.read_log import join_answers
    >>> items = pd.DataFrame({"item": [1, 2, 3]})
    >>> long = pd.DataFrame({"item": [1, 1, 2, 2], "worker": list("abab"), "label": ["x", "x", "x", "y"]})
    >>> majority = majority_labels(join_answers(items, long))
    >>> majority.labels.tolist(), majority.n_tied, majority.n_without
    (['x', 'x', None], 1, 1)
    """
    if len(answers) == 0:
        raise TableError(f"{answers.source}: no answer to take labels from.")
    known = _classes(answers) if classes is None else find_classes(classes, name="classes")
    class_idx = answers.class_idx(known)
    total = np.bincount(class_idx, minlength=len(known))
    pairs, count = np.unique(answers.item_idx * len(known) + class_idx, return_counts=True)
    item, value = np.divmod(pairs, len(known))
    order = np.lexsort((value, -total[value], -count, item))
    item, value, count = item[order], value[order], count[order]
    first = np.flatnonzero(np.r_[True, item[1:] != item[:-1]])
    label_idx = np.full(answers.n_items, MISSING, dtype=np.int64)
    label_idx[item[first]] = value[first]
    tied = np.zeros(answers.n_items, dtype=np.bool_)
    second = first[first + 1 < len(item)] + 1
    second = second[item[second] == item[second - 1]]
    tied[item[second]] = count[second] == count[second - 1]
    return MajorityLabels(classes=known, label_idx=label_idx, tied=tied)


def _classes(answers: AnswerLog) -> Labels:
    cells = pd.Series(answers.answers, name=answers.column, dtype=object)
    distinct = pd.Series(distinct_cells(cells)[1], name=answers.column, dtype=object)
    if all(isinstance(cell, str) for cell in distinct.tolist()):
        distinct = parse_labels(distinct)
    return classes_of(distinct, None, source=answers.source)


LabelChoice = Literal["leave out", "majority"]
Source = tuple[str, Sequence[Any] | None]
MAJORITY = "majority"


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels and where they come from.

    Attributes
    ----------
    labels, sources : (n,) object
        The label, and the name of its source; None where nothing knows it.
    n_tied : int
        In how many of those by majority a tie was broken.
    """

    labels: Labels
    sources: Labels
    n_tied: int = 0


def known_labels(answers: AnswerLog, *sources: Source, without_label: LabelChoice) -> KnownLabels:
    """Take each item's label from the first source that knows it.

    A majority is written as the same class of the other sources is: "01" where a source has "01" and people said 1.

    Parameters
    ----------
    answers : AnswerLog
        For the majority, which is taken where nothing else is known and `without_label` says so, and where no item
        at all has a label.
    sources : (name, (n,) labels or None)
        Earlier ones count first.
    """
    labels = np.full(answers.n_items, None, dtype=object)
    origin = np.full(answers.n_items, None, dtype=object)
    for name, values in sources:
        for place, value in enumerate(values or ()):
            if origin[place] is None and not is_blank(value):
                if isinstance(value, list | dict):
                    raise TableError(f"{answers.source}: the {name} must be a text or a number, got {value!s:.40}.")
                labels[place], origin[place] = value, name
    known = np.array([one is not None for one in origin.tolist()], dtype=np.bool_)
    n_tied = 0
    if without_label == "majority" or not known.any():
        majority = majority_labels(answers)
        filled = majority.answered & ~known
        labels[filled] = spell_like(majority.labels[filled], np.asarray(pd.unique(pd.Series(labels[known]))))
        origin[filled], n_tied = MAJORITY, int(majority.tied[filled].sum())
    return KnownLabels(labels, origin, n_tied)


def describe_sources(origin: Labels, *, source: str) -> str:
    """Return one sentence: where the labels come from.

    >>> describe_sources(np.array(["majority", None, "majority"], dtype=object), source="a.json")
    'a.json: labels of 3 items: 2 by majority, 1 without one.'
    """
    times = Counter("without one" if one is None else f"by {one}" for one in origin.tolist())
    counts = join_names(f"{count} {name}" for name, count in times.most_common())
    return f"{source}: labels of {len(origin)} items: {counts}."
