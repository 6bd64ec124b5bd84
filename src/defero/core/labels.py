"""Labels of any type, and experts' answers among them, as class numbers 0..K-1; a missing answer is -1."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.checks import IntArray
from defero.core.errors import InputError, listing

MISSING = -1
_NO_CLASS = -2
Labels = NDArray[np.generic]


def is_missing(value: object) -> bool:
    """Tell None, NaN and pandas' NA and NaT from an answer.

    >>> [is_missing(v) for v in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def find_classes(labels: ArrayLike, *, name: str = "y") -> Labels:
    """Return the distinct labels in sorted order, (K,).

    >>> find_classes(["malign", "benign", "malign"]).tolist()
    ['benign', 'malign']
    """
    array = as_column(labels, name=name)
    if array.dtype.kind == "O":
        gap = next((row for row, value in enumerate(array.tolist()) if is_missing(value)), None)
        if gap is not None:
            raise InputError(f"{name} must have a label in every row, got none in row {gap}; drop such rows first.")
    elif array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InputError(
            f"{name} must have a label in every row, got {array[row]} in row {row}; it contains NaN or inf."
        )
    try:
        return np.unique(array)
    except TypeError as error:
        raise InputError(f"{name} must hold labels of one type (all text or all numbers), got a mixture.") from error


def as_column(labels: ArrayLike, *, name: str) -> Labels:
    """Return labels as a one-dimensional array, text as objects."""
    array = _cells(labels, name=name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} must have one axis (n,), one label per item, got shape {array.shape}.")
    return array


def encode_labels(labels: ArrayLike, classes: Labels, *, name: str = "y") -> IntArray:
    """Return each label's class number, (n,).

    >>> encode_labels(["b", "a"], np.array(["a", "b"], dtype=object)).tolist()
    [1, 0]
    """
    array = as_column(labels, name=name)
    codes = _codes(array, classes)
    wrong = np.flatnonzero(codes < 0)
    if wrong.size:
        row = int(wrong[0])
        raise InputError(
            f"{name}: row {row}: label {_shown(array[row])} is not one of {listing(classes.tolist())}; "
            "the classes are those that fit saw."
        )
    return codes


def encode_answers(answers: object, classes: Labels, *, name: str = "experts") -> IntArray:
    """Return each answer's class number, (n, J), -1 where an expert was not asked.

    Missing is None, NaN or pandas' NA; -1 in integer arrays where -1 is no class; in a scipy.sparse
    matrix whatever is not stored (a stored value is the class number + 1).

    >>> encode_answers([["a", None], ["b", "a"]], np.array(["a", "b"], dtype=object)).tolist()
    [[0, -1], [1, 0]]
    >>> encode_answers(np.array([[0, -1]]), np.array([0, 1])).tolist()
    [[0, -1]]
    """
    if hasattr(answers, "tocsr"):
        return _sparse_codes(answers, n_classes=len(classes), name=name)
    array = answer_matrix(answers, name=name)
    codes = _codes(array, classes)
    if array.dtype.kind in "iu":
        codes[(codes == _NO_CLASS) & (array == -1)] = MISSING
    wrong = np.argwhere(codes == _NO_CLASS)
    if wrong.size:
        row, column = wrong[0]
        who = expert_names(answers)
        column_name = f"column {who[column]}" if who else f"column {column}"
        raise InputError(
            f"{name}: row {row}, {column_name}: answer {_shown(array[row, column])} is not one of "
            f"{listing(classes.tolist())}."
        )
    return codes


def encode_recorded(answers: object, classes: Labels, *, experts: tuple[str, ...], n_items: int) -> IntArray:
    """Return recorded answers of known experts as class numbers (n, J), columns in the order of `experts`.

    A data frame's columns are found by name, in any order; they must be those experts and no others.
    """
    who = expert_names(answers)
    if who is not None and sorted(who) != sorted(experts):
        raise InputError(
            f"experts: expected the experts of fit ({listing(experts)}), got {listing(who)}; "
            "leave a column blank for an expert who was not asked."
        )
    answer_idx = encode_answers(answers, classes)
    if who is not None:
        answer_idx = answer_idx[:, [who.index(name) for name in experts]]
    expected = (n_items, len(experts))
    if answer_idx.shape != expected:
        raise InputError(
            f"experts must have shape {expected}, one row per item and one column for each expert of fit, "
            f"got {answer_idx.shape}."
        )
    return answer_idx


def expert_names(answers: object) -> tuple[str, ...] | None:
    """Return the column names of a data frame of answers; None where there are none."""
    columns = getattr(answers, "columns", None)
    return None if columns is None else tuple(str(column) for column in columns)


def answer_matrix(answers: object, *, name: str) -> Labels:
    """Return answers as an array (n, J), text as objects, masked cells as None.

    >>> answer_matrix(np.ma.array([[1, 2]], mask=[[False, True]]), name="answers").tolist()
    [[1, None]]
    """
    if isinstance(answers, np.ma.MaskedArray):
        filled = answers.data.astype(object)
        filled[np.ma.getmaskarray(answers)] = None
        answers = filled
    array = _cells(answers, name=name)
    if array.ndim != 2:
        raise InputError(
            f"{name} must have two axes (n, J), one column per expert, got shape {array.shape}"
            + ("; for one expert pass a column: answers.reshape(-1, 1)." if array.ndim == 1 else ".")
        )
    return array


def _cells(values: object, *, name: str) -> Labels:
    """Return an array in which each cell keeps its own type: numpy alone makes two texts of ["a", nan]."""
    try:
        array = np.asarray(values)
        return np.asarray(values, dtype=object) if array.dtype.kind in "US" else array
    except ValueError as error:
        raise InputError(
            f"{name} must have as many cells in each row as in the first, got rows that differ."
        ) from error


def _codes(array: Labels, classes: Labels) -> IntArray:
    """Look every value up: its class number, -1 where missing, -2 where it is no class."""
    if array.dtype.kind in "iufb" and classes.dtype.kind in "iufb":
        place = np.searchsorted(classes, array)
        place[place == len(classes)] = 0
        codes = np.where(classes[place] == array, place, _NO_CLASS).astype(np.int64)
        if array.dtype.kind == "f":
            codes[np.isnan(array)] = MISSING
        return codes
    lookup: dict[object, int] = {value: k for k, value in enumerate(classes.tolist())}
    # The one NaN object that numpy and pandas hand out is found by identity; any other below.
    lookup[None] = lookup[np.nan] = MISSING
    cells = array.ravel().tolist()
    try:
        codes = np.fromiter((lookup.get(cell, _NO_CLASS) for cell in cells), np.int64, len(cells))
    except TypeError as error:
        raise InputError(f"labels and answers must be text or numbers, got a cell that is neither: {error}.") from error
    for unknown in np.flatnonzero(codes == _NO_CLASS):
        if is_missing(cells[unknown]):
            codes[unknown] = MISSING
    return codes.reshape(array.shape)


def _sparse_codes(answers: Any, *, n_classes: int, name: str) -> IntArray:
    codes: IntArray = np.asarray(answers.toarray(), dtype=np.int64) - 1
    if codes.size and (codes.max() >= n_classes or codes.min() < MISSING):
        row, column = np.argwhere((codes >= n_classes) | (codes < MISSING))[0]
        raise InputError(
            f"{name}: row {row}, column {column}: a sparse matrix stores class number + 1, from 1 to {n_classes}, "
            f"got {codes[row, column] + 1}."
        )
    return codes


def _shown(value: object) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)
