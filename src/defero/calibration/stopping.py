"""The stopping rule: whether asking paid on held-out cases; if it lost, nobody is asked."""

from typing import NamedTuple

import numpy as np

from defero.core.checks.arrays import FloatArray

HARM = 1.0
"""Asking stops where it lost more than so many standard errors against the model on held-out cases."""
FEWEST_TO_STOP = 100
"""With fewer cases asking never stops: too few to tell."""


class Gain(NamedTuple):
    """What asking gained on held-out cases: the mean, its standard error, and how many cases that rests on."""

    mean: float
    standard_error: float
    n_cases: float

    @property
    def asks(self) -> bool:
        """Whether asking goes on: it did not lose beyond chance, or there are too few cases to tell."""
        return self.n_cases < FEWEST_TO_STOP or self.mean >= -HARM * self.standard_error


def gain_of_asking(gain: FloatArray, weight: FloatArray | None = None) -> Gain:
    """Return what asking gained over the model by the gains of held-out cases, (n,), and their weights.

    Examples
    --------
    >>> gain_of_asking(np.tile([1.0, -1.0], 60)).asks, gain_of_asking(np.tile([0.0, -1.0], 60)).asks
    (True, False)
    >>> gain_of_asking(np.full(50, -1.0)).asks  # too few to tell
    True
    """
    if not len(gain):
        return Gain(np.nan, np.nan, 0.0)
    own = np.ones(len(gain)) if weight is None else weight
    n_cases = float(own.sum() ** 2 / (own**2).sum())
    mean = float(np.average(gain, weights=own))
    error = float(np.sqrt(np.average((gain - mean) ** 2, weights=own) / max(n_cases - 1, 1)))
    return Gain(mean, error, n_cases)
