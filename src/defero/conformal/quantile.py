"""The rank behind every promise: under which value does a fresh score stay, with probability 1 - alpha?"""

import math

import numpy as np
from numpy.typing import ArrayLike

from defero.core.errors import InputError
from defero.core.option_checks import share

SLACK = 1e-9
"""How far a rank or a sum may pass its border by rounding alone: 100 * (1 - 0.95) is 5.000000000000004."""


def conformal_quantile(scores: ArrayLike, *, alpha: float) -> float:
    """Return a threshold that a fresh exchangeable score stays under with probability at least 1 - alpha.

    It is the ceil((n + 1)(1 - alpha))-th smallest of the n scores; the n + 1 counts the fresh one, whose rank
    among all is uniform. Scores without ties stay under it with probability at most 1 - alpha + 1 / (n + 1).

    Parameters
    ----------
    scores : (n,)
        Without NaN.
    alpha : float
        In (0, 1).

    Returns
    -------
    float
        +inf, which excludes nothing, when n < 1 / alpha - 1.

    Examples
    --------
    >>> conformal_quantile(np.arange(9.0), alpha=0.1)
    8.0
    >>> conformal_quantile(np.arange(8.0), alpha=0.1)
    inf
    """
    check_alpha(alpha)
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"scores must have one axis (n,), one score per item, got shape {array.shape}.")
    if np.isnan(array).any():
        raise InputError(f"scores must be numbers, got NaN for item {int(np.argmax(np.isnan(array)))}.")
    rank = max(1, math.ceil((len(array) + 1) * (1 - alpha) - SLACK))
    return float(np.partition(array, rank - 1)[rank - 1]) if rank <= len(array) else math.inf


def check_alpha(alpha: float) -> float:
    """Return alpha, or say what it must be."""
    return share("alpha", alpha, example="for 90% coverage pass 0.1")


def rows_needed(alpha: float) -> int:
    """Return the fewest calibration rows with which a set may leave anybody out: ceil(1 / alpha) - 1.

    >>> rows_needed(0.1), rows_needed(0.05), rows_needed(0.3)
    (9, 19, 3)
    """
    return math.ceil((1 - SLACK) / alpha) - 1
