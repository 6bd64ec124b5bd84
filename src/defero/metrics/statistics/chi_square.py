"""Were the cases that somebody answered drawn at random? A chi-square test of their classes."""

import numpy as np
from scipy.special import chdtrc

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
    return float(chdtrc(len(seen) - 1, distance))
