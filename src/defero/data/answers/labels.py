"""Labels of items: a recorded truth, or the most frequent answer where there is none."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray
from defero.core.errors import TableError
from defero.core.labels import Labels
from defero.core.wording import join_names
from defero.data.answers.class_codes import classes_of, distinct_cells, parse_labels, spell_like
from defero.data.answers.log import AnswerLog
from defero.data.tables.cells import is_blank

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
