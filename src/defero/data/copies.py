"""Items that belong together: equal rows are copies of one item, or items of one kind."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from defero.core.checks.arrays import IntArray
from defero.core.order import HashArray, in_order_of_appearance
from defero.data.fingerprint import row_fingerprints
from defero.data.tables.cells import column_kind, is_blank, numbers

WORDS_OF_A_SENTENCE = 5
"""A column of texts is read as sentences, not as categories, if half of its values have so many words."""


def equal_rows(rows: Any, *, text: Sequence[str] = ()) -> IntArray:
    """Return groups (n,): equal rows are one group; where rows only name a kind, each row is a group of its own.

    Parameters
    ----------
    rows : DataFrame, or array (n, d)
    text : names
        Columns that are texts.

    Examples
    --------
    >>> equal_rows(np.array([[0.5], [0.7], [0.5], [0.5], [0.7]])).tolist()
    [0, 1, 0, 0, 1]
    """
    if rows_are_kinds(rows, text=text):
        return np.arange(len(rows))
    return in_order_of_appearance(row_fingerprints(rows))  # their names would hold the user's key


def rows_are_kinds(rows: Any, *, text: Sequence[str] = ()) -> bool:
    """Tell whether equal rows are items of a kind, such as a task, and not copies of one item.

    They are where most rows have an equal and no column could tell items apart: no text, no sentence, no number with
    decimals.

    >>> rows_are_kinds(np.array([[1, 0], [0, 1]] * 5)), rows_are_kinds(np.array([[0.3], [0.2]] * 5))
    (True, False)
    """
    return not tells_items_apart(rows, text=text) and mostly_equal(row_fingerprints(rows))


def mostly_equal(fingerprints: HashArray) -> bool:
    """Tell whether most rows have an equal."""
    return 2 * len(np.unique(fingerprints)) < len(fingerprints)


def tells_items_apart(rows: Any, *, text: Sequence[str] = ()) -> bool:
    """Tell whether some column has more than categories and whole numbers."""
    if not hasattr(rows, "columns"):
        return _has_more_than_kinds(np.asarray(rows))
    return bool(set(text) & set(rows.columns)) or any(_has_more_than_kinds(rows[name]) for name in rows.columns)


def _has_more_than_kinds(column: Any) -> bool:
    if np.ndim(column) > 1:
        values = np.asarray(column, dtype=np.float64)
        return bool((values != np.rint(values)).any())
    if column_kind(column) == "number":
        values, _ = numbers(column)
        known = values[np.isfinite(values)]
        return bool((known != np.rint(known)).any())
    distinct = {str(cell) for cell in np.asarray(column, dtype=object).tolist() if not is_blank(cell)}
    return bool(distinct) and float(np.median([len(one.split()) for one in distinct])) >= WORDS_OF_A_SENTENCE
