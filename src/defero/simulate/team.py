"""A team whose skill depends on the features, on the class and on a category of the cases, with its exact P(right)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    check_generator,
    index_numbers,
    one_of,
    probability,
    whole_number,
)
from defero.core.errors import InputError
from defero.simulate.specialists import right_with
from defero.simulate.surfaces import SURFACES, rank_columns


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
    for j, child in enumerate(rng.spawn(answers.shape[1])):
        of_shape, of_shifts, of_answers, of_asking = child.spawn(4)  # a stratum more leaves the expert's shape as it is
        shifts = _shifts(of_shifts, (class_spread, n_classes), (stratum_spread, int(stratum.max(initial=0)) + 1))
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
    if matrix.ndim != 2 or len(matrix) != n_items:
        raise InputError(f"must have shape ({n_items}, columns), got {matrix.shape}.", argument="features")
    return matrix


def _shifts(rng: np.random.Generator, *spreads: tuple[float, int]) -> list[FloatArray]:
    """Draw normal shifts, one array for each (standard deviation, count)."""
    return [rng.normal(size=count) * spread for spread, count in spreads]


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
