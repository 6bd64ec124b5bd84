"""What the pools accept: each check returns a clean value or raises an error that names the argument."""

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero import InputError
from defero_verma2023.arrays import BoolArray, IntArray


def whole_number(name: str, value: Any, *, least: int) -> int:
    """Return an int that is not below `least`.

    >>> whole_number("n_experts", np.int64(3), least=1)
    3
    """
    try:
        number = operator.index(value)
    except TypeError as error:
        raise InputError(f"must be a whole number, got {value!r}.", argument=name) from error
    if number < least:
        raise InputError(f"must be at least {least}, got {number}.", argument=name)
    return number


def probability(name: str, value: float) -> float:
    """Return a number in [0, 1].

    >>> probability("p_in", 0.7)
    0.7
    """
    if not 0 <= value <= 1:
        raise InputError(f"must be a probability in [0, 1], got {value}.", argument=name)
    return float(value)


def numbers_below(name: str, value: ArrayLike, *, end: int, what: str) -> IntArray:
    """Return (m,) numbers 0..end-1 of classes or experts.

    >>> numbers_below("oracles", [2, 0], end=3, what="expert")
    array([2, 0])
    """
    array = np.asarray(value)
    if array.ndim != 1:
        raise InputError(f"must have one axis of {what} numbers, got shape {array.shape}.", argument=name)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"must be {what} numbers 0..{end - 1}, got {array.dtype}; pass whole numbers.", argument=name)
    outside = np.flatnonzero((array < 0) | (array >= end))
    if outside.size:
        raise InputError(f"must lie in 0..{end - 1}, got {array[outside[0]]}.", argument=name)
    return array.astype(np.int64)


def class_mask(classes: Iterable[int], *, n_classes: int) -> BoolArray:
    """Return (K,): is class k one of `classes`?

    >>> class_mask([2, 0], n_classes=3).tolist()
    [True, False, True]
    """
    mask = np.zeros(n_classes, dtype=np.bool_)
    mask[numbers_below("classes", list(classes), end=n_classes, what="class")] = True
    return mask


def check_generator(rng: np.random.Generator) -> None:
    """Refuse a seed where a generator is needed: a seed would repeat the same draws for every expert."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            f"must be a numpy.random.Generator, got {type(rng).__name__}; pass np.random.default_rng(seed).",
            argument="rng",
        )
