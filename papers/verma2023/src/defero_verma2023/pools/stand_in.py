"""A stand-in for a person's label, where no votes of people can be had."""

import numpy as np
from numpy.typing import ArrayLike

from defero.simulate import specialist
from defero_verma2023.arrays import IntArray
from defero_verma2023.pools.checks import probability

STAND_IN_ACCURACY = 0.765  # of the human label on the authors' galaxies


def stand_in_human(
    labels: ArrayLike, *, rng: np.random.Generator, accuracy: float = STAND_IN_ACCURACY, n_classes: int = 2
) -> IntArray:
    """Simulate a stand-in for a person's label: right with probability `accuracy`, on every item alike.

    It is no person's answer. It stands in where the votes are not to be had, as for the 2,000 galaxies; real
    people err on hard items, the stand-in anywhere. A result that rests on it must say so.

    Parameters
    ----------
    labels : (n,) int
        The true class numbers 0..K-1.
    rng : numpy.random.Generator
    accuracy : float
        P(right); a wrong answer is uniform over the K - 1 other classes.
    n_classes : int
        K, at least 2.

    Returns
    -------
    (n,) int64
        The stand-in's labels.

    Examples
    --------
    >>> stand_in_human([0, 1, 1], rng=np.random.default_rng(0), accuracy=1.0).tolist()
    [0, 1, 1]
    """
    right = probability("accuracy", accuracy)
    return specialist(labels, classes=range(n_classes), p_in=right, p_out=right, n_classes=n_classes, rng=rng)
