"""How large are the sets of experts, and do they hold the right ones?"""

import math

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, true_or_false
from defero.core.errors import InputError
from defero.core.results import ExpertSets
from defero.core.targets import TARGETS


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
    if array.ndim != 2:
        raise InputError(f"must have two axes (n, J), one column per expert, got shape {array.shape}.", argument=name)
    if like is not None and array.shape != like.shape:
        raise InputError(f"must have the shape {like.shape} of mask, got {array.shape}.", argument=name)
    return true_or_false(name, array)
