"""How large are the sets of experts, and do they hold the right ones?"""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray, FloatArray
from defero.core.errors import InputError
from defero.core.results import ExpertSets
from defero.metrics.arguments import zero_or_one


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
    target: Literal["any-correct", "all-correct"] = "any-correct",
) -> float:
    """Return how often the set holds one right expert, or every one, among items with a right observed expert.

    Parameters
    ----------
    mask : (n, J) bool, or ExpertSets
    correct : (n, J) bool
        Was expert j right on item i?
    observed : (n, J) bool, optional
        Did expert j answer item i? Everybody did, where nothing is said.
    target : "any-correct" or "all-correct"

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
    if target not in ("any-correct", "all-correct"):
        raise InputError(f"target must be 'any-correct' or 'all-correct', got {target!r}; for shares use missed_share.")
    kept = kept_by_sets(*_sets_and_right(mask, correct, observed), target=target)
    return float(np.mean(kept)) if kept.size else math.nan


def missed_share(mask: ArrayLike | ExpertSets, correct: ArrayLike, observed: ArrayLike | None = None) -> float:
    """Return the mean share of right observed experts outside the set; nan where no item has one.

    >>> missed_share([[True, False], [True, False]], [[True, True], [False, True]])
    0.75
    """
    missed = kept_by_sets(*_sets_and_right(mask, correct, observed), target="missed-share")
    return float(np.mean(missed)) if missed.size else math.nan


def kept_by_sets(inside: BoolArray, right: BoolArray, *, target: str) -> FloatArray:
    """Return what each set keeps of its promise, (m,): 1 or 0, or for "missed-share" the share that it misses.

    Parameters
    ----------
    inside : (n, J) bool
        Who is in the set?
    right : (n, J) bool
        Who is right, of those who count? The m items where nobody is are left out.
    target : "any-correct", "all-correct" or "missed-share"

    Examples
    --------
    >>> inside, right = np.array([[True, False], [True, False]]), np.array([[True, True], [False, False]])
    >>> [kept_by_sets(inside, right, target=target).tolist() for target in ("any-correct", "missed-share")]
    [[1.0], [0.5]]
    """
    total = right.sum(axis=1)
    hit, total = (inside & right).sum(axis=1)[total > 0], total[total > 0]
    if target == "missed-share":
        return 1 - hit / total
    return (hit > 0 if target == "any-correct" else hit == total).astype(np.float64)


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
        raise InputError(f"{name} must have two axes (n, J), one column per expert, got shape {array.shape}.")
    if like is not None and array.shape != like.shape:
        raise InputError(f"{name} must have the shape {like.shape} of mask, got {array.shape}.")
    return zero_or_one(name, array)
