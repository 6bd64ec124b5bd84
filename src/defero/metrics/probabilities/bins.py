"""Confidences in bins: where the borders lie, and how many, how sure and how often right they are between them."""

from dataclasses import dataclass

import numpy as np

from defero.core.checks import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class BinSums:
    """Sums over each of B bins.

    Attributes
    ----------
    count, right : (B,) int
        How many forecasts, and how many of them came true.
    confidence : (B,)
        The sum of the confidences.
    """

    count: IntArray
    right: IntArray
    confidence: FloatArray


def equal_width_edges(n_bins: int) -> FloatArray:
    """Return the borders 0, 1 / B, ..., 1, (B + 1,).

    Each is rounded once, like a confidence written as k / B; np.linspace rounds twice and misses some of them.

    >>> equal_width_edges(4).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return np.arange(n_bins + 1) / n_bins


def equal_count_edges(confidence: FloatArray, n_bins: int) -> FloatArray:
    """Return 0, the confidences of rank ceil(k n / B) for k = 1, ..., B - 1, and 1, (B + 1,).

    Bins between them hold n / B confidences, rounded up or down; equal confidences are never parted, so that
    bins may grow past that, or be empty where borders coincide.

    >>> equal_count_edges(np.array([0.4, 0.1, 0.3, 0.2]), 2).tolist()
    [0.0, 0.2, 1.0]
    """
    ranks = -(-np.arange(1, n_bins) * len(confidence) // n_bins)
    inner = np.partition(confidence, np.unique(ranks - 1))[ranks - 1]
    return np.concatenate([[0.0], inner, [1.0]])


def bin_sums(confidence: FloatArray, correct: BoolArray, edges: FloatArray) -> BinSums:
    """Add up confidences and outcomes in the bins (edges[b], edges[b + 1]], the first one closed below.

    >>> sums = bin_sums(np.array([0.0, 0.5, 0.6]), np.array([False, True, True]), equal_width_edges(2))
    >>> sums.count.tolist(), sums.right.tolist(), sums.confidence.tolist()
    ([2, 1], [1, 1], [0.5, 0.6])
    """
    n_bins = len(edges) - 1
    bins = np.searchsorted(edges[1:-1], confidence, side="left")
    return BinSums(
        count=np.bincount(bins, minlength=n_bins),
        right=np.bincount(bins[correct], minlength=n_bins),
        confidence=np.bincount(bins, weights=confidence, minlength=n_bins).astype(np.float64, copy=False),
    )
