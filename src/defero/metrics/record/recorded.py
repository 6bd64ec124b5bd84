"""Labels and answers as they were recorded: which cells are empty, and what the experts who were asked said."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks import BoolArray, IntArray
from defero.core.errors import InputError
from defero.core.labels import MISSING, Labels, as_column, is_missing
from defero.core.results import MODEL
from defero.metrics.arguments import check_length


def complete_labels(name: str, value: ArrayLike, *, n_items: int) -> Labels:
    """Return (n,) labels of any type, one for each item.

    >>> complete_labels("labels", ["a", "b"], n_items=2).tolist()
    ['a', 'b']
    """
    labels = as_column(value, name=name)
    check_length(name, labels, n_items=n_items)
    empty = np.flatnonzero(missing_cells(labels)) if labels.dtype.kind in "Of" else np.empty(0)
    if empty.size:
        raise InputError(
            f"{name} must have a label for each item, got none for item {int(empty[0])}; drop such items first."
        )
    return labels


def answer_columns(answers: ArrayLike) -> Labels:
    """Return the answers as (n, J), text as plain Python strings, masked cells as None.

    >>> answer_columns(np.ma.array([[1, 2]], mask=[[False, True]])).tolist()
    [[1, None]]
    """
    array = np.asarray(answers)
    if isinstance(answers, np.ma.MaskedArray):
        array = array.astype(object)
        array[np.ma.getmaskarray(answers)] = None
    if array.ndim != 2:
        raise InputError(f"answers must have two axes (n, J), one column per expert, got shape {array.shape}.")
    return array.astype(object) if array.dtype.kind in "US" else array


def asked_answers(chosen: IntArray, columns: Labels) -> tuple[IntArray, Labels]:
    """Return the items that go to an expert, (m,), and what that expert answered, (m,).

    >>> items, said = asked_answers(np.array([1, -1, 0]), np.array([[5, 6], [7, 8], [9, -1]]))
    >>> items.tolist(), said.tolist()
    ([0, 2], [6, 9])
    """
    n_items, n_experts = columns.shape
    check_length("expert", chosen, n_items=n_items)
    if chosen.size and chosen.max() >= n_experts:
        item = int(np.argmax(chosen))
        raise InputError(
            f"expert must be below {n_experts}, the number of columns of answers, got {chosen[item]} for item {item}."
        )
    deferred = np.flatnonzero(chosen != MODEL)
    asked = columns[deferred, chosen[deferred]]
    silent = missing_cells(asked)
    if silent.any():
        item = int(deferred[np.argmax(silent)])
        raise InputError(
            f"answers: item {item} was deferred to expert {chosen[item]}, who has no recorded answer there; "
            "let the decision choose among those who answered (available=)."
        )
    return deferred, asked


def missing_cells(array: Labels) -> BoolArray:
    """Return where no answer is recorded, (n,): -1 in integer arrays, NaN in floats, None and the like in objects.

    >>> missing_cells(np.array([0, -1])).tolist(), missing_cells(np.array(["a", None], dtype=object)).tolist()
    ([False, True], [False, True])
    """
    if array.dtype.kind == "O":
        return np.array([is_missing(value) for value in array.tolist()], dtype=np.bool_)
    if array.dtype.kind == "i":
        return np.asarray(array == MISSING)
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=np.bool_)


def check_same_form(name: str, values: Labels, other_name: str, others: Labels) -> None:
    """Refuse names beside numbers: they would compare as different without a word."""
    if values.size and others.size and isinstance(values[0], str) != isinstance(others[0], str):
        raise InputError(
            f"{name} must have the form of {other_name}, got {values[0]!r} beside {others[0]!r}; "
            "pass class names everywhere or class numbers everywhere."
        )
