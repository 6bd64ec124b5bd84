"""Terms: what questions and errors cost, in the unit of money that the user chose."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, fee_matrix
from defero.decide.asking import DEFAULT_FEE
from defero.decide.costs import ErrorCosts


@dataclass(frozen=True, eq=False)
class Terms:
    """What questions and errors cost.

    Attributes
    ----------
    fees : (J,) or (n, J), optional
        What a question costs. None: not given; one expert is then asked for free, and questions to several cost 0.01
        of the dearest error each.
    costs : ErrorCosts
    costs_given : bool
        Whether the costs of errors were given; else an error costs 1.

    Examples
    --------
    >>> terms = Terms.of([2.0, 4.0], n_classes=2, error_cost=40)
    >>> terms.fees_in_errors.tolist(), terms.given
    ([0.05, 0.1], True)
    """

    fees: FloatArray | None
    costs: ErrorCosts
    costs_given: bool = False

    @classmethod
    def of(
        cls,
        fees: ArrayLike | None = None,
        *,
        n_classes: int,
        error_cost: float | None = None,
        cost_matrix: ArrayLike | None = None,
    ) -> "Terms":
        """Check the costs of errors; fees are checked where they meet the cases."""
        return cls(
            None if fees is None else np.asarray(fees, dtype=np.float64),
            ErrorCosts.of(cost_matrix, n_classes=n_classes, error_cost=1.0 if error_cost is None else error_cost),
            costs_given=error_cost is not None or cost_matrix is not None,
        )

    @property
    def given(self) -> bool:
        """Whether fees or costs of errors were given."""
        return self.fees is not None or self.costs_given

    @property
    def unit(self) -> float:
        """What the dearest error costs; 1 where no error costs anything."""
        return self.costs.largest or 1.0

    @property
    def fees_in_errors(self) -> FloatArray | None:
        """The fees in units of the dearest error."""
        return None if self.fees is None else self.fees / self.unit

    def charged(self, *, n_items: int, n_experts: int) -> FloatArray:
        """Return what each question costs, (n, J)."""
        fees = np.full(n_experts, DEFAULT_FEE * self.costs.largest) if self.fees is None else self.fees
        return fee_matrix(fees, n_items=n_items, n_experts=n_experts)

    def take(self, rows: BoolArray) -> "Terms":
        """Return the terms of some of n items."""
        per_item = self.fees is not None and self.fees.ndim == 2
        return replace(self, fees=self.fees[rows]) if per_item and self.fees is not None else self

    def same_as(self, other: "Terms") -> bool:
        """Whether both lead to the same decisions: the same fees and costs, in units of the dearest error."""
        mine, others = (0.0 if one.fees_in_errors is None else one.fees_in_errors for one in (self, other))
        if np.ndim(mine) == 2 or np.ndim(others) == 2:
            return False
        matrix, others_matrix = (one.costs.matrix / one.unit for one in (self, other))
        return np.allclose(mine, others, rtol=1e-12) and np.allclose(matrix, others_matrix, rtol=1e-12)
