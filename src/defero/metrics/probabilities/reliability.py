"""What was said against what came true, bin by bin: the numbers of a reliability diagram."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import FloatArray, IntArray, frozen
from defero.core.option_checks import whole_number
from defero.metrics.probabilities.bins import bin_sums, equal_width_edges
from defero.metrics.record.cells import forecast_cells
from defero.metrics.statistics.intervals import check_level, share_intervals, simultaneous_level


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

    Each interval has the level 1 - (1 - level) / B (Bonferroni), so that an honest forecaster's B intervals all
    hold their true accuracies in about `level` of all samples. An interval is about the accuracy in its bin;
    compare it with the mean confidence there, not with the middle of the bin.

    Parameters
    ----------
    confidence : (n,) or (n, J)
        P(right), in [0, 1].
    correct : the same shape, bool
        Was it right?
    observed : the same shape, bool, optional
        Is there an answer? Everywhere, where nothing is said.
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
