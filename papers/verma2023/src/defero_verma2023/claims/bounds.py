"""Where a number must lie for a claim to hold, what an interval says of that, and how many seeds would settle it."""

import math
from dataclasses import dataclass

from scipy.special import ndtri, stdtr, stdtrit

from defero_verma2023.claims.verdict import CONFIRMED, CONTRADICTED, INCONCLUSIVE, LEVEL, Direction, Estimate

MOST_SEEDS = 10_000
"""Nobody trains more: an effect that needs them is as good as none."""


@dataclass(frozen=True)
class Bounds:
    """The values for which a claim holds, without the ends.

    >>> Bounds(low=0.0).direction(Estimate(1.25, 1.0, 1.5, 3, 9))
    'confirmed'
    >>> Bounds(low=0.0).direction(Estimate(0.25, -1.0, 1.5, 3, 9))
    'inconclusive'
    """

    low: float = -math.inf
    high: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.low < value < self.high

    def direction(self, value: Estimate) -> Direction:
        """Return whether the interval lies inside, outside or across; across without an interval."""
        if self.low < value.low and value.high < self.high:
            return CONFIRMED
        if value.high < self.low or self.high < value.low:
            return CONTRADICTED
        return INCONCLUSIVE

    def seeds_needed(self, value: Estimate) -> int | None:
        """Return the smallest number of seeds whose Student's interval would reach no bound.

        The mean and the spread are taken as they are: another seed moves both. None where they say nothing: one seed
        has no spread, a mean on the bound needs ever more, and beyond `MOST_SEEDS` nobody looks.

        >>> Bounds(low=0.0).seeds_needed(Estimate(1.0, -1.48, 3.48, 3, 1, deviation=1.0))
        7
        """
        distance = min(abs(value.mean - bound) for bound in (self.low, self.high))
        if math.isnan(value.deviation) or distance == 0:
            return None
        tail = (1 + value.level) / 2
        # Student's quantile is above the normal one, so fewer can not be enough.
        n = max(2, math.ceil((float(ndtri(tail)) * value.deviation / distance) ** 2))
        while n <= MOST_SEEDS and float(stdtrit(n - 1, tail)) * value.deviation / math.sqrt(n) >= distance:
            n += 1
        return n if n <= MOST_SEEDS else None

    def p_value(self, value: Estimate) -> float:
        """Return the p value of the nearest bound: below 0.05 exactly where the estimate's own interval reaches none.

        Student's, two-sided; where the interval is wider than 95 %, multiplied by how many settings it is widened for.
        nan for one seed, which has no spread.

        >>> round(Bounds(low=0.0).p_value(Estimate(1.0, -1.48, 3.48, 3, 1, deviation=1.0)), 3)
        0.225
        """
        if math.isnan(value.deviation):
            return math.nan
        distance = min(abs(value.mean - bound) for bound in (self.low, self.high))
        if value.deviation == 0:
            return 0.0 if distance else 1.0
        p = 2 * float(stdtr(value.n_seeds - 1, -distance * math.sqrt(value.n_seeds) / value.deviation))
        return min(1.0, p * (1 - LEVEL) / (1 - value.level))

    @property
    def complement(self) -> "Bounds":
        """The other side of a single bound."""
        return Bounds(low=self.high) if math.isinf(self.low) else Bounds(high=self.low)


ABOVE_ZERO = Bounds(low=0.0)


def within(margin: float) -> Bounds:
    """Return the bounds of "alike": up to a margin, either way.

    >>> within(2.0)
    Bounds(low=-2.0, high=2.0)
    """
    return Bounds(-margin, margin)
