"""Who answers each item: by a trade-off, a budget, a quality floor, or with a capacity of each member."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.labels import Labels
from defero.core.results import MODEL as NOBODY
from defero.core.wording import money
from defero.decide.assigning.assign import assign
from defero.decide.frontier import choices_at, frontier_steps, steps_within
from defero.decide.terms import Capacity, Terms


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


_ROWS_AT_ONCE = 4096
"""The scores of so many rows stay in the processor's cache."""


class PoolChoice(NamedTuple):
    """Who is chosen (n,), by which rule, at which trade-off, and where another rule held (n,)."""

    expert: IntArray
    rule: str
    trade_off: float
    exception: Labels | None = None


def by_trade_off(score: FloatArray, price: FloatArray, can: BoolArray, trade_off: float) -> PoolChoice:
    """Choose the largest trade_off * score - price; of equals the cheapest, then the first.

    Examples
    --------
    >>> score, price = np.array([[0.5, 0.9]]), np.array([[1.0, 2.0]])
    >>> [by_trade_off(score, price, np.ones((1, 2), bool), v).expert.tolist() for v in (1.0, 10.0, np.inf)]
    [[0], [1], [1]]
    """
    value = score if trade_off == np.inf else trade_off * score - price
    value = np.where(can, value, -np.inf)
    best = value.max(axis=1, keepdims=True, initial=-np.inf)
    cost = np.where(value == best, np.nan_to_num(price, nan=np.inf), np.inf)
    # Among equals without a known price the first: its cost is inf as that of everybody who is not among them.
    tied = np.where(np.isfinite(cost).any(axis=1, keepdims=True), cost, np.where(value == best, 0.0, np.inf))
    expert = np.where(can.any(axis=1), tied.argmin(axis=1), NOBODY) if score.shape[1] else np.full(len(score), NOBODY)
    return PoolChoice(expert.astype(np.int64), rule_of(trade_off), trade_off)


def rule_of(trade_off: float) -> str:
    """Name the rule of a trade-off."""
    return "highest score" if trade_off == np.inf else f"best at {money(trade_off)} a point"


def by_floor(score: FloatArray, price: FloatArray, can: BoolArray, floor: float) -> PoolChoice:
    """Choose the cheapest member whose expected score reaches the floor; where nobody does, the highest score."""
    enough = can & (score >= floor)
    cheapest = by_trade_off(score, price, enough, 0.0).expert
    highest = by_trade_off(score, price, can, np.inf).expert
    reached = enough.any(axis=1)
    exception = np.where(reached, "", f"highest score, none reaches {floor:g}").astype(object)
    return PoolChoice(np.where(reached, cheapest, highest), f"cheapest that reaches {floor:g}", np.nan, exception)


def by_budget(score: FloatArray, price: FloatArray, can: BoolArray, budget: float) -> PoolChoice:
    """Choose the highest expected scores in total that the budget can pay for all items together.

    The steps of the frontier are taken in the order of their value for money until the next one cannot be paid: at most
    one item away from the best there is.
    """
    steps = frontier_steps(score, price, can)
    n_steps = steps_within(steps, price, budget)
    if n_steps < 0:
        asked_idx = np.flatnonzero(steps.start != NOBODY)
        least = float(price[asked_idx, steps.start[asked_idx]].sum())
        raise InputError(
            f"allows {budget:,.6g}, but the cheapest member for each of {len(asked_idx):,} items costs {least:,.6g} in "
            "total.",
            argument="budget",
        )
    spent = float(steps.error_cost[n_steps - 1]) if n_steps else 0.0
    trade_off = np.inf if n_steps == len(steps.item) else spent
    return PoolChoice(choices_at(steps, n_steps), f"within a budget of {money(budget)}", trade_off)


def by_capacity(
    score: FloatArray,
    price: FloatArray,
    can: BoolArray,
    trade_off: float,
    *,
    capacity: Capacity,
    expert_names: tuple[str, ...],
    budget: float | None = None,
) -> PoolChoice:
    """Choose the largest sum of trade_off * score - price that no member's limit forbids.

    As many items as the limits allow are answered, whatever that costs; for the others nobody is left.
    """
    value = score if trade_off == np.inf else trade_off * score - price
    known = value[can]
    spread = float(known.max() - known.min()) if known.size else 0.0
    # One more item answered is worth more than any exchange along a chain of members can lose.
    least = float(known.min()) if known.size else 0.0
    gain = np.where(can, value - least + (score.shape[1] + 1) * max(spread, 1e-9), -np.inf)
    fees = None if budget is None else np.nan_to_num(price)
    limits = Terms(capacity=capacity, budget=budget, fees=fees)
    batch = assign(gain, terms=limits, expert_names=expert_names)
    return PoolChoice(np.asarray(batch.expert), f"{rule_of(trade_off)}, within the members' limits", trade_off)


def by_product(
    features: NDArray[Any],
    weights: NDArray[np.float32],
    intercept: NDArray[np.float32],
    price: FloatArray | None,
    trade_off: float,
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Choose by a linear model in blocks of rows.

    Returns
    -------
    expert : (n,)
        Who is chosen; the cheaper one where two are equal and prices are the same for every row.
    score : (n,)
        Their score, limited to [0, 1].
    highest : (n,) bool
        Is it the highest of all scores of the row?

    Parameters
    ----------
    features : (n, d) float32 or float64
    weights, intercept : (d, J) and (J,)
    price : (J,) or (n, J), optional
        None, or a trade-off of inf: quality alone.
    trade_off : float

    Raises
    ------
    InputError
        Where a feature is not finite.
    """
    n = len(features)
    expert, best, highest = np.empty(n, dtype=np.int64), np.empty(n), np.ones(n, dtype=np.bool_)
    cheapest_first: IntArray | None = None
    if price is not None and price.ndim == 1:
        cheapest_first = np.argsort(price, kind="stable")
        weights, intercept, price = weights[:, cheapest_first], intercept[cheapest_first], price[cheapest_first]
    share = None if price is None or trade_off == np.inf else (price / trade_off).astype(np.float32)
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, min(start + _ROWS_AT_ONCE, n))
        with np.errstate(invalid="ignore", over="ignore"):
            score = np.asarray(features[rows], dtype=np.float32) @ weights
            score += intercept
        if not np.isfinite(score.sum()):
            _refuse_not_finite(features, score, start)
        np.clip(score, 0.0, 1.0, out=score)
        paid = score if share is None else score - (share if share.ndim == 1 else share[rows])
        who = paid.argmax(axis=1)
        expert[rows] = who if cheapest_first is None else cheapest_first[who]
        best[rows] = score[np.arange(len(who)), who]
        if share is not None:
            highest[rows] = best[rows] >= score.max(axis=1)
    return expert, best, highest


def _refuse_not_finite(features: NDArray[Any], score: NDArray[np.float32], start: int) -> None:
    """Raise for the first row with a number that is not finite; sums of finite ones may still be too large."""
    row = start + int(np.argmax(~np.isfinite(score).all(axis=1)))
    wrong = np.flatnonzero(~np.isfinite(features[row]))
    column = int(wrong[0]) if wrong.size else int(np.abs(features[row]).argmax())
    raise InputError(
        f"must be finite and of moderate size, got {features[row, column]} at row {row}, column {column}.",
        argument="X",
    )
