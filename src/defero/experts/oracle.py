"""The oracle: never wrong on its own classes, a guess elsewhere."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import IntArray
from defero.experts.arguments import check_generator, class_mask, class_numbers, whole_number


def oracle(labels: ArrayLike, *, classes: Iterable[int], n_classes: int, rng: np.random.Generator) -> IntArray:
    """Answer right on `classes` and uniformly over all K classes elsewhere.

    | situation        | answer              | probability |
    | ---------------- | ------------------- | ----------- |
    | y in classes     | y                   | 1           |
    | y not in classes | each of the K ones  | 1 / K       |

    So P(right) is 1 inside and 1 / K outside.

    Parameters
    ----------
    labels : (n,) int
        The true class numbers 0..K-1.
    classes : class numbers
        What the expert knows; may be empty or all of them.
    n_classes : int
        K.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) int64
        The expert's answers.

    Examples
    --------
    >>> labels = np.array([0, 0, 1, 1, 2, 2])
    >>> answers = oracle(labels, classes=[0, 1], n_classes=3, rng=np.random.default_rng(0))
    >>> answers[:4].tolist()
    [0, 0, 1, 1]
    """
    check_generator(rng)
    n_classes = whole_number("n_classes", n_classes, least=1)
    label_idx = class_numbers("labels", labels, n_classes=n_classes)
    knows = class_mask(classes, n_classes=n_classes)
    guess = rng.integers(n_classes, size=len(label_idx))
    return np.where(knows[label_idx], label_idx, guess)
