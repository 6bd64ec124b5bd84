"""Does a confidence of 0.8 mean right in 80 of 100 cases? Bins of confidences, and the distance from that."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, frozen
from defero.core.checks.options import whole_number
from defero.metrics.probabilities.cells import Average, forecast_cells
from defero.metrics.statistics.intervals import check_level, share_intervals, simultaneous_level


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


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """J forecasters in B bins (edges[b], edges[b + 1]], the first one closed at 0; nan in empty bins.

    Attributes
    ----------
    edges : (B + 1,)
    count : (J, B) int
        How many forecasts fell into the bin.
    confidence, accuracy : (J, B)
        Their mean, and the share that came true.
    low, high : (J, B)
        Wilson's interval of the accuracy, so wide that all B of a row hold together at the level asked for.
    """

    edges: FloatArray
    count: IntArray
    confidence: FloatArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray


def reliability_bins(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    n_bins: int = 10,
    level: float = 0.95,
) -> ReliabilityBins:
    """Put each expert's confidences into equal-width bins and compare their mean with what came true.

    Each interval has the level 1 - (1 - level) / B (Bonferroni), so that a calibrated forecaster's B intervals all
    hold their true accuracies in about `level` of all samples. An interval is about the accuracy in its bin;
    compare it with the mean confidence there, not with the middle of the bin.

    Parameters
    ----------
    confidence : (n,) or (n, J)
        P(right), in [0, 1].
    correct : the same shape, bool
        Was it right?
    observed : the same shape, bool, optional
        Is there an answer? By default everywhere.
    n_bins : int
        B.
    level : float
        Of all intervals of one forecaster together.

    Returns
    -------
    ReliabilityBins
        J = 1 for input of shape (n,).

    Examples
    --------
    >>> bins = reliability_bins([0.1, 0.3, 0.9, 0.7], [False, True, True, True], n_bins=2)
    >>> bins.count.tolist(), bins.confidence.tolist(), bins.accuracy.tolist()
    ([[2, 2]], [[0.2, 0.8]], [[0.5, 1.0]])
    """
    check_level(level)
    n_bins = whole_number("n_bins", n_bins, least=1)
    cells, edges = forecast_cells(confidence, correct, observed), equal_width_edges(n_bins)
    count = np.zeros((cells.n_experts, n_bins), dtype=np.int64)
    right, mean = np.zeros_like(count), np.full(count.shape, np.nan)
    for j in range(cells.n_experts):
        sums = bin_sums(*cells.column(j), edges)
        count[j], right[j] = sums.count, sums.right
        np.divide(sums.confidence, sums.count, out=mean[j], where=sums.count > 0)
    low, high = share_intervals(right, count, level=simultaneous_level(level, n_bins))
    return ReliabilityBins(
        edges=frozen(edges),
        count=frozen(count),
        confidence=frozen(mean),
        accuracy=frozen(np.divide(right, count, out=np.full(count.shape, np.nan), where=count > 0)),
        low=frozen(low),
        high=frozen(high),
    )


def expected_calibration_error(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    n_bins: int = 20,
    average: Average | None = "experts",
) -> Any:
    """Return the mean gap between confidence and accuracy over equal-width bins (ECE).

    The bins are (k / B, (k + 1) / B], the first one closed at 0; with n_b items in bin b the error is
    sum_b n_b / n |mean confidence in b - mean correct in b|. It is biased upwards: a perfect forecaster with
    evenly spread confidences gets about sqrt(B / n) / 3, not 0.

    Averaged over experts it is the error that Verma et al. (2023) print. Their softmax estimate can pass 1;
    `Scores.expert_proba` caps it there, as the paper does, which hides the fault: look at `Scores.above_one()`
    beside this number.

    Parameters
    ----------
    confidence : (n,) or (n, J)
        P(right), in [0, 1].
    correct : the same shape, bool
        Was it right?
    observed : the same shape, bool, optional
        Is there an answer? By default everywhere; cells without one are ignored.
    n_bins : int
        B.
    average : "experts", "pooled" or None
        For J experts: the plain mean over those with answers, all cells as one forecaster, or each by itself.

    Returns
    -------
    float, or (J,) where average is None
        In [0, 1]; nan where there is no answer.

    Examples
    --------
    >>> expected_calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False])
    0.0
    >>> expected_calibration_error([[0.5, 0.25], [0.5, 0.25]], [[1, 0], [0, 0]], average=None).tolist()
    [0.0, 0.25]
    """
    edges = equal_width_edges(whole_number("n_bins", n_bins, least=1))

    def error(column: FloatArray, right: BoolArray) -> float:
        return _mean_gap(bin_sums(column, right, edges))

    return forecast_cells(confidence, correct, observed).average(error, average)


def adaptive_calibration_error(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    n_bins: int = 20,
    average: Average | None = "experts",
) -> Any:
    """Return the mean gap between confidence and accuracy over bins of equal count.

    The borders are the confidences of rank ceil(k n / B), and the sum is that of `expected_calibration_error`
    (Nixon et al. 2019). Equal confidences stay in one bin. Where confidences crowd together, as those of a good
    expert do near 1, these bins still tell them apart. Biased upwards as well.

    Parameters
    ----------
    confidence, correct, observed, average
        As in `expected_calibration_error`.
    n_bins : int
        B; each expert's bins have borders of their own.

    Returns
    -------
    float, or (J,) where average is None
        In [0, 1]; nan where there is no answer.

    Examples
    --------
    >>> round(adaptive_calibration_error([0.91, 0.92, 0.98, 0.99], [False, True, True, True], n_bins=2), 6)
    0.215
    """
    n_bins = whole_number("n_bins", n_bins, least=1)

    def error(column: FloatArray, right: BoolArray) -> float:
        return _mean_gap(bin_sums(column, right, equal_count_edges(column, n_bins)))

    return forecast_cells(confidence, correct, observed).average(error, average)


def squared_calibration_error(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    n_bins: int = 20,
    debiased: bool = True,
    average: Average | None = "experts",
) -> Any:
    """Return the mean squared gap between confidence and accuracy over equal-width bins, without its bias.

    With s_b the mean confidence, a_b the accuracy and n_b the items of bin b it is
    sum_b n_b / n [(s_b - a_b)^2 - a_b (1 - a_b) / (n_b - 1)] (Kumar et al. 2019): the second term is the variance
    of a_b, which the plain square counts as error. A calibrated forecaster gets about 0, and half of the time
    less than 0. A bin with one item has no such variance and is left out, of n too.

    Parameters
    ----------
    confidence, correct, observed, n_bins, average
        As in `expected_calibration_error`.
    debiased : bool
        False: the plain square, in which all bins count.

    Returns
    -------
    float, or (J,) where average is None
        At most 1; nan where there is no answer or, debiased, no bin with two.

    Examples
    --------
    >>> squared_calibration_error([0.5, 0.5, 0.5, 0.5], [True, True, True, False], debiased=False)
    0.0625
    >>> squared_calibration_error([0.5, 0.5, 0.5, 0.5], [True, True, True, False])
    0.0
    """
    edges = equal_width_edges(whole_number("n_bins", n_bins, least=1))
    least = 2 if debiased else 1

    def error(column: FloatArray, right: BoolArray) -> float:
        sums = bin_sums(column, right, edges)
        used = sums.count >= least
        if not used.any():
            return math.nan
        count, accuracy = sums.count[used], sums.right[used] / sums.count[used]
        square = (sums.confidence[used] / count - accuracy) ** 2
        if debiased:
            square -= accuracy * (1 - accuracy) / (count - 1)
        return float(count @ square / count.sum())

    return forecast_cells(confidence, correct, observed).average(error, average)


def _mean_gap(sums: BinSums) -> float:
    return float(np.abs(sums.confidence - sums.right).sum() / sums.count.sum())
