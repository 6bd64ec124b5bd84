"""Does a confidence of 0.8 mean right in 80 of 100 cases?"""

import math

import numpy as np
from numpy.typing import ArrayLike

from defero.core.errors import InputError
from defero.metrics.arguments import flags, numbers


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, *, n_bins: int = 20) -> float:
    """Return the mean gap between confidence and accuracy over equal-width bins.

    The bins are (k / B, (k + 1) / B], the first one closed at 0; with n_b items in bin b the error is
    sum_b n_b / n |mean confidence in b - mean correct in b|. It is biased upwards: a perfect forecaster with
    evenly spread confidences gets about sqrt(B / n) / 3, not 0.

    Parameters
    ----------
    confidence : (n,)
        P(right), in [0, 1].
    correct : (n,) bool
        Was it right?
    n_bins : int
        B.

    Returns
    -------
    float
        In [0, 1]; nan for no items.

    Examples
    --------
    >>> expected_calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False])
    0.0
    >>> round(expected_calibration_error([0.9, 0.1], [False, False]), 6)
    0.5
    """
    if n_bins != int(n_bins) or n_bins < 1:
        raise InputError(f"n_bins must be a whole number of at least 1, got {n_bins}.")
    claimed = numbers("confidence", confidence)
    was_right = flags("correct", correct, n_items=len(claimed))
    if claimed.size == 0:
        return math.nan
    if claimed.min() < 0 or claimed.max() > 1:
        item = int(np.argmax((claimed < 0) | (claimed > 1)))
        raise InputError(
            f"confidence must lie in [0, 1], got {claimed[item]:g} for item {item}; pass probabilities, not logits."
        )
    # k / B is rounded once, like a confidence written as k / B; np.linspace rounds twice and misses some of them.
    inner_edges = np.arange(1, n_bins) / n_bins
    bins = np.searchsorted(inner_edges, claimed, side="left")
    gap = np.bincount(bins, weights=claimed - was_right)
    return float(np.abs(gap).sum() / len(claimed))
