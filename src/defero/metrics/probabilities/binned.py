"""Does a confidence of 0.8 mean right in 80 of 100 cases? The distance from that, in bins."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.checks.options import whole_number
from defero.metrics.probabilities.cells import Average, forecast_cells
from defero.metrics.probabilities.reliability import BinSums, bin_sums, equal_count_edges, equal_width_edges


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
