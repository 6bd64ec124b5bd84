"""Checks of prices: a clean (n, J) array, NaN where nothing is known."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.checks.scores import numbers_of as _numbers
from defero.core.errors import Argument, InputError
from defero.core.wording import did_you_mean, join_names


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
