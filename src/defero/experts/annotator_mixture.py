"""The half-attentive annotator: a recorded human label, or a guess."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import IntArray
from defero.experts.arguments import check_generator, class_numbers, probability, whole_number


def annotator_mixture(human: ArrayLike, *, p_human: float, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Give the human annotator's label with probability `p_human`, else guess over all K classes.

    | situation        | answer                  | probability                 |
    | ---------------- | ----------------------- | --------------------------- |
    | the human says h | h                       | p_human + (1 - p_human) / K |
    |                  | each of the other K - 1 | (1 - p_human) / K           |

    The guess may hit the human's label, so the two agree more often than `p_human`.

    Parameters
    ----------
    human : (n,) int
        The class numbers 0..K-1 that a person gave.
    p_human : float
        P(no guess is made).
    n_classes : int
        K.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) int64
        The expert's answers.

    Examples
    --------
    >>> annotator_mixture(np.array([0, 1, 1]), p_human=1.0, n_classes=2, rng=np.random.default_rng(0)).tolist()
    [0, 1, 1]
    """
    check_generator(rng)
    n_classes = whole_number("n_classes", n_classes, least=1)
    human_idx = class_numbers("human", human, n_classes=n_classes)
    attends = rng.random(len(human_idx)) < probability("p_human", p_human)
    guess = rng.integers(n_classes, size=len(human_idx))
    return np.where(attends, human_idx, guess)
