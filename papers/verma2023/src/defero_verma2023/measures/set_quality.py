"""How large sets of experts are, and what they hold: the numbers that every procedure is judged by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from defero_verma2023.arrays import BoolArray


@dataclass(frozen=True)
class SetQuality:
    """Means over items, of sets as they are: an empty one counts as 0 experts.

    The last three are over the items that some expert gets right; nan where there are none.

    Attributes
    ----------
    size : float
        Experts in the set.
    empty : float
        Share of empty sets.
    missed_share : float
        Share of the right experts who are left out.
    all_correct : float
        How often every right expert is in the set.
    any_correct : float
        How often at least one right expert is in the set.
    """

    size: float
    empty: float
    missed_share: float
    all_correct: float
    any_correct: float


def set_quality(mask: BoolArray, expert_correct: BoolArray) -> SetQuality:
    """Judge the sets of n items, both (n, J).

    >>> set_quality(np.array([[True, False], [False, False]]), np.array([[True, True], [False, False]]))
    SetQuality(size=0.5, empty=0.5, missed_share=0.5, all_correct=0.0, any_correct=1.0)
    """
    some_right = expert_correct.any(axis=1)
    right = expert_correct[some_right].sum(axis=1)
    held = (mask & expert_correct)[some_right].sum(axis=1)
    sizes = mask.sum(axis=1)
    return SetQuality(
        size=_mean(sizes),
        empty=_mean(sizes == 0),
        missed_share=_mean(1 - held / right),
        all_correct=_mean(held == right),
        any_correct=_mean(held > 0),
    )


def mean_quality(qualities: Sequence[SetQuality]) -> SetQuality:
    """Return the mean over splits of each number, nan ones left out: a split without a deferred item has no sets."""
    columns = ([getattr(one, field.name) for one in qualities] for field in fields(SetQuality))
    return SetQuality(*(_mean(np.array([value for value in column if not math.isnan(value)])) for column in columns))


def no_quality() -> SetQuality:
    """Return what is known of sets that could not be made: nan for each number."""
    return SetQuality(*(math.nan for _ in fields(SetQuality)))


def _mean(values: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.bool_]) -> float:
    return float(np.mean(values)) if values.size else float("nan")
