"""Items that belong together: equal rows are copies, and items of a group count as one draw in intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.order import HashArray, in_order_of_appearance
from defero.data.fingerprint import row_fingerprints
from defero.data.tables.cells import column_kind, is_blank, numbers
from defero.judge.intervals import wilson_interval

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


Z95 = 1.959964


def mean_interval(values: FloatArray, groups: ArrayLike) -> tuple[float, float, float]:
    """Return the mean of values (n,) with a 95 % interval, where those of a group belong together.

    The standard error is that of sums over groups, so that a group counts as one draw.

    >>> [round(one, 3) for one in mean_interval(np.array([0.0, 1.0, 0.0, 1.0]), [0, 1, 2, 3])]
    [0.5, -0.066, 1.066]
    >>> [round(one, 3) for one in mean_interval(np.array([0.0, 0.0, 1.0, 1.0]), [0, 0, 1, 1])]
    [0.5, -0.48, 1.48]
    """
    mean, error, _ = _clustered(values, groups)
    return mean, mean - Z95 * error, mean + Z95 * error


def score_interval(scores: FloatArray, groups: ArrayLike | None = None) -> tuple[float, float, float]:
    """Return the mean of scores (n,) in [0, 1] with a 95 % interval inside [0, 1]; NaN is left out.

    Scores of 0 and 1 get Wilson's interval, which has a width where all are equal; with groups it is that of as many
    single items as have the same standard error.

    >>> [round(one, 3) for one in score_interval(np.ones(14))]
    [1.0, 0.785, 1.0]
    """
    of_group = np.arange(len(scores)) if groups is None else np.asarray(groups)
    mean, error, n_groups = _clustered(scores, of_group)
    known = scores[np.isfinite(scores)]
    if not known.size:
        return (float("nan"),) * 3
    if np.isin(known, (0.0, 1.0)).all():
        variance = mean * (1 - mean)
        total = n_groups if not error > 0 else min(variance / error**2, len(known))
        if n_groups == len(known):
            total = len(known)
        return mean, *wilson_interval(mean * total, total)
    return mean, max(mean - Z95 * error, 0.0), min(mean + Z95 * error, 1.0)


def _clustered(values: FloatArray, groups: ArrayLike) -> tuple[float, float, int]:
    """Return the mean, its standard error and the number of groups; nan for less than two groups."""
    known = np.isfinite(values)
    mean = float(values[known].mean()) if known.any() else float("nan")
    _, group = np.unique(np.asarray(groups)[known], return_inverse=True)
    n_groups = int(group.max()) + 1 if len(group) else 0
    if n_groups < 2:
        return mean, float("nan"), n_groups
    sums = np.bincount(group, weights=values[known] - mean)
    return mean, float(np.sqrt((sums**2).sum() * n_groups / (n_groups - 1))) / len(group), n_groups
