"""WEDGE: a simulated team whose true probabilities, and so the best possible decision, are known."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, frozen, index_numbers, whole_number
from defero.core.errors import InputError
from defero.core.results import MODEL
from defero.datasets.wedge_truth import HIGH, LOW, N_CLASSES, region_proba
from defero.simulate.specialists import right_with


@dataclass(frozen=True, eq=False, repr=False)
class Wedge:
    """Items of the benchmark, with the truth that real data hide.

    Attributes
    ----------
    features : (n, 1 + K + J + noise)
        What a model gets to see: x_1, the top class and the region one-hot, noise.
    raw : (n, 3)
        x itself.
    labels : (n,) int
        Class numbers 0..K-1.
    answers : (n, J) int
        The experts' class numbers.
    class_proba : (n, K)
        The true P(y = k | x).
    expert_proba : (n, J)
        The true P(expert j is right | x).
    """

    features: FloatArray
    raw: FloatArray
    labels: IntArray
    answers: IntArray
    class_proba: FloatArray
    expert_proba: FloatArray

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, frozen(getattr(self, field.name)))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        n_classes, n_experts = self.class_proba.shape[1], self.expert_proba.shape[1]
        return (
            f"Wedge: {len(self):,} items, {n_classes} classes, {n_experts} experts, {self.features.shape[1]} features."
        )

    @property
    def n_classes(self) -> int:
        """K."""
        return self.class_proba.shape[1]

    @property
    def n_experts(self) -> int:
        """J."""
        return self.expert_proba.shape[1]

    def value(self, expert: ArrayLike, class_idx: ArrayLike) -> FloatArray:
        """Return the true P(the decision is right | x), (n,): no noise of labels or answers is in it.

        Parameters
        ----------
        expert : (n,) int
            -1 where the model answers, else the expert's index.
        class_idx : (n,) int
            The class number that the model would say.
        """
        chosen = np.asarray(expert)
        if chosen.shape != (len(self),) or chosen.dtype.kind not in "iu":
            raise InputError(
                f"must be {len(self)} whole numbers, got shape {chosen.shape} of {chosen.dtype}.", argument="expert"
            )
        outside = np.flatnonzero((chosen < MODEL) | (chosen >= self.n_experts))
        if outside.size:
            item = int(outside[0])
            raise InputError(
                f"must lie in -1 (the model)..{self.n_experts - 1}, got {chosen[item]} for item {item}.",
                argument="expert",
            )
        classes = index_numbers("class_idx", class_idx, below=self.n_classes)
        if len(classes) != len(self):
            raise InputError(f"must have {len(self)} items, one per row, got {len(classes)}.", argument="class_idx")
        rows = np.arange(len(self))
        return np.where(chosen == MODEL, self.class_proba[rows, classes], self.expert_proba[rows, chosen])

    def best_value(self) -> FloatArray:
        """Return the true value of the best decision, max(max_k P(y = k | x), max_j P(j is right | x)), (n,)."""
        return np.maximum(self.class_proba.max(axis=1), self.expert_proba.max(axis=1))

    def excess(self, expert: ArrayLike, class_idx: ArrayLike) -> float:
        """Return how much accuracy the decision loses against the best one, mean(best_value - value) >= 0."""
        return float(np.mean(self.best_value() - self.value(expert, class_idx)))


def wedge(
    n: int,
    *,
    n_classes: int = N_CLASSES,
    high: Sequence[float] = HIGH,
    low: Sequence[float] = LOW,
    noise: int = 3,
    random_state: int | None = None,
) -> Wedge:
    """Draw n items of the benchmark.

    x is uniform on the unit cube. The top class floor(K x_2) has the posterior 1/K + (1 - 1/K) x_1, the other
    classes share the rest. Expert j is right with probability high_j where floor(J x_3) = j and low_j
    elsewhere; a wrong answer is uniform over the wrong classes, and being right is independent of y and of
    the other experts given x. The closed forms are in `defero.datasets.wedge_truth`.

    Parameters
    ----------
    n : int
        How many items.
    n_classes : int
        K, at least 2.
    high, low : J probabilities each
        P(right) of each expert inside and outside its own region.
    noise : int
        How many uniform feature columns that mean nothing.
    random_state : int, optional
        The seed. Labels, answers and noise have streams of their own: another `noise` leaves the rest as it is.

    Examples
    --------
    >>> bench = wedge(1000, random_state=0)
    >>> bench.features.shape, bench.answers.shape
    ((1000, 12), (1000, 4))
    >>> ask_the_best = bench.expert_proba.argmax(axis=1)
    >>> model_says = bench.class_proba.argmax(axis=1)
    >>> bench.excess(ask_the_best, model_says) < bench.excess(np.full(1000, -1), model_says)
    True
    """
    n = whole_number("n", n, least=1)
    n_classes = whole_number("n_classes", n_classes, least=2)
    noise = whole_number("noise", noise, least=0)
    proba = region_proba(high=high, low=low)
    n_experts = len(proba)
    for_x, for_labels, for_answers, for_noise = np.random.default_rng(random_state).spawn(4)

    raw = for_x.random((n, 3))
    top = (n_classes * raw[:, 1]).astype(np.int64)  # x < 1, and K x rounds below K too
    region = (n_experts * raw[:, 2]).astype(np.int64)
    top_proba = 1 / n_classes + (1 - 1 / n_classes) * raw[:, 0]
    is_top, is_region = np.eye(n_classes)[top], np.eye(n_experts)[region]
    rest_proba = ((1 - top_proba) / (n_classes - 1))[:, None]
    expert_proba = proba[region]

    labels = right_with(top, top_proba, n_classes=n_classes, rng=for_labels)
    answers = [right_with(labels, expert_proba[:, j], n_classes=n_classes, rng=for_answers) for j in range(n_experts)]
    return Wedge(
        features=np.column_stack([raw[:, 0], is_top, is_region, for_noise.random((n, noise))]),
        raw=raw,
        labels=labels,
        answers=np.column_stack(answers),
        class_proba=np.where(is_top == 1, top_proba[:, None], rest_proba),
        expert_proba=expert_proba,
    )
