"""Intervals of mean scores, where items of a group count as one draw."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray
from defero.metrics.statistics.intervals import wilson_interval

Z95 = 1.959964


def mean_interval(values: FloatArray, groups: ArrayLike) -> tuple[float, float, float]:
    """Return the mean of values (n,) with a 95 % interval, where those of a group belong together.

    The standard error is that of sums over groups, so that a group counts as one draw.

    >>> [round(one, 3) for one in mean_interval(np.array([0.0, 1.0, 0.0, 1.0]), [0, 1, 2, 3])]
    [0.5, -0.066, 1.066]
    >>> [round(one, 3) for one in mean_interval(np.array([0.0, 0.0, 1.0, 1.0]), [0, 0, 1, 1])]
    [0.5, -0.48, 1.48]
    """
    mean, error, _ = _clustered(values, groups)
    return mean, mean - Z95 * error, mean + Z95 * error


def score_interval(scores: FloatArray, groups: ArrayLike | None = None) -> tuple[float, float, float]:
    """Return the mean of scores (n,) in [0, 1] with a 95 % interval inside [0, 1]; NaN is left out.

    Scores of 0 and 1 get Wilson's interval, which has a width where all are equal; with groups it is that of as many
    single items as have the same standard error.

    >>> [round(one, 3) for one in score_interval(np.ones(14))]
    [1.0, 0.785, 1.0]
    """
    of_group = np.arange(len(scores)) if groups is None else np.asarray(groups)
    mean, error, n_groups = _clustered(scores, of_group)
    known = scores[np.isfinite(scores)]
    if not known.size:
        return (float("nan"),) * 3
    if np.isin(known, (0.0, 1.0)).all():
        variance = mean * (1 - mean)
        total = n_groups if not error > 0 else min(variance / error**2, len(known))
        if n_groups == len(known):
            total = len(known)
        return mean, *wilson_interval(mean * total, total)
    return mean, max(mean - Z95 * error, 0.0), min(mean + Z95 * error, 1.0)


def _clustered(values: FloatArray, groups: ArrayLike) -> tuple[float, float, int]:
    """Return the mean, its standard error and the number of groups; nan for less than two groups."""
    known = np.isfinite(values)
    mean = float(values[known].mean()) if known.any() else float("nan")
    _, group = np.unique(np.asarray(groups)[known], return_inverse=True)
    n_groups = int(group.max()) + 1 if len(group) else 0
    if n_groups < 2:
        return mean, float("nan"), n_groups
    sums = np.bincount(group, weights=values[known] - mean)
    return mean, float(np.sqrt((sums**2).sum() * n_groups / (n_groups - 1))) / len(group), n_groups
