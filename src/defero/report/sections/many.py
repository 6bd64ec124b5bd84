"""Tables of experts stay short: those who matter most in sight, the others one click away."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from defero.report.html import Html, folded, joined

IN_SIGHT = 11
"""How many experts are shown at once."""
SPARED = 3
"""No click for the sake of so few."""

Row = TypeVar("Row")


def most_asked_first(load: Sequence[int]) -> list[int]:
    """Return the experts' numbers, those with most cases first; of equals the earlier one.

    >>> most_asked_first([3, 9, 3])
    [1, 0, 2]
    """
    return sorted(range(len(load)), key=lambda j: (-load[j], j))


def too_many(n_experts: int) -> bool:
    """Tell whether so many experts are not all shown at once."""
    return n_experts > IN_SIGHT + SPARED


def in_parts(
    experts: Sequence[Row],
    show: Callable[[Sequence[Row]], Html],
    *,
    before: Sequence[Row] = (),
    rest: str = "Show the other {n} experts",
) -> Html:
    """Return what shows the first experts, and the others folded away.

    Parameters
    ----------
    experts : J rows
    show : callable
        Makes a table, or whatever, of some rows.
    before : rows
        Come first and are always shown: the team, the model.
    rest : str
        Names the others, with {n} for how many.
    """
    if not too_many(len(experts)):
        return show([*before, *experts])
    hidden = experts[IN_SIGHT:]
    return joined([show([*before, *experts[:IN_SIGHT]]), folded(rest.format(n=len(hidden)), show(hidden))])
