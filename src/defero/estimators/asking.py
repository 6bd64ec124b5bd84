"""Asking under costs and limits, from an estimator: what its router does."""

from abc import abstractmethod
from typing import Any

from numpy.typing import ArrayLike

from defero.core.results import Assignment, Steps
from defero.decisions.assigning.limits import Capacity
from defero.router import Router
from defero.router.costs.assigning import Gains


class AsksUnderCosts:
    """Methods of an estimator that decides under fees, error costs, capacity and a budget, without a new fit."""

    @abstractmethod
    def _ready(self) -> Router:
        """Return the router of the fitted estimator."""

    @abstractmethod
    def _checked(self, X: Any) -> Any:
        """Return the features, checked."""

    def next_step(
        self,
        X: Any,
        *,
        answers: object = None,
        fees: ArrayLike | None = None,
        error_cost: float = 1.0,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
        capacity_prices: ArrayLike | None = None,
    ) -> Steps:
        """Say for each case whom to ask next, or what to answer now: see `Router.next_step`."""
        return self._ready().next_step(
            self._checked(X),
            answers=answers,
            fees=fees,
            error_cost=error_cost,
            cost_matrix=cost_matrix,
            available=available,
            capacity_prices=capacity_prices,
        )

    def gains(
        self,
        X: Any,
        *,
        fees: ArrayLike | None = None,
        error_cost: float = 1.0,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
    ) -> Gains:
        """Return what asking each expert once saves, for `assign` and `stream_step`: see `Router.gains`."""
        return self._ready().gains(
            self._checked(X), fees=fees, error_cost=error_cost, cost_matrix=cost_matrix, available=available
        )

    def assign(
        self,
        X: Any,
        *,
        capacity: Capacity | None = None,
        budget: float | None = None,
        defer_at_most: float | None = None,
        fees: ArrayLike | None = None,
        error_cost: float = 1.0,
        cost_matrix: ArrayLike | None = None,
        available: ArrayLike | None = None,
        method: str = "auto",
    ) -> Assignment:
        """Choose who answers each case of a batch, so that no limit is exceeded: see `Router.assign`."""
        return self._ready().assign(
            self._checked(X),
            capacity=capacity,
            budget=budget,
            defer_at_most=defer_at_most,
            fees=fees,
            error_cost=error_cost,
            cost_matrix=cost_matrix,
            available=available,
            method=method,
        )
