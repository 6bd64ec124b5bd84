"""What the metrics accept: each check returns a clean array or raises a sentence that names the argument."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.labels import Labels
from defero.core.results import MODEL, Decision


def chosen_experts(expert: ArrayLike | Decision) -> IntArray:
    """Return who answers each item, (n,): -1 for the model, else the expert's index.

    >>> chosen_experts([0, -1]).tolist()
    [0, -1]
    """
    chosen = np.asarray(expert.expert if isinstance(expert, Decision) else expert)
    if chosen.ndim != 1:
        raise InputError(f"expert must have one axis (n,), one choice per item, got shape {chosen.shape}.")
    if chosen.size and chosen.dtype.kind not in "iu":
        raise InputError(f"expert must be expert numbers, -1 for the model, got dtype {chosen.dtype}.")
    if chosen.size and chosen.min() < MODEL:
        item = int(np.argmin(chosen))
        raise InputError(f"expert must be -1 (the model) or an expert's number, got {chosen[item]} for item {item}.")
    return chosen.astype(np.int64)


def flags(name: str, value: ArrayLike, *, n_items: int | None = None) -> BoolArray:
    """Return (n,) True or False; the numbers 0 and 1 are taken too.

    >>> flags("correct", [1, 0]).tolist()
    [True, False]
    """
    array = np.asarray(value)
    check_length(name, array, n_items=n_items)
    return zero_or_one(name, array)


def zero_or_one(name: str, array: Labels, *, seen: BoolArray | None = None) -> BoolArray:
    """Return True or False in the array's shape, (n,) or (n, J); where `seen` is False anything may stand.

    >>> zero_or_one("correct", np.array([[1, 7]]), seen=np.array([[True, False]])).tolist()
    [[True, False]]
    """
    if array.dtype == np.bool_:
        return np.asarray(array, dtype=np.bool_)
    strange = np.asarray((array != 0) & (array != 1), dtype=np.bool_)
    if seen is not None:
        strange &= seen
    if strange.any():
        raise InputError(f"{name} must be True or False (or 1 or 0) for each item, got other values {place(strange)}.")
    return np.asarray(array == 1, dtype=np.bool_)


def place(strange: BoolArray) -> str:
    """Say where the first strange cell is.

    >>> place(np.array([[False, True]]))
    'for item 0, expert 1'
    """
    cell = np.argwhere(strange)[0]
    return f"for item {cell[0]}" + (f", expert {cell[1]}" if len(cell) == 2 else "")


def numbers(name: str, value: ArrayLike, *, n_items: int | None = None) -> FloatArray:
    """Return (n,) floats without NaN; infinity passes.

    >>> numbers("gain", [1, 2]).tolist()
    [1.0, 2.0]
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, one per item: {error}.") from error
    check_length(name, array, n_items=n_items)
    if np.isnan(array).any():
        raise InputError(f"{name} must be a number for each item, got NaN for item {int(np.argmax(np.isnan(array)))}.")
    return array


def check_length(name: str, array: Labels, *, n_items: int | None = None) -> None:
    """Refuse an array that is not (n,)."""
    if array.ndim != 1:
        raise InputError(f"{name} must have one axis (n,), one value per item, got shape {array.shape}.")
    if n_items is not None and len(array) != n_items:
        raise InputError(f"{name} must have {n_items} items like the other arguments, got {len(array)}.")
