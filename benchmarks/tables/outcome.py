"""Outcome: what a team did on the test rows. System: what makes teams."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.tables.split import Rows, Split
from defero.core.checks.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class InTurn:
    """Asking one after the other.

    Attributes
    ----------
    label_idx : (n,) int
    p_right : (n,)
    questions : (n,) int
    """

    label_idx: IntArray
    p_right: FloatArray
    questions: IntArray


@dataclass(frozen=True, eq=False)
class Outcome:
    """Who decides each test row.

    Attributes
    ----------
    expert : (n,) int
        -1 where the model answers.
    p_right : (n,)
        The promise: P(the chosen decider is right).
    model_idx : (n,) int
        The label that the model gives.
    in_turn : InTurn, optional
    """

    expert: IntArray
    p_right: FloatArray
    model_idx: IntArray
    in_turn: InTurn | None = None

    def label_idx(self, test: Rows) -> IntArray:
        """Return the team's labels (n,)."""
        answers = test.answer_idx[np.arange(len(test)), np.maximum(self.expert, 0)]
        return np.where(self.expert < 0, self.model_idx, answers)


Answering = Callable[[Rows], Outcome]
"""A fitted team: it sees the features of the test rows, who can be asked, and the answers of those whom it asks."""


@dataclass(frozen=True)
class System:
    """A way of making a team.

    Attributes
    ----------
    name : str
    fit : Split -> (Answering, what was chosen)
        Learns from the training rows alone.
    ours : bool
        It changes with defero, so that its results carry a tag.
    plain : bool
        One of the plain systems that the default must not lose to.
    most_splits : int
        Slow ones that are no part of a verdict stop here.
    """

    name: str
    fit: Callable[[Split], tuple[Answering, str]]
    ours: bool = False
    plain: bool = False
    most_splits: int = 30


def choose(class_proba: FloatArray, expert_proba: FloatArray, test: Rows) -> Outcome:
    """Ask the expert of the largest P(right) who can be asked, where that is above the model's."""
    model_idx, rows = class_proba.argmax(axis=1), np.arange(len(test))
    value = np.where(test.observed, expert_proba, -1.0)
    best = value.argmax(axis=1)
    asks = value[rows, best] > class_proba.max(axis=1)
    return Outcome(
        expert=np.where(asks, best, -1),
        p_right=np.where(asks, value[rows, best], class_proba.max(axis=1)),
        model_idx=model_idx,
    )
