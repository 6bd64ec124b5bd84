"""p values of several tests at once."""

import numpy as np

from defero.core.checks.arrays import FloatArray


def holm_adjusted(p_values: FloatArray) -> FloatArray:
    """Return p values adjusted for being several (Holm 1979), (m,), in the order given.

    With p_(1) <= ... <= p_(m) the adjusted ones are max over i <= k of min(1, (m - i + 1) p_(i)).

    >>> holm_adjusted(np.array([0.04, 0.01, 0.03])).round(3).tolist()
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(p_values), 0, -1) * p_values[order]))
    return adjusted
