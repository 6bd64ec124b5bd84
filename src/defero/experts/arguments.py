"""What a law accepts: each check returns a clean value or raises a sentence that names the argument."""

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray, IntArray
from defero.core.errors import InputError


def whole_number(name: str, value: Any, *, least: int) -> int:
    """Return an int that is not below `least`.

    >>> whole_number("n_classes", np.int64(3), least=2)
    3
    """
    try:
        number = operator.index(value)
    except TypeError as error:
        raise InputError(f"{name} must be a whole number, got {value!r}.") from error
    if number < least:
        raise InputError(f"{name} must be at least {least}, got {number}.")
    return number


def probability(name: str, value: float) -> float:
    """Return a number in [0, 1].

    >>> probability("p_in", 0.7)
    0.7
    """
    if not 0 <= value <= 1:
        raise InputError(f"{name} must be a probability in [0, 1], got {value}.")
    return float(value)


def class_numbers(name: str, value: ArrayLike, *, n_classes: int) -> IntArray:
    """Return (n,) class numbers 0..K-1.

    >>> class_numbers("labels", [2, 0], n_classes=3).tolist()
    [2, 0]
    """
    array = np.asarray(value)
    if array.ndim != 1:
        raise InputError(f"{name} must have one axis (n,), one class number per item, got shape {array.shape}.")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"{name} must be class numbers 0..{n_classes - 1}, got dtype {array.dtype}; "
            "encode other labels first, for example with np.unique(..., return_inverse=True)."
        )
    outside = np.flatnonzero((array < 0) | (array >= n_classes))
    if outside.size:
        item = int(outside[0])
        raise InputError(f"{name} must lie in 0..{n_classes - 1}, got {array[item]} for item {item}.")
    return array.astype(np.int64)


def class_mask(classes: Iterable[int], *, n_classes: int) -> BoolArray:
    """Return (K,): is class k one of `classes`?

    >>> class_mask({0, 2}, n_classes=3).tolist()
    [True, False, True]
    """
    chosen = class_numbers("classes", list(classes), n_classes=n_classes)
    mask = np.zeros(n_classes, dtype=np.bool_)
    mask[chosen] = True
    return mask


def check_generator(rng: np.random.Generator) -> None:
    """Refuse a seed where a generator is needed: a seed would repeat the same draws for every expert."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            f"rng must be a numpy.random.Generator, got {type(rng).__name__}; pass np.random.default_rng(seed)."
        )
