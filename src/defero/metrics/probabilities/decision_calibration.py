"""Of the items that went to an expert, how many were promised to come out right, and how many did?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, frozen
from defero.core.checks.experts import chosen_experts
from defero.core.errors import InputError
from defero.core.results import Decision
from defero.metrics.probabilities.cells import forecast_cells
from defero.metrics.statistics.intervals import Interval, counts_by_expert, share_intervals


@dataclass(frozen=True)
class Promise:
    """What was said of `count` answers, the mean of P(right), and the share that was right, with its interval."""

    count: int
    promised: float
    realised: float
    low: float
    high: float

    @property
    def gap(self) -> float:
        """Realised minus promised: below 0 where too much was promised."""
        return self.realised - self.promised


@dataclass(frozen=True, eq=False)
class DecisionCalibration:
    """Promised and realised accuracy of each expert on the items that went to them; nan where none did.

    Attributes
    ----------
    count : (J,) int
        How many items went to the expert.
    right : (J,) int
        How many of them the expert got right.
    promised : (J,)
        The mean of P(right) on those items.
    realised : (J,)
        right / count.
    low, high : (J,)
        The interval of `realised`: a promise outside it was not kept.
    pooled : Promise
        The same for all deferred items as one.
    """

    count: IntArray
    right: IntArray
    promised: FloatArray
    realised: FloatArray
    low: FloatArray
    high: FloatArray
    pooled: Promise

    @property
    def gap(self) -> FloatArray:
        """(J,): realised minus promised, below 0 where too much was promised."""
        return self.realised - self.promised


def decision_calibration(
    expert: ArrayLike | Decision,
    expert_proba: ArrayLike,
    correct: ArrayLike,
    *,
    level: float = 0.95,
    interval: Interval = "wilson",
) -> DecisionCalibration:
    """Compare what was promised of each expert with what came out, on the items that they were asked about.

    The gap is the mean of c_ij - p_ij over the items i with r(x_i) = j. An estimate that is calibrated on all items
    need not be so on those it selects: an item goes to whoever looks best, and who is overrated looks best.

    Parameters
    ----------
    expert : (n,) int, or a Decision
        -1 where the model answers, else the expert's index.
    expert_proba : (n, J)
        P(expert j is right), in [0, 1].
    correct : (n, J) bool
        Was expert j right? Only the cells of who was asked are read.
    level : float
        Of each interval by itself.
    interval : "wilson" or "clopper-pearson"
        Wilson's holds at `level` on average over p, Clopper and Pearson's at least so for each p.

    Examples
    --------
    >>> result = decision_calibration([0, 0, -1, 1], [[0.9, 0.6]] * 4, [[1, 0], [0, 0], [0, 0], [1, 1]])
    >>> result.count.tolist(), result.promised.tolist(), result.realised.tolist()
    ([2, 1], [0.9, 0.6], [0.5, 1.0])
    >>> result.pooled.count, round(result.pooled.gap, 4)
    (3, -0.1333)
    """
    chosen, shape = chosen_experts(expert), np.shape(expert_proba)
    if len(shape) != 2 or shape[0] != len(chosen):
        raise InputError(
            f"must have shape ({len(chosen)}, J), one row per item of expert, got {shape}.", argument="expert_proba"
        )
    if chosen.size and chosen.max() >= shape[1]:
        item = int(np.argmax(chosen))
        raise InputError(
            f"must be below {shape[1]}, the number of columns of expert_proba, got {chosen[item]} for item {item}.",
            argument="expert",
        )
    asked_mask = chosen[:, None] == np.arange(shape[1])
    cells = forecast_cells(expert_proba, correct, asked_mask, name="expert_proba")
    items = np.flatnonzero(asked_mask.any(axis=1))
    whom = chosen[items]
    promise, came_true = cells.confidence[items, whom], cells.correct[items, whom]
    # One row more, for all of them together.
    load, hits = counts_by_expert(whom, came_true, shape[1])
    count, right = np.append(load, len(items)), np.append(hits, came_true.sum())
    total = np.append(np.bincount(whom, weights=promise, minlength=shape[1]), promise.sum())
    promised, realised = (
        np.divide(sums, count, out=np.full(len(count), np.nan), where=count > 0) for sums in (total, right)
    )
    low, high = share_intervals(right, count, level=level, interval=interval)
    return DecisionCalibration(
        count=frozen(count[:-1]),
        right=frozen(right[:-1]),
        promised=frozen(promised[:-1]),
        realised=frozen(realised[:-1]),
        low=frozen(low[:-1]),
        high=frozen(high[:-1]),
        pooled=Promise(int(count[-1]), *(float(array[-1]) for array in (promised, realised, low, high))),
    )
