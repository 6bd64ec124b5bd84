"""WEDGE: a simulated team whose true probabilities, and so the best possible decision, are known, in closed form.

The law of the benchmark: x is uniform on the unit cube. The top class is k(x) = floor(K x_2), with
posterior a(x_1) = 1/K + (1 - 1/K) x_1; the other classes share the rest. The region is r(x) = floor(J x_3):
expert j is right with probability high_j where r(x) = j and low_j elsewhere.

The model's value a grows along x_1 while the experts' values do not depend on it, so the best team defers
exactly a wedge x_1 < u_r of every region, and each mean over x is an integral over x_1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, frozen, index_numbers, probability, set_frozen, whole_number
from defero.core.errors import InputError
from defero.core.results import MODEL
from defero.simulate.experts import right_with

N_CLASSES = 4
HIGH = (0.95, 0.9, 0.85, 0.8)
LOW = (0.25, 0.3, 0.2, 0.35)


@dataclass(frozen=True, eq=False)
class WedgeOptimum:
    """What the best team reaches where asking costs something.

    Attributes
    ----------
    utility : float
        Accuracy minus the fees paid, per item.
    accuracy : float
        P(the team is right).
    load : (J,)
        The share of all items that each expert gets.
    """

    utility: float
    accuracy: float
    load: FloatArray


def region_proba(*, high: Sequence[float] = HIGH, low: Sequence[float] = LOW) -> FloatArray:
    """Return P(expert j is right) in region r, (J regions, J experts).

    >>> region_proba(high=(0.9, 0.8), low=(0.3, 0.4)).tolist()
    [[0.9, 0.4], [0.3, 0.8]]
    """
    inside = [probability("high", one) for one in high]
    outside = [probability("low", one) for one in low]
    if len(inside) == 0 or len(inside) != len(outside):
        raise InputError(
            f"and low must have one probability per expert, at least one, got {len(inside)} and {len(outside)}.",
            argument="high",
        )
    proba = np.tile(outside, (len(inside), 1))
    np.fill_diagonal(proba, inside)
    return proba


def wedge_classifier_accuracy(n_classes: int = N_CLASSES) -> float:
    """Return the accuracy of the Bayes classifier alone, (K + 1) / (2 K).

    >>> wedge_classifier_accuracy(4)
    0.625
    """
    n_classes = whole_number("n_classes", n_classes, least=2)
    return (n_classes + 1) / (2 * n_classes)


def wedge_expert_accuracy(
    *, n_classes: int = N_CLASSES, high: Sequence[float] = HIGH, low: Sequence[float] = LOW
) -> FloatArray:
    """Return the accuracy of each expert alone, (high_j + (J - 1) low_j) / J, shape (J,).

    It does not depend on `n_classes`, which is taken so that one setting fits every closed form.

    >>> wedge_expert_accuracy(high=(0.9, 0.8), low=(0.3, 0.4)).round(6).tolist()
    [0.6, 0.6]
    """
    whole_number("n_classes", n_classes, least=2)
    return region_proba(high=high, low=low).mean(axis=0)


def wedge_bayes_accuracy(
    *, n_classes: int = N_CLASSES, high: Sequence[float] = HIGH, low: Sequence[float] = LOW
) -> float:
    """Return the accuracy of the best team, E[max(a, H)].

    H_r = max(1/K, high_r, max of the other low_i) is what the best expert of region r is worth; the mean over
    regions of the integral of max(a, H_r) is mean_r (K (1 + H_r^2) - 2 H_r) / (2 (K - 1)).

    >>> round(wedge_bayes_accuracy(), 6)
    0.8875
    """
    return wedge_with_fees(0.0, n_classes=n_classes, high=high, low=low).accuracy


def wedge_coverage(*, n_classes: int = N_CLASSES, high: Sequence[float] = HIGH, low: Sequence[float] = LOW) -> float:
    """Return the share of items that the model keeps in the best team, 1 - mean_r (K H_r - 1) / (K - 1).

    >>> round(wedge_coverage(), 6)
    0.166667
    """
    n_classes = whole_number("n_classes", n_classes, least=2)
    share, _ = _wedges(region_proba(high=high, low=low).max(axis=1), 0.0, n_classes=n_classes)
    return float(1 - share.mean())


def wedge_with_fees(
    fees: ArrayLike, *, n_classes: int = N_CLASSES, high: Sequence[float] = HIGH, low: Sequence[float] = LOW
) -> WedgeOptimum:
    """Return the best team where asking expert j costs fees_j.

    In region r the expert j with the largest p_j - c_j (the first of equals) answers a share
    u_r = (K (p_j - c_j) - 1) / (K - 1), cut to [0, 1], and the model the rest:
    accuracy = mean_r [p_j u_r + (1 - a(u_r)^2) / (2 (1 - 1/K))], utility = accuracy - sum_j c_j load_j.

    Parameters
    ----------
    fees : (J,) or one number for all
        In units of one error.
    n_classes, high, low
        The setting, as in `wedge`.

    Examples
    --------
    >>> best = wedge_with_fees((0.1, 0.05, 0.0, 0.2))
    >>> round(best.utility, 6), round(best.accuracy, 6), best.load.round(4).tolist()
    (0.825417, 0.87875, [0.2, 0.2, 0.2, 0.1167])
    """
    n_classes = whole_number("n_classes", n_classes, least=2)
    proba = region_proba(high=high, low=low)
    n_experts = len(proba)
    price = np.asarray(fees, dtype=np.float64)
    if price.shape not in {(), (n_experts,)} or not np.isfinite(price).all():
        raise InputError(
            f"must be finite numbers, one for each of the {n_experts} experts, "
            f"got {'shape ' + str(price.shape) if np.isfinite(price).all() else price.tolist()}.",
            argument="fees",
        )
    price = np.broadcast_to(price, n_experts)
    chosen = np.argmax(proba - price, axis=1)
    best = proba[np.arange(n_experts), chosen]
    share, accuracy = _wedges(best, price[chosen], n_classes=n_classes)
    load = np.bincount(chosen, weights=share, minlength=n_experts) / n_experts
    return WedgeOptimum(
        utility=float(np.mean(accuracy - price[chosen] * share)),
        accuracy=float(np.mean(accuracy)),
        load=frozen(load),
    )


def wedge_with_budget(
    budget: float, *, n_classes: int = N_CLASSES, high: Sequence[float] = HIGH, low: Sequence[float] = LOW
) -> float:
    """Return the accuracy of the best team that defers at most a share `budget` of the items.

    A scarce budget acts like one fee mu on every expert: the smallest mu >= 0 whose deferred share
    mean_r u_r(mu) fits. That share falls in mu, so bisection finds it, also where some regions defer nothing
    or the budget does not bind. With every region deferring, mu = mean(H) - 1/K - b (1 - 1/K).

    Parameters
    ----------
    budget : float
        The largest share that may be deferred, in [0, 1].
    n_classes, high, low
        The setting, as in `wedge`.

    Examples
    --------
    >>> round(wedge_with_budget(0.5), 6), round(wedge_with_budget(0.3), 6)
    (0.845833, 0.780833)
    """
    budget = probability("budget", budget)
    n_classes = whole_number("n_classes", n_classes, least=2)
    best = region_proba(high=high, low=low).max(axis=1)
    asks_too_many, fits = 0.0, 1.0  # at mu = 1 nobody is asked
    for _ in range(100):  # past the precision of a double: where the budget does not bind, mu ends at 0
        middle = (asks_too_many + fits) / 2
        if _wedges(best, middle, n_classes=n_classes)[0].mean() <= budget:
            fits = middle
        else:
            asks_too_many = middle
    _, accuracy = _wedges(best, fits, n_classes=n_classes)
    return float(accuracy.mean())


def _wedges(best_proba: FloatArray, price: FloatArray | float, *, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Return the share u deferred in each region and the region's accuracy, both (J,)."""
    slope = 1 - 1 / n_classes
    share = np.clip((best_proba - price - 1 / n_classes) / slope, 0.0, 1.0)
    by_model = (1 - (1 / n_classes + slope * share) ** 2) / (2 * slope)
    return share, best_proba * share + by_model


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
        set_frozen(self, **vars(self))

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
        classes = index_numbers("class_idx", class_idx, below=self.n_classes, n_items=len(self))
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
    the other experts given x. Functions of this module have the closed forms.

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
