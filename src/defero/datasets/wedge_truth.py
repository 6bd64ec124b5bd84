"""WEDGE in closed form: the best that any team can reach, with fees or a budget too.

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

from defero.core.checks.arrays import FloatArray, frozen, probability, whole_number
from defero.core.errors import InputError

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
