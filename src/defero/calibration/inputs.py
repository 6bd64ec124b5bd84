"""What calibration accepts: each check returns a clean array or raises a sentence that names the argument."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import FloatArray, IntArray
from defero.core.errors import InputError


def label_numbers(value: ArrayLike, *, n_items: int, n_classes: int) -> IntArray:
    """Return the truth as class numbers, (n,).

    >>> label_numbers([1, 0], n_items=2, n_classes=2).tolist()
    [1, 0]
    """
    array = np.asarray(value)
    if array.shape != (n_items,):
        raise InputError(f"label_idx must have shape ({n_items},), one class number per item, got {array.shape}.")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"label_idx must be class numbers, got dtype {array.dtype}; use ExpertTable.label_idx.")
    outside = np.flatnonzero((array < 0) | (array >= n_classes))
    if outside.size:
        raise InputError(
            f"label_idx must be class numbers 0..{n_classes - 1}, got {array[outside[0]]} for item {outside[0]}."
        )
    return array.astype(np.int64)


def row_weights(value: ArrayLike | None, *, n_items: int) -> FloatArray:
    """Return how much each item counts, (n,); all alike where nothing is said.

    >>> row_weights(None, n_items=2).tolist()
    [1.0, 1.0]
    """
    if value is None:
        return np.ones(n_items)
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (n_items,):
        raise InputError(f"weight must have shape ({n_items},), one number per item, got {array.shape}.")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InputError("weight must be finite and not negative; pass 0 for an item that does not count.")
    return array
