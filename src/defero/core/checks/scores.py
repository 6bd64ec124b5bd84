"""Checks of scores: a clean (n, J) array, NaN where nothing is known."""

from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray, names
from defero.core.errors import InputError

_ANOTHER_SCALE = 2.0
"""Scores that reach this are taken for those of another scale, such as 0 to 10."""


def score_matrix(
    scores: Any, expert_names: Any = None, *, argument: str = "scores"
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return scores (n, J) in [0, 1], NaN where a member has none, and the members' names.

    Parameters
    ----------
    scores : (n, J) or DataFrame
        A frame's columns are the names, in any order.
    expert_names : J names, optional
    argument : str
        What a message calls the scores.

    Examples
    --------
    >>> score_matrix([[1, None], [0, 0.5]])
    (array([[1. , nan],
           [0. , 0.5]]), ('expert_0', 'expert_1'))
    """
    columns = [str(name) for name in scores.columns] if hasattr(scores, "columns") else []
    if columns and expert_names is None:
        expert_names = columns
    elif columns and sorted(columns) == sorted(map(str, expert_names)):
        scores = scores.iloc[:, [columns.index(str(name)) for name in expert_names]]
    matrix = numbers_of(scores, argument)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InputError(f"must be (n, J), one column per member, got shape {matrix.shape}.", argument=argument)
    who = names("expert_names", expert_names, count=matrix.shape[1])
    with np.errstate(invalid="ignore"):
        wrong = (matrix < 0) | (matrix > 1)
    if wrong.any():
        row, j = np.argwhere(wrong)[0]
        raise InputError(
            f"must lie in [0, 1], got {matrix[row, j]:g} for {who[j]} in row {row}; {_remedy(matrix)}.",
            argument=argument,
        )
    return matrix, who


def _remedy(scores: FloatArray) -> str:
    """Return what to do with scores outside [0, 1]."""
    if np.nanmax(scores) >= _ANOTHER_SCALE:
        return "divide by the largest possible score"
    if np.nanmin(scores) <= -1:
        return "shift and divide them so that the worst score is 0 and the best 1"
    return (
        "clip them if they are rounded, and where they are targets of Judge.unbiased, pass the marks of 0 and 1 "
        "themselves to ExpertPool(judge=Judge(...))"
    )


def numbers_of(values: Any, argument: str) -> FloatArray:
    """Return an array of numbers, NaN for cells that are None."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers, NaN where there is none{_first_odd(values)}.", argument=argument) from error


def _first_odd(values: Any) -> str:
    """Return the first cell that is no number, in words; blank where rows differ in length."""
    try:
        cells = np.asarray(values, dtype=object)
    except ValueError:
        return "; rows differ in length"
    for place, cell in np.ndenumerate(cells):
        if np.ndim(cell) > 0:
            return "; rows differ in length"
        try:
            float(np.nan if cell is None else cell)
        except (TypeError, ValueError):
            where = ", ".join(f"{axis} {at}" for axis, at in zip(("row", "column"), place, strict=False))
            return f", got {str(cell)!r:.40} in {where}" if where else f", got {str(cell)!r:.40}"
    return ""
