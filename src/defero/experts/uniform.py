"""The guesser: an expert who does not look at the item."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import IntArray
from defero.experts.arguments import check_generator, class_numbers, whole_number


def uniform_guess(labels: ArrayLike, *, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Answer uniformly over all K classes, whatever the label.

    | situation | answer             | probability |
    | --------- | ------------------ | ----------- |
    | any y     | each of the K ones | 1 / K       |

    Parameters
    ----------
    labels : (n,) int
        The true class numbers 0..K-1; they say only how many answers are wanted.
    n_classes : int
        K.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) int64
        The expert's answers.

    Examples
    --------
    >>> answers = uniform_guess(np.zeros(1000, dtype=int), n_classes=4, rng=np.random.default_rng(0))
    >>> sorted(set(answers.tolist()))
    [0, 1, 2, 3]
    """
    check_generator(rng)
    n_classes = whole_number("n_classes", n_classes, least=1)
    label_idx = class_numbers("labels", labels, n_classes=n_classes)
    return rng.integers(n_classes, size=len(label_idx))
