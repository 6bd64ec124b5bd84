"""RouteRule: by what a pool chooses, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.errors import Argument, InputError
from defero.decisions.assigning.limits import Capacity


@dataclass(frozen=True, eq=False)
class RouteRule:
    """The arguments of `PoolRouter.route`.

    Raises
    ------
    InputError
        For two rules at once, and for numbers that make no sense.

    Examples
    --------
    >>> RouteRule(trade_off=10.0).paid, RouteRule().paid
    ('trade_off', None)
    """

    prices: Any = None
    trade_off: float | None = None
    budget: float | None = None
    floor: float | None = None
    available: Mapping[str, bool] | ArrayLike | None = None
    capacity: Capacity | None = None

    def __post_init__(self) -> None:
        rules = [name for name in ("trade_off", "budget", "floor") if getattr(self, name) is not None]
        if len(rules) > 1:
            first, second = rules[:2]
            raise InputError(
                "and ", Argument(first), " are two rules for the same choice; pass one of them.", argument=second
            )
        for name in rules:
            value, highest = getattr(self, name), 1.0 if name == "floor" else np.inf
            if not 0 <= value <= highest:
                expected = "a score in [0, 1]" if name == "floor" else "a number of at least 0"
                raise InputError(f"must be {expected}, got {value}.", argument=name)
        if self.floor is not None and self.capacity is not None:
            raise InputError(
                ": a floor for each item and limits of the members cannot be kept together; pass one of them.",
                argument="floor",
            )

    @property
    def paid(self) -> str | None:
        """The rule for which money counts; None for quality alone."""
        return next((name for name in ("trade_off", "budget", "floor") if getattr(self, name) is not None), None)

    @property
    def worth(self) -> float:
        """Money per point of quality; inf for quality alone."""
        return np.inf if self.trade_off is None else float(self.trade_off)
