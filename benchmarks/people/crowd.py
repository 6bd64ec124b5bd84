"""Crowd: a data set of the table, and the 70/30 splits on which every system is judged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.people.fold import Fold
from defero import ExpertTable
from defero.core.checks.arrays import IntArray
from defero.core.labels import Labels
from defero.core.splits import split_groups, split_rows

PARTS = (0.7, 0.3)


def as_they_are(train: Any, test: Any) -> tuple[Any, Any]:
    """Leave the features alone."""
    return train, test


@dataclass(frozen=True, eq=False)
class Crowd:
    """Cases that people answered.

    Attributes
    ----------
    table : ExpertTable
        Features, labels and who answered what.
    groups : (n,), optional
        Rows that belong on one side of a split, such as the findings of one film.
    text : tuple of str, optional
        The columns of free text among the features.
    words : (n,), optional
        A text of each case, beside features that are numbers, for systems that read texts.
    strata : {name: (n,)}, optional
        Categories by which results are shown as well, such as race and sex; no system sees them.
    reduce : (training features, test features) -> both
        Makes the features smaller; learned on the training part alone.
    """

    table: ExpertTable
    groups: Labels | None = None
    text: tuple[str, ...] | None = None
    words: Labels | None = None
    strata: Mapping[str, Labels] | None = None
    reduce: Callable[[Any, Any], tuple[Any, Any]] = as_they_are

    def fold(self, seed: int) -> tuple[Fold, Labels]:
        """Return the split of a seed, and the labels by which it is judged, which no system sees."""
        rows, held = self._split(seed)
        train, test = self.table.take(rows), self.table.take(held)
        shown, asked = self.reduce(train.features, test.features)
        train = ExpertTable(train.labels, train.answers, shown, classes=train.classes, expert_names=train.expert_names)
        groups = None if self.groups is None else self.groups[rows]
        words = None if self.words is None else (self.words[rows], self.words[held])
        fold = Fold(train, asked, test.answers, test.answer_idx, groups=groups, text=self.text, words=words, seed=seed)
        return fold, test.labels

    def test_strata(self, seed: int) -> dict[str, Labels]:
        """Return the categories of the test part of a seed's split."""
        held = self._split(seed)[1]
        return {name: np.asarray(values)[held] for name, values in (self.strata or {}).items()}

    def _split(self, seed: int) -> tuple[IntArray, IntArray]:
        """Return the rows of the two parts."""
        by_label, rng = self.table.label_idx, np.random.default_rng(seed)
        if self.groups is None:
            rows, held = split_rows(by_label, PARTS, rng=rng)
        else:
            rows, held = split_groups(self.groups, by_label, PARTS, rng=rng)
        return rows, held


@dataclass(frozen=True)
class PeopleSet:
    """A data set by name. A file in `sets/` has one, called SET.

    Attributes
    ----------
    name : str
        As in `defero datasets list`, where it is there.
    load : () -> Crowd
        Raises `InputError`, with the reason, where the data are not there.
    note : str
        Who the experts are, what the features and the truth.
    agreement : bool
        The label is the majority of the same people: agreement, not accuracy, and outside the tests.
    most_splits : int
        A large one gets no more splits than this.
    place : int
        Where it stands in the table.
    """

    name: str
    load: Callable[[], Crowd]
    note: str
    agreement: bool = False
    most_splits: int = 1_000
    place: int = 100
