"""Checks of scores: a clean (n, J) array, NaN where nothing is known."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray, by_name, names, refuse
from defero.core.errors import Argument, InputError

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
    refuse(argument, matrix, wrong, "must lie in [0, 1]", _remedy(matrix) if wrong.any() else "", who=who)
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


def columns_by_name(
    argument: str, value: Any, expert_names: tuple[str, ...], shape: tuple[int, ...], *, default: float
) -> Any:
    """Return a frame, or {name: value or (n,) values}, as an array (n, J); other values as they are."""
    if hasattr(value, "columns"):
        value = {str(name): value[name] for name in value.columns}
    if not isinstance(value, Mapping):
        return value
    columns = by_name(argument, value, expert_names, default=default)
    try:
        return np.column_stack([np.broadcast_to(np.asarray(one, dtype=np.float64), shape[:1]) for one in columns])
    except (TypeError, ValueError) as error:
        raise InputError(
            f"must have a value, or {shape[0]} values, for each member that is named.", argument=argument
        ) from error


def price_matrix(prices: Any, expert_names: tuple[str, ...], *, n_items: int) -> FloatArray:
    """Return prices (n, J), NaN where a price is not known.

    Parameters
    ----------
    prices : {name: price or (n,) prices}, DataFrame, (J,) or (n, J)
        None, NaN, or not named: a price that is not known.
    expert_names : J names
    n_items : int

    Examples
    --------
    >>> price_matrix({"small": 0.5, "large": [2.0, None]}, ("small", "large"), n_items=2).tolist()
    [[0.5, 2.0], [0.5, nan]]
    """
    shape = n_items, len(expert_names)
    matrix = numbers_of(columns_by_name("prices", prices, expert_names, shape, default=np.nan), "prices")
    if matrix.shape not in {shape, shape[1:]}:
        raise InputError(
            f"must have shape {shape[1:]} or {shape}, one column per expert, got {matrix.shape}.", argument="prices"
        )
    remedy = f"leave out who cannot be asked with {Argument('absent')}"
    wrong = (matrix < 0) | np.isinf(matrix)
    refuse("prices", matrix, wrong, "must be finite and not negative", remedy, who=expert_names)
    return np.broadcast_to(matrix, shape).astype(np.float64)
