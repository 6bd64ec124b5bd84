"""How likely two experts who know nothing of each other err together so often: bounds that hold for any count."""

import math

import numpy as np

from defero.core.checks import BoolArray, FloatArray

_TILTS = np.geomspace(0.01, 100.0, 60)


def chance_together(first: FloatArray, second: FloatArray, wrong: BoolArray, *, common: float) -> float:
    """Bound the chance that two experts' residuals agree at least so much.

    With q_a, q_b their chances of being wrong at an item, the sum over items of e_a e_b, e = wrong - q, exceeds t with
    probability at most min_s exp(sum_i log E exp(s e_a e_b) - s t) (Chernoff), where both are wrong with probability
    q_a q_b + c_i. The c_i, in proportion to the product of both standard deviations, add up to what `common` asks for.

    Parameters
    ----------
    first, second : (m,)
        Their chances of being wrong at the items that both answered.
    wrong : (m, 2) bool
    common : float
        The correlation that both have as members of the pool.
    """
    a, b = first, second
    spread = np.sqrt(a * (1 - a) * b * (1 - b))
    asked_for = common * math.sqrt(float((a * (1 - a)).sum() * (b * (1 - b)).sum()))
    total = float(spread.sum())
    lift = spread * (asked_for / total if total > 0 else 0.0)
    both = np.minimum(a * b + lift, np.minimum(a, b))
    chances = np.stack([both, a - both, b - both, np.maximum(1 - a - b + both, 0)])
    values = np.stack([(1 - a) * (1 - b), -(1 - a) * b, -a * (1 - b), a * b])
    seen = float(((wrong[:, 0] - a) * (wrong[:, 1] - b)).sum())
    # Tilt by tilt: all at once would hold 240 numbers for each item.
    grown = [float(np.log((chances * np.exp(tilt * values)).sum(axis=0)).sum()) for tilt in _TILTS]
    return _least(np.array(grown), seen)


def chance_of_same(same: int, chances: FloatArray) -> float:
    """Bound the chance of at least so many equal wrong answers where item i has one with probability chances[i].

    >>> round(chance_of_same(10, np.full(10, 0.5)), 4), chance_of_same(0, np.full(10, 0.5))
    (0.001, 1.0)
    """
    grown = np.log1p(chances * np.expm1(_TILTS)[:, None]).sum(axis=1)
    return _least(grown, float(same))


def both_unlikely(first: float, second: float) -> float:
    """Return how likely two independent chances have so small a product (Fisher's method).

    >>> round(both_unlikely(0.05, 0.05), 4), both_unlikely(1.0, 1.0)
    (0.0175, 1.0)
    """
    product = first * second
    return product * (1 - math.log(product)) if product > 0 else 0.0


def _least(grown: FloatArray, seen: float) -> float:
    """Return the smallest of exp(grown - s seen) over the tilts s, and at most 1."""
    return math.exp(min(float((grown - _TILTS * seen).min()), 0.0))
