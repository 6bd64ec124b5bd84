"""Were the cases that somebody answered drawn at random? A chi-square test of their classes."""

import math

import numpy as np

from defero.core.checks import FloatArray, IntArray

LEAST_EXPECTED = 5
"""Of fewer expected cases the chi-square law fails."""


def chance_of_choice(answered: IntArray, counts: FloatArray) -> float:
    """Return how likely such classes are among cases drawn at random without putting back: a chi-square test.

    Classes with fewer than five expected cases are taken as one, for the chi-square law fails them.
    """
    n_items, n_answered = counts.sum(), float(answered.sum())
    share = n_answered / n_items
    if n_answered in (0, n_items):
        return 1.0
    large = np.minimum(share, 1 - share) * counts >= LEAST_EXPECTED
    seen = np.append(answered[large], answered[~large].sum())
    expected = share * np.append(counts[large], counts[~large].sum())
    seen, expected = seen[expected > 0], expected[expected > 0]
    if len(seen) < 2:
        return 1.0
    # Drawing without putting back narrows the spread by (1 - share) n / (n - 1).
    distance = float(((seen - expected) ** 2 / expected).sum() * (n_items - 1) / (n_items * (1 - share)))
    return chi_square_tail(distance, len(seen) - 1)


def chi_square_tail(value: float, freedom: int) -> float:
    """Return P(chi-square with `freedom` degrees of freedom > value), by its finite sum.

    With x = value / 2 it is e^-x sum_i x^i / i! over i < freedom / 2 for even freedom; for odd freedom erfc(sqrt x)
    + e^-x sum_i x^(i - 1/2) / Gamma(i + 1/2) over 1 <= i <= (freedom - 1) / 2.

    >>> round(chi_square_tail(3.841459, 1), 6), round(chi_square_tail(5.991465, 2), 6)
    (0.05, 0.05)
    """
    half = value / 2
    if half <= 0:
        return 1.0
    odd = freedom % 2
    powers = np.arange(freedom // 2) + odd / 2
    terms = sum(math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in powers.tolist())
    return min(1.0, terms + (math.erfc(math.sqrt(half)) if odd else 0.0))
