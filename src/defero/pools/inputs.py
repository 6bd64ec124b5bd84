"""Checks of scores and prices: each returns a clean (n, J) array, NaN where nothing is known."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray, names
from defero.core.errors import Argument, InputError
from defero.core.wording import did_you_mean, join_names

_ANOTHER_SCALE = 2.0
"""Scores that reach this are taken for those of another scale, such as 0 to 10."""


def score_matrix(scores: Any, expert_names: object = None) -> tuple[FloatArray, tuple[str, ...]]:
    """Return scores (n, J) in [0, 1], NaN where a member has none, and the members' names.

    Parameters
    ----------
    scores : (n, J) or DataFrame
        A frame's columns are the names.
    expert_names : J names, optional

    Examples
    --------
    >>> score_matrix([[1, None], [0, 0.5]])
    (array([[1. , nan],
           [0. , 0.5]]), ('expert_0', 'expert_1'))
    """
    if hasattr(scores, "columns") and expert_names is None:
        expert_names = [str(name) for name in scores.columns]
    matrix = _numbers(scores, "scores")
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InputError(f"must be (n, J), one column per member, got shape {matrix.shape}.", argument="scores")
    who = names("expert_names", expert_names, count=matrix.shape[1])
    with np.errstate(invalid="ignore"):
        wrong = (matrix < 0) | (matrix > 1)
    if wrong.any():
        row, j = np.argwhere(wrong)[0]
        raise InputError(
            f"must lie in [0, 1], got {matrix[row, j]:g} for {who[j]} in row {row}; {_remedy(matrix)}.",
            argument="scores",
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


def price_matrix(prices: Any, expert_names: tuple[str, ...], *, n_items: int, partial: bool = False) -> FloatArray:
    """Return prices (n, J), NaN where a price is not known.

    Parameters
    ----------
    prices : {name: price or (n,) prices}, DataFrame, (J,) or (n, J)
        None is an unknown price.
    expert_names : J names
    n_items : int
    partial : bool
        Whether a mapping or a frame may name some members only: the prices of the others are unknown.

    Examples
    --------
    >>> price_matrix({"small": 0.5, "large": [2.0, None]}, ("small", "large"), n_items=2).tolist()
    [[0.5, 2.0], [0.5, nan]]
    """
    if isinstance(prices, Mapping) or hasattr(prices, "columns"):
        matrix = _named_prices(prices, expert_names, n_items, partial=partial)
    else:
        matrix = _numbers(prices, "prices")
        shapes = {(len(expert_names),), (n_items, len(expert_names))}
        if matrix.shape not in shapes:
            raise InputError(
                f"must have shape ({len(expert_names)},) or ({n_items}, {len(expert_names)}), one column per member, "
                f"got {matrix.shape}.",
                argument="prices",
            )
        matrix = np.broadcast_to(matrix, (n_items, len(expert_names)))
    with np.errstate(invalid="ignore"):
        wrong = (matrix < 0) | np.isinf(matrix)
    if wrong.any():
        row, j = np.argwhere(wrong)[0]
        raise InputError(
            f"must be finite and not negative, got {matrix[row, j]:g} for {expert_names[j]} in row {row}; leave out a "
            "member who cannot be asked with ",
            Argument("available"),
            ".",
            argument="prices",
        )
    return np.asarray(matrix, dtype=np.float64)


def _named_prices(prices: Any, expert_names: tuple[str, ...], n_items: int, *, partial: bool) -> FloatArray:
    names = [str(name) for name in (prices.columns if hasattr(prices, "columns") else prices)]
    missing = [] if partial else [name for name in expert_names if name not in names]
    unknown = [name for name in names if name not in expert_names]
    if unknown and (isinstance(prices, Mapping) or missing):
        hint = did_you_mean(unknown[0], expert_names)
        raise InputError(
            f": no member {join_names(unknown)}{hint} There are {join_names(expert_names)}.", argument="prices"
        )
    if missing:
        raise InputError(f": no price for {join_names(missing)}.", argument="prices")
    matrix = np.full((n_items, len(expert_names)), np.nan)
    for j, name in enumerate(expert_names):
        if name not in names:
            continue
        column = _numbers(prices[name], "prices")
        if column.shape not in {(), (n_items,)}:
            raise InputError(
                f"of {name} must be a number or {n_items} numbers, got shape {column.shape}.", argument="prices"
            )
        matrix[:, j] = column
    return matrix


def _numbers(values: Any, argument: str) -> FloatArray:
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
