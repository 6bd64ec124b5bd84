"""A team whose skill depends on the features, on the class and on a category of the cases, with its exact P(right).

A law of skill gives every case a height in [0, 1] for one expert. It sees ranks in (0, 1), so that it works on any
table whatever the scale of its columns, and draws its own columns, centre, direction and so on from `rng`. None of the
laws is linear in the features.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_generator,
    check_shape,
    index_numbers,
    one_of,
    probability,
    whole_number,
)
from defero.core.errors import InputError
from defero.simulate.experts import right_with

Surface = Callable[[FloatArray, np.random.Generator], FloatArray]


def rank_columns(features: FloatArray) -> FloatArray:
    """Replace each number by its rank in its column, in (0, 1); equal numbers share one, missing ones get 0.5.

    Shape (n, columns) in and out.

    >>> rank_columns(np.array([[10.0], [30.0], [20.0], [20.0], [np.nan]])).ravel().tolist()
    [0.125, 0.875, 0.5, 0.5, 0.5]
    """
    ranks = np.full(features.shape, 0.5)
    for column, values in enumerate(features.T):
        present = ~np.isnan(values)
        _, position, counts = np.unique(values[present], return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - counts / 2
        ranks[present, column] = middle[position] / max(present.sum(), 1)
    return ranks


def ring(ranks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Know the cases at one distance from a centre, in the plane of two columns.

    Height exp(-((r - radius) / 0.12)^2 / 2), where r is the distance from the expert's own centre.
    """
    plane = _columns(ranks, 2, rng)
    centre, radius = rng.uniform(0.3, 0.7, size=2), rng.uniform(0.2, 0.45)
    distance = np.hypot(*(plane - centre).T)
    return np.asarray(np.exp(-(((distance - radius) / 0.12) ** 2) / 2))


def checkerboard(ranks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Know every second field of a board of 3 x 3, in the plane of two columns: height 0 or 1."""
    plane = _columns(ranks, 2, rng)
    field = np.floor(3 * plane).astype(np.int64).sum(axis=1) + rng.integers(2)
    return (field % 2).astype(np.float64)


def stripes(ranks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Know oblique stripes, in the plane of two columns.

    Height (1 + sin(2 pi (1.5 t + phase))) / 2, where t runs along a direction.
    """
    plane = _columns(ranks, 2, rng)
    angle, phase = rng.uniform(np.pi / 8, 3 * np.pi / 8) * rng.choice([-1, 1]), rng.random()
    along = plane @ np.array([np.cos(angle), np.sin(angle)])
    return np.asarray((1 + np.sin(2 * np.pi * (1.5 * along + phase))) / 2)


def product(ranks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Know the cases in which the product of three centred columns is positive; no column says anything alone.

    Height 1 / (1 + exp(-300 s prod_c (rank_c - 1/2))) with a sign s; of two columns where there are only two.
    """
    centred = _columns(ranks, min(3, ranks.shape[1]), rng) - 0.5
    steep = 300.0 if centred.shape[1] == 3 else 100.0
    return np.asarray(1 / (1 + np.exp(-steep * rng.choice([-1, 1]) * centred.prod(axis=1))))


SURFACES: MappingProxyType[str, Surface] = MappingProxyType(
    {"ring": ring, "checkerboard": checkerboard, "stripes": stripes, "product": product}
)
"""The laws by name."""


def _columns(ranks: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Choose columns at random."""
    n_columns = ranks.shape[1]
    if n_columns < count:
        raise InputError(f"must have at least {count} columns for this law, got {n_columns}.", argument="features")
    return ranks[:, rng.choice(n_columns, size=count, replace=False)]


@dataclass(frozen=True, eq=False)
class SimulatedTeam:
    """Answers of simulated experts, and the probabilities that they were drawn with.

    Attributes
    ----------
    answers : (n, J) int
        Class numbers; -1 where the expert was not asked.
    right_by_class : (n, J, K) float
        P(expert j is right given the case's features, and that its class is k), exactly.
    """

    answers: IntArray
    right_by_class: FloatArray

    def right_given_label(self, labels: ArrayLike) -> FloatArray:
        """Return P(right given the features and the label), (n, J)."""
        label_idx = index_numbers("labels", labels, below=self.right_by_class.shape[2], n_items=len(self.answers))
        return self.right_by_class[np.arange(len(label_idx)), :, label_idx]

    def right_given_features(self, class_proba: FloatArray) -> FloatArray:
        """Return P(right given the features) = sum_k P(y = k given x) P(right given x, y = k): (n, K) -> (n, J)."""
        return np.einsum("nk,njk->nj", np.asarray(class_proba, dtype=np.float64), self.right_by_class)


def simulate_team(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    n_experts: int,
    n_classes: int,
    rng: np.random.Generator,
    law: str = "ring",
    strata: ArrayLike | None = None,
    low: float = 0.55,
    high: float = 0.97,
    class_spread: float = 0.5,
    stratum_spread: float = 0.4,
    answered: float = 1.0,
    n_answers: int | None = None,
) -> SimulatedTeam:
    """Simulate experts whose skill is not linear in the features, and differs by class and by stratum.

    logit P(right given x, y, stratum g) = logit(low + (high - low) h_j(x)) + c_{j, y} + s_{j, g}: h_j in [0, 1] is the
    law's surface for expert j, c ~ N(0, class_spread^2) and s ~ N(0, stratum_spread^2). A wrong answer is one of the
    other K - 1 classes, all alike. Experts are independent given features and label, and an expert more leaves the
    others as they are.

    Parameters
    ----------
    features : (n, columns) numbers
        Each column is replaced by its ranks (`rank_columns`); NaN is a missing value.
    labels : (n,) int
        The true class numbers 0..K-1.
    n_experts, n_classes : int
        J, and K of at least 2.
    rng : numpy.random.Generator
    law : "ring", "checkerboard", "stripes" or "product"
        The shape of each expert's skill.
    strata : (n,) int, optional
        A category of each case, such as sex, numbered from 0.
    low, high : float
        P(right) where the surface is 0 and 1, before the shifts. Equal ones make skill independent of the features.
    class_spread, stratum_spread : float
        Standard deviations of the shifts, in log-odds; 0 for none.
    answered : float
        Each expert was asked about each case with this probability.
    n_answers : int, optional
        Instead of `answered`: each expert was asked about exactly so many cases, drawn at random.

    Returns
    -------
    SimulatedTeam

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features, labels = rng.normal(size=(500, 3)), rng.integers(2, size=500)
    >>> team = simulate_team(features, labels, n_experts=4, n_classes=2, law="stripes", n_answers=50, rng=rng)
    >>> (team.answers >= 0).sum(axis=0).tolist(), team.right_by_class.shape
    ([50, 50, 50, 50], (500, 4, 2))
    """
    check_generator(rng)
    one_of("law", law, SURFACES)
    n_classes = whole_number("n_classes", n_classes, least=2)
    label_idx = index_numbers("labels", labels, below=n_classes)
    ranks = rank_columns(_number_columns(features, n_items=len(label_idx)))
    stratum = np.zeros_like(label_idx) if strata is None else index_numbers("strata", strata, n_items=len(label_idx))
    bounds = (probability("low", low), probability("high", high))
    answers = np.empty((len(label_idx), whole_number("n_experts", n_experts, least=1)), dtype=np.int64)
    right_by_class = np.empty((*answers.shape, n_classes))
    spreads = ((class_spread, n_classes), (stratum_spread, int(stratum.max(initial=0)) + 1))
    for j, child in enumerate(rng.spawn(answers.shape[1])):
        of_shape, of_shifts, of_answers, of_asking = child.spawn(4)  # a stratum more leaves the expert's shape as it is
        shifts = [of_shifts.normal(size=count) * spread for spread, count in spreads]
        right_by_class[:, j] = _skill(SURFACES[law](ranks, of_shape), stratum, bounds, shifts)
        right_proba = right_by_class[np.arange(len(label_idx)), j, label_idx]
        drawn = right_with(label_idx, right_proba, n_classes=n_classes, rng=of_answers)
        answers[:, j] = np.where(_asked(len(label_idx), answered, n_answers, rng=of_asking), drawn, -1)
    return SimulatedTeam(answers, right_by_class)


def _number_columns(features: ArrayLike, *, n_items: int) -> FloatArray:
    """Return (n, columns) floats; NaN is a missing value."""
    try:
        matrix = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers of shape (n, columns): {error}.", argument="features") from error
    check_shape("features", matrix, (n_items, "columns"))
    return matrix


def _skill(height: FloatArray, stratum: IntArray, bounds: tuple[float, float], shifts: list[FloatArray]) -> FloatArray:
    """Return P(right given x, y = k) of one expert, (n, K)."""
    low, high = bounds
    base = low + (high - low) * height
    by_class, by_stratum = shifts
    odds = np.exp(by_stratum[stratum][:, None] + by_class)  # e^shift: base 0 and 1 stay what they are
    return np.asarray(base[:, None] * odds / (1 - base[:, None] + base[:, None] * odds))


def _asked(n_items: int, answered: float, n_answers: int | None, *, rng: np.random.Generator) -> BoolArray:
    """Draw which cases one expert was asked about, (n,) bool."""
    if n_answers is None:
        return np.asarray(rng.random(n_items) < probability("answered", answered))
    count = whole_number("n_answers", n_answers, least=0)
    if count > n_items:
        raise InputError(f"must be at most the {n_items} cases, got {count}.", argument="n_answers")
    asked_mask = np.zeros(n_items, dtype=np.bool_)
    asked_mask[rng.permutation(n_items)[:count]] = True
    return asked_mask
