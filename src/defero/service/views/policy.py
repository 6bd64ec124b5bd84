"""Policy: what questions and errors cost, and how long a question waits. Every change is a new version."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from defero.core.errors import InputError

DAY = 86_400.0
ON_DRIFT = ("warn", "correct")


@dataclass(frozen=True)
class Policy:
    """On what terms cases are decided.

    Attributes
    ----------
    fees : {person: money}
        What a question costs, in the unit of the error costs. With none at all a question costs 0.01 of the dearest
        error; with some, whoever is not named is free.
    error_cost : float
        What an error costs that `cost_matrix` does not name.
    cost_matrix : {truth: {answer: money}}, optional
    answer_within : float, optional
        Seconds until a question goes to somebody else; None: never.
    on_drift : "warn" or "correct"
        Whether an alarm on a promise waits for the lead, or corrects the promise at once.
    version : int
        Counted from 1; 0 is the default policy of a new log.

    Examples
    --------
    >>> Policy.from_dict({"fees": {"p1": 2.5}, "error_cost": 40}, version=3).fees
    {'p1': 2.5}
    """

    fees: Mapping[str, float] = field(default_factory=dict)
    error_cost: float = 1.0
    cost_matrix: Mapping[str, Mapping[str, float]] | None = None
    answer_within: float | None = DAY
    on_drift: str = "warn"
    version: int = 0

    def __post_init__(self) -> None:
        amounts = {"error_cost": self.error_cost, **{f"fees of {who}": fee for who, fee in self.fees.items()}}
        for truth, row in (self.cost_matrix or {}).items():
            amounts |= {f"cost_matrix of {truth} and {answer}": cost for answer, cost in row.items()}
        for name, amount in amounts.items():
            if not math.isfinite(amount) or amount < 0:
                raise InputError(f"must be a finite number of at least 0, got {amount}.", argument=name)
        if self.answer_within is not None and not 0 < self.answer_within < math.inf:
            raise InputError(
                f"must be a positive number of seconds, got {self.answer_within}.", argument="answer_within"
            )

        if self.on_drift not in ON_DRIFT:
            raise InputError(f"must be one of {', '.join(ON_DRIFT)}, got {self.on_drift!r}.", argument="on_drift")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without the version."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "version"}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, version: int) -> "Policy":
        """Return the policy of a version."""
        return cls(**values, version=version)
