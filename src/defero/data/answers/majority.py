"""Labels from the answers themselves, where no truth is recorded: what most people said of an item."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from defero.core.checks import BoolArray, IntArray
from defero.core.errors import TableError
from defero.core.labels import MISSING, Labels, find_classes
from defero.data.answers.class_codes import as_meant, classes_of, distinct_cells
from defero.data.answers.long_answers import LongAnswers


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


def majority_labels(answers: LongAnswers, *, classes: ArrayLike | None = None) -> MajorityLabels:
    """Take the most frequent recorded answer to each item as its label.

    Among equally frequent answers to an item the one that is more frequent over all items wins, and where that is
    equal too the first class in sorted order. An expert's answer is part of the label it is judged by: with few
    answers per item everybody looks better than they are.

    Parameters
    ----------
    answers : LongAnswers
    classes : (K,), optional
        All classes; else the distinct answers.

    Examples
    --------
    >>> from defero.data.answers.long import join_answers
    >>> items = pd.DataFrame({"item": [1, 2, 3]})
    >>> long = pd.DataFrame({"item": [1, 1, 2, 2], "worker": list("abab"), "label": ["x", "x", "x", "y"]})
    >>> found = majority_labels(join_answers(items, long))
    >>> found.labels.tolist(), found.n_tied, found.n_without
    (['x', 'x', None], 1, 1)
    """
    if len(answers) == 0:
        raise TableError(f"{answers.source}: there is no answer to take labels from.")
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


def _classes(answers: LongAnswers) -> Labels:
    cells = pd.Series(answers.answers, name=answers.column, dtype=object)
    distinct = pd.Series(distinct_cells(cells)[1], name=answers.column, dtype=object)
    if all(isinstance(cell, str) for cell in distinct.tolist()):
        distinct = as_meant(distinct)
    return classes_of(distinct, None, source=answers.source)
