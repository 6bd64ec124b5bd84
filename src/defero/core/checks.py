"""Checks of arguments: each returns a clean value or raises an error that names the argument."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.errors import InputError
from defero.core.wording import did_you_mean, join_names

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Array = TypeVar("Array", bound=NDArray[Any])


def frozen(array: Array) -> Array:
    """Return a read-only copy, so that a value cannot change after it was checked. Read-only already: no copy."""
    view = array.copy() if array.flags.writeable else array.view()
    view.flags.writeable = False
    return view


def float_matrix(name: str, value: ArrayLike) -> FloatArray:
    """Return a two-dimensional float array without NaN or infinity."""
    try:
        matrix = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers of shape (n, columns), got something else: {error}.") from error
    if matrix.ndim != 2:
        raise InputError(f"{name} must have two axes (n, columns), got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise InputError(
            f"{name} must be finite, got {matrix[row, column]} at row {row}, column {column}; "
            "fill or drop such cells first."
        )
    return matrix


def probabilities(name: str, value: ArrayLike) -> FloatArray:
    """Return a two-dimensional array of numbers in [0, 1]."""
    matrix = float_matrix(name, value)
    if matrix.size and (matrix.min() < 0 or matrix.max() > 1):
        row, column = np.argwhere((matrix < 0) | (matrix > 1))[0]
        raise InputError(
            f"{name} must lie in [0, 1], got {matrix[row, column]:g} at row {row}, column {column}; "
            "pass probabilities, not logits."
        )
    return matrix


def expert_rows(name: str, value: ArrayLike, *, n_items: int, n_experts: int) -> NDArray[np.generic]:
    """Spread a value given per expert (J,) or per item and expert (n, J) to (n, J)."""
    array = np.asarray(value)
    if array.shape not in {(n_experts,), (n_items, n_experts)}:
        raise InputError(
            f"{name} must have shape ({n_experts},) or ({n_items}, {n_experts}), one column per expert, "
            f"got {array.shape}."
        )
    return np.broadcast_to(array, (n_items, n_experts))


def availability(value: ArrayLike | None, *, n_items: int, n_experts: int) -> BoolArray:
    """Return who can be asked, (n, J); everybody where nothing is said."""
    if value is None:
        return np.ones((n_items, n_experts), dtype=np.bool_)
    spread = expert_rows("available", value, n_items=n_items, n_experts=n_experts)
    if spread.dtype != np.bool_:
        raise InputError(f"available must be True or False for each expert, got dtype {spread.dtype}.")
    return spread.astype(np.bool_)


def fee_matrix(value: ArrayLike | None, *, n_items: int, n_experts: int) -> FloatArray:
    """Return what asking costs, (n, J), in units of one error; nothing where nothing is said."""
    if value is None:
        return np.zeros((n_items, n_experts))
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"fees must be numbers in units of one error: {error}.") from error
    spread = expert_rows("fees", numbers, n_items=n_items, n_experts=n_experts)
    if not np.isfinite(numbers).all():
        raise InputError("fees must be finite; to rule an expert out pass available=False for them instead.")
    return spread.astype(np.float64)


def names(name: str, value: object, *, count: int) -> tuple[str, ...]:
    """Return distinct, non-empty names; `expert_0`, `expert_1`, ... where none are given."""
    if value is None:
        return tuple(f"expert_{j}" for j in range(count))
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"{name} must be a list of {count} names, got {value!r}.")
    found = tuple(str(one) for one in value)
    if len(found) != count:
        raise InputError(f"{name} must be {count} names, one per column, got {len(found)}.")
    if len(set(found)) < len(found):
        twice = sorted(one for one, count in Counter(found).items() if count > 1)
        raise InputError(f"{name} must be distinct, got {', '.join(twice)} more than once; rename one of them.")
    if "model" in found:
        raise InputError(f"{name} must not contain 'model': that word names the model in every decision.")
    if "" in found:
        raise InputError(f"{name} must not be empty, got an empty name in column {found.index('')}.")
    return found


def true_or_false(
    name: str, value: ArrayLike, *, shape: tuple[int, ...] | None = None, seen: BoolArray | None = None
) -> BoolArray:
    """Return True or False in each cell; the numbers 0 and 1 are taken too, and anything where `seen` is False.

    >>> true_or_false("observed", [[1, 0]], shape=(1, 2)).tolist()
    [[True, False]]
    >>> true_or_false("correct", [[1, 7]], seen=np.array([[True, False]])).tolist()
    [[True, False]]
    """
    array = np.asarray(value)
    if shape is not None and array.shape != shape:
        raise InputError(f"must have the shape {shape} of the other arguments, got {array.shape}.", argument=name)
    if array.dtype == np.bool_:
        return np.asarray(array, dtype=np.bool_)
    strange = np.asarray((array != 0) & (array != 1), dtype=np.bool_)
    if seen is not None:
        strange &= seen
    if strange.any():
        raise InputError(f"must be True or False (or 1 or 0) in each cell, got {place(array, strange)}.", argument=name)
    return np.asarray(array == 1, dtype=np.bool_)


def flags(name: str, value: ArrayLike, *, n_items: int | None = None) -> BoolArray:
    """Return (n,) True or False; the numbers 0 and 1 are taken too.

    >>> flags("correct", [1, 0]).tolist()
    [True, False]
    """
    array = np.asarray(value)
    check_length(name, array, n_items=n_items)
    return true_or_false(name, array)


def place(array: NDArray[Any], strange: BoolArray) -> str:
    """Write the first strange value of (n,) or (n, J), and where it is.

    >>> place(np.array([[1, 7]]), np.array([[False, True]]))
    '7 for item 0, expert 1'
    """
    cell = tuple(np.argwhere(strange)[0])
    value = array[cell]
    shown = f"{value:g}" if isinstance(value, np.floating) else str(value)
    return f"{shown} for item {cell[0]}" + (f", expert {cell[1]}" if len(cell) == 2 else "")


def numbers(name: str, value: ArrayLike, *, n_items: int | None = None) -> FloatArray:
    """Return (n,) floats without NaN; infinity passes.

    >>> numbers("gain", [1, 2]).tolist()
    [1.0, 2.0]
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers, one per item: {error}.", argument=name) from error
    check_length(name, array, n_items=n_items)
    if np.isnan(array).any():
        item = int(np.argmax(np.isnan(array)))
        raise InputError(f"must be a number for each item, got NaN for item {item}.", argument=name)
    return array


def item_weights(name: str, value: ArrayLike | None, *, n_items: int) -> FloatArray:
    """Return how much each item counts, (n,); 1 where nothing is said.

    >>> item_weights("weight", None, n_items=2).tolist()
    [1.0, 1.0]
    """
    if value is None:
        return np.ones(n_items)
    array = numbers(name, value, n_items=n_items)
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InputError("must be finite and not negative; pass 0 for an item that does not count.", argument=name)
    return array


def index_numbers(name: str, value: ArrayLike, *, below: int | None = None, n_items: int | None = None) -> IntArray:
    """Return (n,) whole numbers from 0, such as class numbers or expert numbers; less than `below` where it is given.

    >>> index_numbers("label_idx", [1, 0], below=2).tolist()
    [1, 0]
    """
    array = np.asarray(value)
    check_length(name, array, n_items=n_items)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"must be whole numbers, got dtype {array.dtype}; encode other values first, for example with "
            "np.unique(..., return_inverse=True) or as ExpertTable.label_idx.",
            argument=name,
        )
    outside = np.flatnonzero((array < 0) | (array >= below) if below is not None else array < 0)
    if outside.size:
        allowed = "be 0 or more" if below is None else f"lie in 0..{below - 1}"
        raise InputError(f"must {allowed}, got {array[outside[0]]} for item {outside[0]}.", argument=name)
    return array.astype(np.int64)


def check_length(name: str, array: NDArray[Any], *, n_items: int | None = None) -> None:
    """Refuse an array that is not (n,)."""
    if array.ndim != 1:
        raise InputError(f"must have one axis (n,), one value per item, got shape {array.shape}.", argument=name)
    if n_items is not None and len(array) != n_items:
        raise InputError(f"must have {n_items} items like the other arguments, got {len(array)}.", argument=name)


def by_name(name: str, value: object, experts: tuple[str, ...], *, default: float | bool) -> Any:
    """Return a mapping from experts' names as a list in their order; anything else as it is.

    >>> by_name("fees", {"bob": 0.1}, ("ann", "bob"), default=0.0)
    [0.0, 0.1]
    """
    if not isinstance(value, Mapping):
        return value
    strangers = [str(who) for who in value if who not in experts]
    if strangers:
        hint = did_you_mean(strangers[0], experts)
        raise InputError(f": no expert {join_names(strangers)}{hint} There are {join_names(experts)}.", argument=name)
    return [value.get(who, default) for who in experts]
