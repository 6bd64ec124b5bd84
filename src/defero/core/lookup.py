"""Look up the class index of many values; what counts as missing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.errors import InputError

MISSING = -1
NO_CLASS = -2
CELLS_AT_ONCE = 1 << 18
Codes = NDArray[np.signedinteger[Any]]
Values = NDArray[np.generic]


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or pandas' NA or NaT.

    >>> [is_missing(v) for v in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if isinstance(value, float):
        return value != value
    return (
        value is None
        or (isinstance(value, np.floating) and bool(np.isnan(value)))
        or type(value).__name__ in {"NAType", "NaTType"}
    )


def code_type(n_classes: int) -> "np.dtype[Any]":
    """Return the smallest type for the numbers 0..K-1, -1 for missing and -2 for no class.

    >>> code_type(2), code_type(128), code_type(129)
    (dtype('int8'), dtype('int8'), dtype('int16'))
    """
    return np.min_scalar_type(-max(n_classes, 2))


def class_numbers(values: Values, classes: Values) -> Codes:
    """Return the class index of each value, -1 if it is missing, -2 if it is not a class.

    Parameters
    ----------
    values : array of any shape
    classes : (K,), sorted

    >>> class_numbers(np.array([7, 3, 5]), np.array([3, 7])).tolist()
    [1, 0, -2]
    >>> class_numbers(np.array(["b", None], dtype=object), np.array(["a", "b"], dtype=object)).tolist()
    [1, -1]
    """
    codes = np.empty(values.shape, code_type(len(classes)))
    numeric = values.dtype.kind in "iufb" and classes.dtype.kind in "iufb"
    numbers = _Numbers({value: k for k, value in enumerate(classes.tolist())})
    # In chunks: the copies that a lookup makes are many times as large as its result.
    rows = max(1, CELLS_AT_ONCE // max(1, values[:1].size))
    for start in range(0, len(values), rows):
        chunk = values[start : start + rows]
        codes[start : start + rows] = _sorted_places(chunk, classes) if numeric else numbers.of(chunk, codes.dtype)
    return codes


def column_numbers(column: Any, classes: Values) -> Codes:
    """Return the class indices of a column of a data frame, (n,)."""
    if isinstance(column.dtype, np.dtype):
        values = column.to_numpy()
        return minus_one_is_missing(class_numbers(values, classes), values)
    places, distinct = column.factorize()
    values = np.empty(len(distinct), dtype=object)
    values[:] = distinct.tolist()
    codes = class_numbers(values, classes)
    if column.dtype.kind in "iu":
        codes[(codes == NO_CLASS) & (values == -1)] = MISSING
    # A missing cell's place is -1, the last of these.
    return np.append(codes, np.array(MISSING, codes.dtype))[places]


def minus_one_is_missing(codes: Codes, values: Values) -> Codes:
    """Set -1 in integer arrays to missing unless it is a class. Writes into `codes`."""
    if values.dtype.kind in "iu":
        codes[(codes == NO_CLASS) & (values == -1)] = MISSING
    return codes


class _Numbers(dict[object, int]):
    """Class indices by value, with all kinds of missing values."""

    def __missing__(self, value: object) -> int:
        return MISSING if is_missing(value) else NO_CLASS

    def of(self, values: Values, dtype: "np.dtype[Any]") -> Codes:
        cells = values.ravel().tolist()
        try:
            codes = np.fromiter(map(self.__getitem__, cells), dtype, len(cells))
        except TypeError as error:
            raise InputError(
                f"labels and answers must be text or numbers, got a cell that is neither: {error}."
            ) from error
        return codes.reshape(values.shape)


def _sorted_places(values: Values, classes: Values) -> Codes:
    place = np.searchsorted(classes, values)
    place[place == len(classes)] = 0
    codes = np.where(classes[place] == values, place, NO_CLASS)
    if values.dtype.kind == "f":
        codes[np.isnan(values)] = MISSING
    return codes
