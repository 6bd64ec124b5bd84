"""What loaders return where a table of experts' answers does not fit: pictures, vote counts, scores, agreement."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, check_shape, set_frozen
from defero.core.errors import InputError
from defero.core.table import ExpertTable

Pictures = NDArray[np.uint8]
Texts = NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Pictures with their labels.

    Attributes
    ----------
    images : (n, height, width, 3) uint8
    labels : (n,) int
        Class numbers 0..K-1.
    classes : tuple of K names
    split : (n,) text
        The part of the data set that each picture belongs to; the source's own, where it has one.
    ids : (n,) text
        The source's name of each picture.
    groups : (n,) text, optional
        Pictures of one group (one lesion) belong on one side of a split.
    votes : (n, K), optional
        Shares of people's votes.
    """

    images: Pictures
    labels: IntArray
    classes: tuple[str, ...]
    split: Texts
    ids: Texts
    groups: Texts | None = None
    votes: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("images", "labels", "split", "ids", "groups", "votes"):
            value = getattr(self, name)
            if value is None:
                continue
            if len(value) != len(self.labels):
                raise InputError(f"must have one row per label, {len(self.labels)}, got {len(value)}.", argument=name)
            set_frozen(self, **{name: value})

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)


@dataclass(frozen=True, eq=False)
class VoteSet:
    """Items for which it is known how many people chose each class, but not who.

    Attributes
    ----------
    labels : (n,) int
        Class numbers 0..K-1.
    votes : (n, K) int
        How many people chose each class.
    classes : tuple of K names
    features : DataFrame, optional
        What is known of each item, such as its text.
    network_proba : mapping
        Name of a network -> its P(class), (n, K), where the source gives some.
    """

    labels: IntArray
    votes: IntArray
    classes: tuple[str, ...]
    features: Any = None
    network_proba: Mapping[str, FloatArray] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        check_shape("votes", self.votes, (len(self.labels), len(self.classes)))
        set_frozen(self, labels=self.labels, votes=self.votes)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    def vote_accuracy(self) -> float:
        """Return the share of all votes that went to the label."""
        return float(self.votes[np.arange(len(self)), self.labels].sum() / self.votes.sum())


@dataclass(frozen=True, eq=False)
class CorrectnessTable:
    """Items for which it is known how well each expert did, but not what they answered.

    There are no classes and no answers here, so this is no `ExpertTable`: it serves what learns from correctness alone.

    Attributes
    ----------
    scores : (n, J) in [0, 1]
        As the source gives them. What a score between 0 and 1 means depends on the task: see the loader.
    expert_names : tuple of J names
    features : DataFrame
        Task, question, and the source's split where it has one.
    prices : mapping
        Expert -> (input, output) US dollars per million tokens; empty where the source has none.
    """

    scores: FloatArray
    expert_names: tuple[str, ...]
    features: Any
    prices: Mapping[str, tuple[float, float]] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        check_shape("scores", self.scores, (len(self.features), len(self.expert_names)))
        if not ((self.scores >= 0) & (self.scores <= 1)).all():
            raise InputError("must lie in [0, 1], got others.", argument="scores")
        set_frozen(self, scores=self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.expert_names)

    def correct(self, *, at_least: float) -> BoolArray:
        """Return (n, J): did expert j reach this score on item i?"""
        return self.scores >= at_least


@dataclass(frozen=True, eq=False)
class AgreementSet:
    """A crowd without a truth: the label of an item is the majority of its annotators.

    An annotator is part of the majority they are judged by, so `table.correct` is agreement, not accuracy.

    Attributes
    ----------
    table : ExpertTable
        Labels are majorities.
    tied : (n,) bool
        The votes were even; the label is then the one that the source chose.
    split : (n,) text
        The source's own: train, dev or test.
    """

    table: ExpertTable
    tied: BoolArray
    split: Texts

    def __len__(self) -> int:
        return len(self.table)

    def agreement(self) -> FloatArray:
        """Return (J,): how often each annotator is with the majority, of the items that they answered; NaN of none."""
        return self.table.expert_accuracy
