"""Answers as triplets (item, expert, right), checked once."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray, FloatArray, IntArray, true_or_false
from defero.core.errors import InputError


def numbered(name: str, value: ArrayLike, *, below: int, length: int | None = None) -> IntArray:
    """Return whole numbers from 0 up to `below`, (m,)."""
    array = np.asarray(value)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name} must be whole numbers, one per answer, got shape {array.shape} of {array.dtype}.")
    if length is not None and len(array) != length:
        raise InputError(f"{name} must have {length} entries, one per answer, got {len(array)}.")
    if array.size and (array.min() < 0 or array.max() >= below):
        bad = int(np.flatnonzero((array < 0) | (array >= below))[0])
        raise InputError(f"{name} must lie in 0..{below - 1}, got {array[bad]} for answer {bad}.")
    return array.astype(np.int64)


def rightness(value: ArrayLike, *, length: int) -> BoolArray:
    """Return whether each answer was right, (m,)."""
    array = np.asarray(value)
    if array.shape != (length,):
        raise InputError(f"correct must have {length} entries, one per answer, got shape {array.shape}.")
    return true_or_false("correct", array, shape=(length,))


def counted(value: ArrayLike | None, *, length: int) -> FloatArray:
    """Return how much each answer counts, (m,): 1 where nothing is said."""
    if value is None:
        return np.ones(length)
    weight = np.asarray(value, dtype=np.float64)
    if weight.shape != (length,):
        raise InputError(f"weight must have {length} entries, one per answer, got shape {weight.shape}.")
    if not np.isfinite(weight).all() or weight.min(initial=0.0) < 0:
        raise InputError("weight must be finite and not negative for each answer.")
    return weight
