"""A pool: several laws, each with its own stream of randomness, side by side."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import IntArray, check_generator
from defero.core.errors import InputError


class Law(Protocol):
    """Labels (n,) in, answers (n,) out: one of this package's laws with its options bound."""

    def __call__(self, labels: IntArray, /, *, rng: np.random.Generator) -> IntArray:
        """Draw the answers."""
        ...


def simulate_pool(labels: ArrayLike, laws: Sequence[Law], *, rng: np.random.Generator) -> IntArray:
    """Draw every expert's answers, one column per law.

    Each law gets a child generator (`rng.spawn`), so that experts are independent given the labels, and an
    expert added at the end leaves the answers of those before it as they were. Called again with the same
    `rng`, it draws afresh.

    Parameters
    ----------
    labels : (n,) int
        The true class numbers; each law checks them.
    laws : J callables `law(labels, rng=...) -> (n,)`
        Bind a law's options with `functools.partial`. A law over a person's labels ignores the truth:
        `lambda labels, rng: specialist(human, classes=[], p_in=1, p_out=0.9, n_classes=2, rng=rng)`.
    rng : numpy.random.Generator

    Returns
    -------
    (n, J) int64
        The answers; no column where there is no law.

    Examples
    --------
    >>> from functools import partial
    >>> from defero.simulate import specialist
    >>> knows_0 = partial(specialist, classes=[0], p_in=1, p_out=0, n_classes=2)
    >>> knows_both = partial(specialist, classes=[0, 1], p_in=1, p_out=0, n_classes=2)
    >>> simulate_pool(np.array([0, 1]), [knows_both, knows_0], rng=np.random.default_rng(3)).tolist()
    [[0, 0], [1, 0]]
    """
    check_generator(rng)
    label_idx = np.asarray(labels)
    if label_idx.ndim != 1:
        raise InputError(
            f"must have one axis (n,), one class number per item, got shape {label_idx.shape}.", argument="labels"
        )
    pool = np.empty((len(label_idx), len(laws)), dtype=np.int64)
    for j, (law, child) in enumerate(zip(laws, rng.spawn(len(laws)), strict=True)):
        answers = np.asarray(law(label_idx, rng=child))
        if answers.shape != label_idx.shape or answers.dtype.kind not in "iu":
            raise InputError(
                f"must return {len(label_idx)} class numbers, one per label, "
                f"got shape {answers.shape} of {answers.dtype}.",
                argument=f"laws[{j}]",
            )
        pool[:, j] = answers
    return pool
