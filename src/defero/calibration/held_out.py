"""When a change pays: what it gains on cases that its fit did not see, against how sure that gain is."""

import numpy as np

from defero.core.checks import FloatArray, IntArray

FOLDS = 5
FEWEST_ANSWERS = 20
"""With fewer answers of all experts together nothing can be judged, and no expert is changed."""
FEWEST_LABELS = 10
"""With fewer labels the model is not changed. Its temperature is one number, drawn to 1: from 10 to 19 labels it costs
an honest model no more than from 20 to 30 (0.01 nats), and cures one that boasts."""
SURE = 0.5
"""A change must gain this many standard errors: with 1 too many boasts pass among a few dozen answers; ..."""
WORTHWHILE = 0.001
"""... and at least this much log loss per answer."""


def folds(n_items: int) -> IntArray:
    """Return the fold of each item, (n,): drawn with a fixed seed, their sizes at most one apart.

    >>> np.bincount(folds(12)).tolist()
    [3, 3, 2, 2, 2]
    """
    return np.random.default_rng(0).permutation(n_items) % FOLDS


def pays(gain: FloatArray | float, error: FloatArray | float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return whether a mean gain is worthwhile, and larger than half of its standard error.

    >>> pays(np.array([0.01, 0.01, 0.0005]), np.array([0.005, 0.02, 0.0])).tolist()
    [True, False, False]
    """
    return (np.asarray(gain) > SURE * np.asarray(error)) & (np.asarray(gain) > WORTHWHILE)
