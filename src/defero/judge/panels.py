"""Panels: how large are the sets of experts, do they hold the right ones, and was the promise kept?"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, check_shape, true_or_false
from defero.core.errors import InputError
from defero.core.registry import TARGETS
from defero.core.results import ExpertSets
from defero.core.trial import Trial
from defero.core.wording import Plain
from defero.judge.intervals import Share, clopper_pearson_interval
from defero.judge.record.members import FEW, Verdict


def set_size(mask: ArrayLike | ExpertSets) -> float:
    """Return the mean number of experts in a set; nan for no items.

    >>> set_size([[True, False], [True, True]])
    1.5
    """
    inside = _cells("mask", mask)
    return float(inside.sum(axis=1).mean()) if len(inside) else math.nan


def set_coverage(
    mask: ArrayLike | ExpertSets,
    correct: ArrayLike,
    observed: ArrayLike | None = None,
    *,
    target: str = "any-correct",
) -> float:
    """Return how often the set holds one right expert, or every one, among items with a right observed expert.

    Parameters
    ----------
    mask : (n, J) bool, or ExpertSets
    correct : (n, J) bool
        Was expert j right on item i?
    observed : (n, J) bool, optional
        Did expert j answer item i? By default everybody did.
    target : "any-correct", "all-correct", or a registered target that promises at least so much

    Returns
    -------
    float
        In [0, 1]; nan where no item has a right observed expert.

    Examples
    --------
    >>> set_coverage([[True, False], [True, False]], [[True, True], [False, True]])
    0.5
    >>> set_coverage([[True, False], [True, False]], [[True, True], [False, True]], target="all-correct")
    0.0
    """
    if TARGETS.find(target).at_most:
        raise InputError(
            f"must be a promise of at least so much, got {target!r}; for shares use missed_share.", argument="target"
        )
    held = judge_sets(*_sets_and_right(mask, correct, observed), target=target)
    return float(np.mean(held)) if held.size else math.nan


def missed_share(mask: ArrayLike | ExpertSets, correct: ArrayLike, observed: ArrayLike | None = None) -> float:
    """Return the mean share of right observed experts outside the set; nan where no item has one.

    >>> missed_share([[True, False], [True, False]], [[True, True], [False, True]])
    0.75
    """
    missed = judge_sets(*_sets_and_right(mask, correct, observed), target="missed-share")
    return float(np.mean(missed)) if missed.size else math.nan


def judge_sets(inside: BoolArray, right: BoolArray, *, target: str) -> FloatArray:
    """Return what each set achieves, (m,): 1 or 0, or for "missed-share" the share that it misses.

    Parameters
    ----------
    inside : (n, J) bool
        Who is in the set?
    right : (n, J) bool
        Who is right, of those who count? The m items where nobody is are left out.
    target : str
        A name in `TARGETS`.

    Examples
    --------
    >>> inside, right = np.array([[True, False], [True, False]]), np.array([[True, True], [False, False]])
    >>> [judge_sets(inside, right, target=target).tolist() for target in ("any-correct", "missed-share")]
    [[1.0], [0.5]]
    """
    counts = right.any(axis=1)
    return TARGETS.find(target).judge(inside[counts], right[counts])


def _sets_and_right(
    mask: ArrayLike | ExpertSets, correct: ArrayLike, observed: ArrayLike | None
) -> tuple[BoolArray, BoolArray]:
    """Return the sets and the right observed experts, (n, J) each."""
    inside = _cells("mask", mask)
    right = _cells("correct", correct, like=inside)
    if observed is not None:
        right = right & _cells("observed", observed, like=inside)
    return inside, right


def _cells(name: str, value: ArrayLike | ExpertSets, *, like: BoolArray | None = None) -> BoolArray:
    array = np.asarray(value.mask if isinstance(value, ExpertSets) else value)
    check_shape(name, array, ("n", "J"), like=", one column per expert")
    return true_or_false(name, array, shape=None if like is None else like.shape)


@dataclass(frozen=True)
class PanelRecord(Plain):
    """The panels of the deferred cases.

    Attributes
    ----------
    promise : str
        In words.
    target, alpha : str, float
    asked_for : float
        The level promised: 1 - alpha kept, or for "missed-share" at most alpha missed.
    kept : float
        The level seen, on deferred cases that some recorded expert got right.
    low, high : float
        Its 95 % interval, which judges the promise: wider where the panels were calibrated on few cases.
    cases : int
        How many such cases there were.
    deferred : int
    raw_size, filled_size : float
        Experts per panel, before and after empty panels got the top expert.
    raw_size_half, filled_size_half : float
        Half the width of their 95 % intervals.
    team_with_panels : Share
        The whole team's, with panels voting on what is deferred.
    kept_promise : "less", "as promised", "too few" or None
        What became of the promise; None where no case counts. Keeping more is as promised.
    """

    promise: str
    target: str
    alpha: float
    asked_for: float
    kept: float
    low: float
    high: float
    cases: int
    deferred: int
    raw_size: float
    filled_size: float
    raw_size_half: float
    filled_size_half: float
    team_with_panels: Share
    kept_promise: Verdict | None

    @property
    def bound(self) -> str:
        """Whether so much is promised "at least" or "at most"."""
        return TARGETS.find(self.target).bound


def panel_record(trial: Trial, *, calibrated_on: int | None = None) -> PanelRecord:
    """Judge the panels of a trial on its deferred cases.

    Parameters
    ----------
    trial : Trial
        With a panel.
    calibrated_on : int, optional
        How many cases the promise was calibrated on. It holds on average over such cases, so that few of them make
        a valid panel miss it here. By default as many as here.
    """
    if trial.panel is None:
        raise InputError("the trial has no panel; call conformalize before judging panels.")
    panel, deferred = trial.panel, trial.panel.deferred
    sets, target, alpha = panel.sets, panel.target, panel.alpha
    right = trial.expert_correct & panel.eligible
    achieved = judge_sets(sets.raw_mask[deferred], right[deferred], target=target)
    low, high = _interval(achieved, calibrated_on or len(achieved))
    asked_for = TARGETS.find(target).level(alpha)
    raw_size, raw_half = _mean_and_half_width(sets.raw_mask[deferred].sum(axis=1))
    filled_size, filled_half = _mean_and_half_width(sets.mask[deferred].sum(axis=1))
    return PanelRecord(
        promise=panel.promise,
        target=target,
        alpha=alpha,
        asked_for=asked_for,
        kept=float(achieved.mean()) if achieved.size else math.nan,
        low=low,
        high=high,
        cases=len(achieved),
        deferred=int(deferred.sum()),
        raw_size=raw_size,
        filled_size=filled_size,
        raw_size_half=raw_half,
        filled_size_half=filled_half,
        team_with_panels=Share(int(np.sum(panel.team_label_idx == trial.label_idx)), len(trial)),
        kept_promise=_verdict(len(achieved), low > asked_for if TARGETS.find(target).at_most else high < asked_for),
    )


def _interval(achieved: FloatArray, calibrated_on: int) -> tuple[float, float]:
    """Return the 95 % interval of a mean level that was promised on average over calibration samples of this size.

    Shares in [0, 1] vary at most as much as hits and misses of the same mean: the interval errs on the safe side.
    """
    if achieved.size == 0:
        return math.nan, math.nan
    # Both samples vary: together they tell as much as so many cases would about a promise that is exact.
    size = 1 / (1 / len(achieved) + 1 / calibrated_on)
    return clopper_pearson_interval(size * float(achieved.mean()), size)


def _verdict(n_cases: int, broken: bool) -> Verdict | None:
    """Return what became of a promise of at least, or at most, so much on average."""
    if n_cases == 0:
        return None
    if broken:
        return "less"
    return "too few" if n_cases < FEW else "as promised"


def _mean_and_half_width(values: IntArray) -> tuple[float, float]:
    if len(values) < 2:
        return (float(values[0]) if len(values) else math.nan), math.nan
    return float(values.mean()), 1.96 * float(values.std(ddof=1)) / math.sqrt(len(values))
