"""A share of right answers, with how far it can be trusted."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks import BoolArray, IntArray
from defero.metrics.statistics.intervals import wilson_interval


@dataclass(frozen=True)
class Share:
    """A share of right answers with its 95 % Wilson interval.

    >>> share = Share(8, 10)
    >>> share.value, [round(end, 2) for end in share.interval]
    (0.8, [0.49, 0.94])
    """

    right: int
    total: int

    @property
    def value(self) -> float:
        """The share; nan where nothing was asked."""
        return self.right / self.total if self.total else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end."""
        return wilson_interval(self.right, self.total)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        low, high = self.interval
        return {"accuracy": number(self.value), "low": number(low), "high": number(high), "n": self.total}


def counts_by_expert(whom: IntArray, was_right: BoolArray, n_experts: int) -> tuple[IntArray, IntArray]:
    """Return how many cases went to each expert and how many came out right, (J,) each.

    >>> load, right = counts_by_expert(np.array([0, 0, 2]), np.array([True, False, True]), 3)
    >>> load.tolist(), right.tolist()
    ([2, 0, 1], [1, 0, 1])
    """
    return np.bincount(whom, minlength=n_experts), np.bincount(whom[was_right], minlength=n_experts)


def number(value: float) -> float | None:
    """Return a plain float for JSON, which has no nan: None there.

    >>> number(float("nan")) is None
    True
    """
    return None if math.isnan(value) else float(value)
