"""How large are the sets of experts, and do they hold the right ones?"""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray
from defero.core.errors import InputError
from defero.core.results import ExpertSets
from defero.metrics.arguments import flags


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
    inside, right = _sets_and_right(mask, correct, observed)
    kept = (inside & right).any(axis=1) if target == "any-correct" else (inside | ~right).all(axis=1)
    return float(np.mean(kept)) if len(right) else math.nan


def missed_share(mask: ArrayLike | ExpertSets, correct: ArrayLike, observed: ArrayLike | None = None) -> float:
    """Return the mean share of right observed experts outside the set; nan where no item has one.

    >>> missed_share([[True, False], [True, False]], [[True, True], [False, True]])
    0.75
    """
    inside, right = _sets_and_right(mask, correct, observed)
    shares = (right & ~inside).sum(axis=1) / right.sum(axis=1)
    return float(shares.mean()) if len(right) else math.nan


def _sets_and_right(
    mask: ArrayLike | ExpertSets, correct: ArrayLike, observed: ArrayLike | None
) -> tuple[BoolArray, BoolArray]:
    """Return the sets and the right observed experts, (m, J) each, for the items that have one."""
    inside = _cells("mask", mask)
    right = _cells("correct", correct, like=inside)
    if observed is not None:
        right = right & _cells("observed", observed, like=inside)
    has_right = right.any(axis=1)
    return inside[has_right], right[has_right]


def _cells(name: str, value: ArrayLike | ExpertSets, *, like: BoolArray | None = None) -> BoolArray:
    array = np.asarray(value.mask if isinstance(value, ExpertSets) else value)
    if array.ndim != 2:
        raise InputError(f"{name} must have two axes (n, J), one column per expert, got shape {array.shape}.")
    if like is not None and array.shape != like.shape:
        raise InputError(f"{name} must have the shape {like.shape} of mask, got {array.shape}.")
    return flags(name, array.ravel()).reshape(array.shape)
