"""Split: the rows that a system learns from, and those on which it is judged."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import MISSING
from defero.core.splits import split_groups, split_rows

LEARN = 0.7


@dataclass(frozen=True, eq=False)
class Rows:
    """Cases with their labels and what the experts answered.

    Attributes
    ----------
    features : DataFrame
    label_idx : (n,) int
    answer_idx : (n, J) int
        -1 where the expert did not answer, or cannot be asked.
    groups : (n,) int, optional
        Rows that belong together.
    """

    features: pd.DataFrame
    label_idx: IntArray
    answer_idx: IntArray
    groups: IntArray | None = None

    def __len__(self) -> int:
        return len(self.label_idx)

    @property
    def n_experts(self) -> int:
        """J."""
        return self.answer_idx.shape[1]

    @property
    def observed(self) -> BoolArray:
        """(n, J): who answered."""
        return self.answer_idx != MISSING

    @property
    def correct(self) -> BoolArray:
        """(n, J): who was right; False where nothing was answered."""
        return self.answer_idx == self.label_idx[:, None]

    def take(self, rows: IntArray) -> "Rows":
        """Return some of the rows."""
        groups = None if self.groups is None else self.groups[rows]
        features = self.features.iloc[rows].reset_index(drop=True)
        return Rows(features, self.label_idx[rows], self.answer_idx[rows], groups)

    def asked_only(self, mask: BoolArray) -> "Rows":
        """Return the rows without the answers outside of a mask (n, J)."""
        return Rows(self.features, self.label_idx, np.where(mask, self.answer_idx, MISSING), self.groups)


@dataclass(frozen=True, eq=False)
class Truth:
    """What only a simulation knows of the test rows.

    Attributes
    ----------
    class_proba : (n, K)
        P(y = k | x).
    expert_proba : (n, J)
        P(expert j is right | x).
    """

    class_proba: FloatArray
    expert_proba: FloatArray

    def value(self, expert: IntArray, model_idx: IntArray) -> float:
        """Return the expected accuracy of deciders: -1 is the model, which answers `model_idx` (n,)."""
        rows = np.arange(len(expert))
        return float(
            np.where(
                expert < 0, self.class_proba[rows, model_idx], self.expert_proba[rows, np.maximum(expert, 0)]
            ).mean()
        )

    def best_model(self) -> float:
        """Return the accuracy of the best possible model."""
        return float(self.class_proba.max(axis=1).mean())

    def best_team(self) -> float:
        """Return the accuracy of the best possible choice between the model and one expert."""
        return float(np.maximum(self.class_proba.max(axis=1), self.expert_proba.max(axis=1)).mean())


@dataclass(frozen=True, eq=False)
class Split:
    """One split of a data set.

    Attributes
    ----------
    train, test : Rows
    n_classes : int
    seed : int
    truth : Truth, optional
        Of the test rows.
    """

    train: Rows
    test: Rows
    n_classes: int
    seed: int
    truth: Truth | None = None


def cut(rows: Rows, *, seed: int) -> tuple[IntArray, IntArray]:
    """Return the rows to learn from (70 %) and those for the test, by group where there are groups."""
    rng, fractions = np.random.default_rng([seed, 18]), (LEARN, 1 - LEARN)
    if rows.groups is None:
        first, second = split_rows(rows.label_idx, fractions, rng=rng)
    else:
        first, second = split_groups(rows.groups, rows.label_idx, fractions, rng=rng)
    return first, second
