"""Promised and realised accuracy by group of items and by the expert who is asked; accuracy by true class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, frozen, index_numbers, refuse, whole_number
from defero.core.errors import InputError
from defero.core.labels import Labels, complete_labels
from defero.core.results import Decision
from defero.core.results.decision import chosen_experts
from defero.judge.calibration import Forecasts, check_forecasts
from defero.judge.intervals import Accuracies, Interval, ratio


@dataclass(frozen=True, eq=False)
class GroupCalibration(Accuracies):
    """Promised and realised accuracy in G groups of answers; nan where a group has no answer.

    Attributes
    ----------
    count, accuracy, low, high : (G,) or (G, J)
        Each interval is at the level by itself. A promise outside it was not kept.
    groups : (G,)
        Names or numbers, in rising order.
    promised : the same shape as accuracy
        The mean confidence.
    """

    groups: Labels
    promised: FloatArray


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
        Of each interval (Wilson).

    Returns
    -------
    GroupCalibration
        With arrays (G, J); J = 1 for input of shape (n,).

    Examples
    --------
    >>> result = calibration_by_group([[0.9], [0.7], [0.6]], [[1], [0], [1]], ["west", "west", "east"])
    >>> result.groups.tolist(), result.promised.ravel().tolist(), result.accuracy.ravel().tolist()
    (['east', 'west'], [0.6, 0.8], [1.0, 0.5])
    """
    forecasts = check_forecasts(confidence, correct, observed)
    try:
        kinds, group_idx = np.unique(
            complete_labels("groups", groups, n_items=len(forecasts.confidence)), return_inverse=True
        )
    except TypeError as error:
        raise InputError(
            "must be all names or all numbers, got both; write them as text first.", argument="groups"
        ) from error
    count, right, total = _sums(forecasts, group_idx, len(kinds))
    return GroupCalibration.of(right, count, level=level, groups=frozen(kinds), promised=frozen(ratio(total, count)))


def decision_calibration(
    expert: ArrayLike | Decision,
    expert_proba: ArrayLike,
    correct: ArrayLike,
    *,
    level: float = 0.95,
    interval: Interval = "wilson",
) -> GroupCalibration:
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

    Returns
    -------
    GroupCalibration
        The groups are the experts, 0 to J - 1.

    Examples
    --------
    >>> result = decision_calibration([0, 0, -1, 1], [[0.9, 0.6]] * 4, [[1, 0], [0, 0], [0, 0], [1, 1]])
    >>> result.count.tolist(), result.promised.tolist(), result.accuracy.tolist()
    ([2, 1], [0.9, 0.6], [0.5, 1.0])
    """
    chosen, shape = chosen_experts(expert), np.shape(expert_proba)
    if len(shape) != 2 or shape[0] != len(chosen):
        raise InputError(
            f"must have shape ({len(chosen)}, J), one row per item of expert, got {shape}.", argument="expert_proba"
        )
    refuse("expert", chosen, chosen >= shape[1], f"must be below {shape[1]}, the number of columns of expert_proba")
    asked_mask = chosen[:, None] == np.arange(shape[1])
    forecasts = check_forecasts(expert_proba, correct, asked_mask, name="expert_proba")
    items = np.flatnonzero(asked_mask.any(axis=1))
    whom = chosen[items]
    count = np.bincount(whom, minlength=shape[1])
    right = np.bincount(whom[forecasts.correct[items, whom]], minlength=shape[1])
    total = np.bincount(whom, weights=forecasts.confidence[items, whom], minlength=shape[1]).astype(np.float64)
    more: dict[str, Any] = {"groups": frozen(np.arange(shape[1])), "promised": frozen(ratio(total, count))}
    return GroupCalibration.of(right, count, level=level, interval=interval, **more)


def skill_by_class(
    correct: ArrayLike,
    label_idx: ArrayLike,
    n_classes: int,
    *,
    observed: ArrayLike | None = None,
    level: float = 0.95,
) -> Accuracies:
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

    Returns
    -------
    Accuracies
        Arrays (J, K).

    Examples
    --------
    >>> skill = skill_by_class([[1, 0], [1, 1], [0, 1]], [0, 0, 1], n_classes=2)
    >>> skill.accuracy.tolist()
    [[1.0, 0.0], [0.5, 1.0]]
    """
    n_classes = whole_number("n_classes", n_classes, least=1)
    forecasts = check_forecasts(np.zeros(np.shape(correct)), correct, observed, name="correct")
    classes = index_numbers("label_idx", label_idx, below=n_classes, n_items=len(forecasts.correct))
    count, right, _ = _sums(forecasts, classes, n_classes)
    return Accuracies.of(right.T.copy(), count.T.copy(), level=level)


def _sums(forecasts: Forecasts, group_idx: IntArray, n_groups: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return for each group and expert how many, how many right, and the sum of confidences, (G, J) each."""
    count = np.zeros((n_groups, forecasts.n_experts), dtype=np.int64)
    right, total = np.zeros_like(count), np.zeros(count.shape)
    for j in range(forecasts.n_experts):
        confidence, correct = forecasts.column(j)
        where = group_idx if forecasts.observed is None else group_idx[forecasts.observed[:, j]]
        count[:, j] = np.bincount(where, minlength=n_groups)
        right[:, j] = np.bincount(where[correct], minlength=n_groups)
        total[:, j] = np.bincount(where, weights=confidence, minlength=n_groups)
    return count, right, total
