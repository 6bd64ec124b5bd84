"""The best increasing steps through a sequence: pool adjacent violators."""

import numpy as np

from defero.core.checks import FloatArray, IntArray


def increasing_steps(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the non-decreasing sequence with the smallest sum of weights * (sequence - values)^2, (n,).

    Wherever a block's mean lies above that of the next, both become one block with their common mean, until none
    does; any order of pooling ends in the same blocks.

    Parameters
    ----------
    values : (n,)
        In the order of whatever they should increase with; equal places are to be pooled before.
    weights : (n,)
        Positive.

    Examples
    --------
    >>> increasing_steps(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    starts = np.arange(len(values))
    total, weight = values * weights, weights.astype(np.float64)
    while len(starts) > 1:  # whole arrays at a time while that helps: it pools nearly everything in a few passes
        mean = total / weight
        # Equal neighbours are pooled too: that changes no value, and rights and wrongs come in long equal runs.
        first = np.flatnonzero(np.concatenate([[True], mean[1:] > mean[:-1]]))
        pooled = len(starts) - len(first)
        starts, total, weight = starts[first], np.add.reduceat(total, first), np.add.reduceat(weight, first)
        if pooled < len(starts) / 8:
            starts, total, weight = _one_by_one(starts, total, weight)
            break
    lengths = np.diff(np.concatenate([starts, [len(values)]]))
    return np.repeat(total / weight, lengths)


def _one_by_one(starts: IntArray, total: FloatArray, weight: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Pool the last two of a stack of blocks while their means fall: linear, whatever the order."""
    first: list[int] = []
    sums: list[float] = []
    masses: list[float] = []
    for start, a_sum, mass in zip(starts.tolist(), total.tolist(), weight.tolist(), strict=True):
        while sums and sums[-1] / masses[-1] > a_sum / mass:
            start, a_sum, mass = first.pop(), a_sum + sums.pop(), mass + masses.pop()
        first.append(start)
        sums.append(a_sum)
        masses.append(mass)
    return np.array(first), np.array(sums), np.array(masses)
