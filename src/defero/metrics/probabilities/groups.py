"""Calibration of confidences within groups of items, and accuracy of each expert on each class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, check_length, frozen
from defero.core.checks.experts import complete_labels
from defero.core.checks.options import whole_number
from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.metrics.probabilities.cells import Cells, forecast_cells
from defero.metrics.statistics.intervals import share_intervals


@dataclass(frozen=True, eq=False)
class GroupCalibration:
    """Promised and realised accuracy in each of G groups; nan where a group has no answer.

    Attributes
    ----------
    groups : (G,)
        In rising order.
    count : (G, J) int
        How many answers the expert gave there.
    promised, realised : (G, J)
        The mean confidence, and the share that was right.
    low, high : (G, J)
        Wilson's interval of `realised`, each at the level by itself.
    pooled_count, pooled_promised, pooled_realised, pooled_low, pooled_high : (G,)
        The same with all answers of a group as one. Answers about one item depend on each other, so that the
        pooled interval is too narrow where several experts answer the same items.
    """

    groups: Labels
    count: IntArray
    promised: FloatArray
    realised: FloatArray
    low: FloatArray
    high: FloatArray
    pooled_count: IntArray
    pooled_promised: FloatArray
    pooled_realised: FloatArray
    pooled_low: FloatArray
    pooled_high: FloatArray


@dataclass(frozen=True, eq=False)
class SkillByClass:
    """The accuracy of J experts on the items of each of K true classes; nan where they gave no answer.

    Attributes
    ----------
    count : (J, K) int
        How many answers.
    accuracy : (J, K)
        The share that was right.
    low, high : (J, K)
        Its Wilson interval, each at the level by itself.
    """

    count: IntArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray


def calibration_by_group(
    confidence: ArrayLike,
    correct: ArrayLike,
    groups: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    level: float = 0.95,
) -> GroupCalibration:
    """Compare what was promised with what came out, group by group.

    A group must be known when the promise is made: a hospital, a language, or the class that the model predicts
    (`groups=scores.class_idx`). Never the true class; see `skill_by_class`.

    Parameters
    ----------
    confidence : (n,) or (n, J)
        P(right), in [0, 1].
    correct : the same shape, bool
        Was it right?
    groups : (n,)
        Names or numbers.
    observed : the same shape as confidence, bool, optional
        Is there an answer? By default everywhere.
    level : float
        Of each interval.

    Examples
    --------
    >>> result = calibration_by_group([[0.9], [0.7], [0.6]], [[1], [0], [1]], ["west", "west", "east"])
    >>> result.groups.tolist(), result.promised.ravel().tolist(), result.realised.ravel().tolist()
    (['east', 'west'], [0.6, 0.8], [1.0, 0.5])
    """
    cells = forecast_cells(confidence, correct, observed)
    kinds, group_idx = _numbered(complete_labels("groups", groups, n_items=len(cells.confidence)))
    count, right, promised = _sums(cells, group_idx, len(kinds))
    low, high = share_intervals(right, count, level=level)
    pooled_count, pooled_right = count.sum(axis=1), right.sum(axis=1)
    pooled_low, pooled_high = share_intervals(pooled_right, pooled_count, level=level)
    return GroupCalibration(
        groups=frozen(kinds),
        count=frozen(count),
        promised=frozen(_share(promised, count)),
        realised=frozen(_share(right, count)),
        low=frozen(low),
        high=frozen(high),
        pooled_count=frozen(pooled_count),
        pooled_promised=frozen(_share(promised.sum(axis=1), pooled_count)),
        pooled_realised=frozen(_share(pooled_right, pooled_count)),
        pooled_low=frozen(pooled_low),
        pooled_high=frozen(pooled_high),
    )


def skill_by_class(
    correct: ArrayLike,
    label_idx: ArrayLike,
    n_classes: int,
    *,
    observed: ArrayLike | None = None,
    level: float = 0.95,
) -> SkillByClass:
    """Return how often each expert is right on the items of each true class: skill, not calibration.

    Calibrated confidences need not be calibrated given the true class: an expert who is right on every cat and on no
    dog, asked about an item that is either with equal odds, is right with probability 0.5; that looks too low among
    the cats and too high among the dogs. So there is no confidence in this table.

    Parameters
    ----------
    correct : (n,) or (n, J) bool
        Was expert j right?
    label_idx : (n,) class numbers
        The truth, in 0..K-1.
    n_classes : int
        K.
    observed : the same shape as correct, bool, optional
        Is there an answer? By default everywhere.
    level : float
        Of each interval.

    Examples
    --------
    >>> skill = skill_by_class([[1, 0], [1, 1], [0, 1]], [0, 0, 1], n_classes=2)
    >>> skill.accuracy.tolist()
    [[1.0, 0.0], [0.5, 1.0]]
    """
    n_classes = whole_number("n_classes", n_classes, least=1)
    cells = forecast_cells(np.zeros(np.shape(correct)), correct, observed, name="correct")
    classes = np.asarray(label_idx)
    check_length("label_idx", classes, n_items=len(cells.correct))
    if classes.size and (classes.dtype.kind not in "iu" or classes.min() < 0 or classes.max() >= n_classes):
        raise InputError(
            f"must be whole numbers in 0..{n_classes - 1}, the numbers of the classes.", argument="label_idx"
        )
    count, right, _ = _sums(cells, classes.astype(np.int64), n_classes)
    count, right = count.T.copy(), right.T.copy()
    low, high = share_intervals(right, count, level=level)
    return SkillByClass(frozen(count), frozen(_share(right, count)), frozen(low), frozen(high))


def _numbered(labels: Labels) -> tuple[Labels, IntArray]:
    """Return the distinct labels in rising order and each item's place among them."""
    try:
        kinds, places = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InputError(
            "must be all names or all numbers, got both; write them as text first.", argument="groups"
        ) from error
    return kinds, places.astype(np.int64)


def _sums(cells: Cells, group_idx: IntArray, n_groups: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return for each group and expert how many, how many right, and the sum of confidences, (G, J) each."""
    count = np.zeros((n_groups, cells.n_experts), dtype=np.int64)
    right, promised = np.zeros_like(count), np.zeros(count.shape)
    for j in range(cells.n_experts):
        confidence, correct = cells.column(j)
        where = group_idx if cells.observed is None else group_idx[cells.observed[:, j]]
        count[:, j] = np.bincount(where, minlength=n_groups)
        right[:, j] = np.bincount(where[correct], minlength=n_groups)
        promised[:, j] = np.bincount(where, weights=confidence, minlength=n_groups)
    return count, right, promised


def _share(part: FloatArray | IntArray, whole: IntArray) -> FloatArray:
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
