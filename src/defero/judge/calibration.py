"""Is a confidence of 0.8 right in 80 of 100 cases? Binned calibration errors, reliability bins, the Brier score."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    frozen,
    one_of,
    refuse,
    true_or_false,
    whole_number,
)
from defero.core.errors import InputError
from defero.judge.intervals import Accuracies, check_level, ratio, simultaneous_level

Measure = Callable[[FloatArray, BoolArray], float]
"""(m,) confidences and (m,) whether right -> a value; m is at least 1."""


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Checked confidences and outcomes; read them column by column.

    Attributes
    ----------
    confidence : (n, J)
        In [0, 1] wherever observed.
    correct : (n, J) bool
    observed : (n, J) bool, or None
        None: everything is.
    one_column : bool
        Did it come as (n,)?
    """

    confidence: FloatArray
    correct: BoolArray
    observed: BoolArray | None
    one_column: bool

    @property
    def n_experts(self) -> int:
        """J; 1 where the input had one axis."""
        return self.confidence.shape[1]

    def column(self, j: int) -> tuple[FloatArray, BoolArray]:
        """Return expert j's observed confidences and outcomes, (m,) each."""
        confidence, correct = self.confidence[:, j], self.correct[:, j]
        if self.observed is not None:
            confidence, correct = confidence[self.observed[:, j]], correct[self.observed[:, j]]
        return np.ascontiguousarray(confidence), np.ascontiguousarray(correct)

    def average(self, measure: Measure, average: Literal["experts"] | None) -> float | FloatArray:
        """Return the mean of the experts' values, or for None each value, (J,).

        The mean is over those that have a value: an expert without answers has none.
        """
        one_of("average", average, ("experts", None))
        columns = (self.column(j) for j in range(self.n_experts))
        values = np.array([measure(*one) if len(one[0]) else math.nan for one in columns], dtype=np.float64)
        return values if average is None and not self.one_column else mean_of_known(values)


def check_forecasts(
    confidence: ArrayLike, correct: ArrayLike, observed: ArrayLike | None = None, *, name: str = "confidence"
) -> Forecasts:
    """Check the three arrays that the calibration metrics share; cells not observed may hold anything.

    Parameters
    ----------
    confidence : (n,) or (n, J)
        P(right), in [0, 1].
    correct : the same shape, bool or 0 and 1
        Was it right?
    observed : the same shape, bool, optional
        Is there an answer? By default everywhere.
    name : str
        What the caller calls the confidences, for the messages.

    Examples
    --------
    >>> forecasts = check_forecasts([[0.9, 0.2], [0.8, 0.4]], [[1, 0], [0, 0]], [[1, 1], [1, 0]])
    >>> [len(forecasts.column(j)[0]) for j in range(2)]
    [2, 1]
    """
    try:
        claimed = np.asarray(confidence, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers in [0, 1]: {error}.", argument=name) from error
    if claimed.ndim not in (1, 2):
        raise InputError(f"must have one axis (n,) or two (n, J), got shape {claimed.shape}.", argument=name)
    seen = None if observed is None else true_or_false("observed", observed, shape=claimed.shape)
    was_right = true_or_false("correct", correct, shape=claimed.shape, seen=seen)
    strange = ~((claimed >= 0) & (claimed <= 1)) & (True if seen is None else seen)
    refuse(name, claimed, np.asarray(strange), "must lie in [0, 1]", "pass probabilities, not logits")
    one_column = claimed.ndim == 1
    if one_column:
        claimed, was_right = claimed[:, None], was_right[:, None]
        seen = None if seen is None else seen[:, None]
    return Forecasts(claimed, was_right, seen, one_column=one_column)


def mean_of_known(values: FloatArray) -> float:
    """Return the mean of what is not nan; nan where nothing is left.

    >>> mean_of_known(np.array([0.25, np.nan, 0.75]))
    0.5
    """
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def equal_width_edges(n_bins: int) -> FloatArray:
    """Return the borders 0, 1 / B, ..., 1, (B + 1,).

    Each is rounded once, like a confidence written as k / B; np.linspace rounds twice and misses some of them.

    >>> equal_width_edges(4).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return np.arange(n_bins + 1) / n_bins


def bin_sums(confidence: FloatArray, correct: BoolArray, edges: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return counts, right answers and summed confidences of the bins (edges[b], edges[b + 1]], the first closed at 0.

    >>> sums = bin_sums(np.array([0.0, 0.5, 0.6]), np.array([False, True, True]), equal_width_edges(2))
    >>> [one.tolist() for one in sums]
    [[2, 1], [1, 1], [0.5, 0.6]]
    """
    n_bins = len(edges) - 1
    bins = np.searchsorted(edges[1:-1], confidence, side="left")
    total = np.bincount(bins, weights=confidence, minlength=n_bins).astype(np.float64, copy=False)
    return np.bincount(bins, minlength=n_bins), np.bincount(bins[correct], minlength=n_bins), total


@dataclass(frozen=True, eq=False)
class ReliabilityBins(Accuracies):
    """J forecasters in B bins (edges[b], edges[b + 1]], the first one closed at 0; nan in empty bins.

    Attributes
    ----------
    count, accuracy, low, high : (J, B)
        Wilson's intervals are so wide that all B of a row hold together at the level asked for.
    edges : (B + 1,)
    confidence : (J, B)
        The mean of the forecasts in the bin.
    """

    edges: FloatArray
    confidence: FloatArray


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
    forecasts, edges = check_forecasts(confidence, correct, observed), equal_width_edges(n_bins)
    count = np.zeros((forecasts.n_experts, n_bins), dtype=np.int64)
    right, total = np.zeros_like(count), np.zeros(count.shape)
    for j in range(forecasts.n_experts):
        count[j], right[j], total[j] = bin_sums(*forecasts.column(j), edges)
    more: dict[str, Any] = {"edges": frozen(edges), "confidence": frozen(ratio(total, count))}
    return ReliabilityBins.of(right, count, level=simultaneous_level(level, n_bins), **more)


def expected_calibration_error(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    n_bins: int = 20,
    average: Literal["experts"] | None = "experts",
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
    average : "experts" or None
        For J experts: the plain mean over those with answers, or each by itself. Of all cells as one forecaster pass
        one axis.

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
        count, n_right, total = bin_sums(column, right, edges)
        return float(np.abs(total - n_right).sum() / count.sum())

    return check_forecasts(confidence, correct, observed).average(error, average)


def brier_score(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    average: Literal["experts"] | None = "experts",
) -> Any:
    """Return the mean squared residual, 1/n sum_i (confidence_i - correct_i)^2 (Brier, 1950).

    Parameters
    ----------
    confidence : (n,) or (n, J)
        P(right), in [0, 1].
    correct : the same shape, bool
        Was it right?
    observed : the same shape, bool, optional
        Is there an answer? Cells without one are left out.
    average : "experts" or None
        The mean over the experts that have an answer, or every expert.

    Returns
    -------
    float, or (J,) for average=None
        In [0, 1], less is better; nan where nothing is observed.

    Examples
    --------
    >>> brier_score([0.5, 1.0], [True, True])
    0.125
    """

    def mean_square(claimed: FloatArray, was_right: BoolArray) -> float:
        return float(np.mean((claimed - was_right) ** 2))

    return check_forecasts(confidence, correct, observed).average(mean_square, average)
