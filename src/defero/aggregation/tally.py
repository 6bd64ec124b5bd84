"""What the votes share: the strongest voice for a class, and the model where nobody is heard."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.checks.experts import class_probabilities
from defero.core.errors import InputError


def strongest(answers: IntArray, heard: BoolArray, values: FloatArray, *, n_classes: int) -> FloatArray:
    """Return the largest value among those who answered each class, (n, K); 0 where nobody did.

    >>> strongest(np.array([[1, 1]]), np.array([[True, True]]), np.array([[0.5, 0.75]]), n_classes=2).tolist()
    [[0.0, 0.75]]
    """
    best = np.zeros((len(answers), n_classes))
    for j in range(answers.shape[1]):
        rows = np.flatnonzero(heard[:, j])
        cells = (rows, answers[rows, j])
        best[cells] = np.maximum(best[cells], values[rows, j])
    return best


def optional_model(value: ArrayLike | None, *, heard: BoolArray, n_classes: int) -> FloatArray | None:
    """Return the model's probabilities where given; without them somebody must be heard on each item."""
    if value is not None:
        model = class_probabilities(value)
        if model.shape != (len(heard), n_classes):
            raise InputError(f"must have shape ({len(heard)}, {n_classes}), got {model.shape}.", argument="class_proba")
        return model
    silent = np.flatnonzero(~heard.any(axis=1))
    if silent.size:
        raise InputError(
            f": nobody is heard on item {silent[0]} (no expert in the mask has answered it); "
            "pass class_proba, so that the model answers, or leave the item out.",
            argument="mask",
        )
    return None
