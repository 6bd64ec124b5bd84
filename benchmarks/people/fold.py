"""Fold: all that a system may look at, the training part with its labels and the test part without."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from defero import ExpertTable
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import MISSING, Labels
from defero.core.splits import split_groups, split_rows

HELD_OUT = (0.8, 0.2)


@dataclass(frozen=True, eq=False)
class Fold:
    """One split, as a system sees it.

    Attributes
    ----------
    train : ExpertTable
        Features, labels and answers to learn from.
    features : (n, ...)
        Of the test part.
    answers : (n, J)
        Recorded answers to the test part, in the table's form: only these experts can be asked.
    answer_idx : (n, J) int
        The same as class numbers, -1 where missing.
    groups : (n_train,), optional
        Training rows that belong together.
    text : tuple of str, optional
        Columns of free text.
    words : (n_train,) and (n,), optional
        A text of each training and each test item, beside features that are numbers.
    seed : int
        For whatever a system draws.
    """

    train: ExpertTable
    features: Any
    answers: Any
    answer_idx: IntArray
    groups: Labels | None
    text: tuple[str, ...] | None
    words: tuple[Labels, Labels] | None
    seed: int

    def __len__(self) -> int:
        return len(self.answer_idx)

    @property
    def observed(self) -> BoolArray:
        """(n, J): who can be asked for each test item."""
        return self.answer_idx != MISSING

    @property
    def texts(self) -> list[str] | None:
        """The text columns as estimators take them."""
        return None if self.text is None else list(self.text)

    def with_words(self) -> "Fold":
        """Return the fold with its texts among the features; itself where there are none beside them."""
        if self.words is None:
            return self
        learn, asked = (
            pd.DataFrame(np.asarray(matrix)).add_prefix("number_").assign(text=words)
            for matrix, words in zip((self.train.features, self.features), self.words, strict=True)
        )
        rows = self.train
        train = ExpertTable(rows.labels, rows.answers, learn, classes=rows.classes, expert_names=rows.expert_names)
        return replace(self, train=train, features=asked, text=("text",), words=None)

    def class_shares(self) -> FloatArray:
        """Return the training part's class frequencies for each test item, (n, K): what is known without a model."""
        counts = np.bincount(self.train.label_idx, minlength=self.train.n_classes)
        return np.tile(counts / counts.sum(), (len(self), 1))

    def cut(self) -> tuple["Fold", ExpertTable]:
        """Cut the training part 80/20: the fold that learns from the first, and the rest, which `fit` must not see."""
        strata, rng = self.train.label_idx, np.random.default_rng([self.seed, 1])
        if self.groups is None:
            rows, held = split_rows(strata, HELD_OUT, rng=rng)
        else:
            rows, held = split_groups(self.groups, strata, HELD_OUT, rng=rng)
        groups = None if self.groups is None else self.groups[rows]
        words = None if self.words is None else (self.words[0][rows], self.words[1])
        return replace(self, train=self.train.take(rows), groups=groups, words=words), self.train.take(held)
