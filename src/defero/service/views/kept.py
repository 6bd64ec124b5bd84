"""Kept: promised against kept, with the interval of what was kept."""

from dataclasses import dataclass

from defero.metrics.statistics.intervals import wilson_interval

MILLION = 1_000_000
"""Tallies count probabilities and money in millionths."""


@dataclass(frozen=True)
class Kept:
    """Promised against kept: of n answers with an outcome.

    >>> Kept.of(n=100, right=70, promised=85.0).verdict
    'below'
    >>> Kept.of(n=0, right=0, promised=0.0).kept is None
    True
    """

    n: int
    promised: float | None
    kept: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, *, n: int, right: int, promised: float) -> "Kept":
        """Return the shares, and Wilson's 95 % interval of what was kept."""
        if n == 0:
            return cls(0, None, None, None, None)
        low, high = wilson_interval(right, n)
        return cls(n, promised / n, right / n, low, high)

    @property
    def verdict(self) -> str:
        """Return "below" or "above" where the promise lies outside the interval, "" where it does not."""
        if self.promised is None or self.low is None or self.high is None:
            return ""
        return "below" if self.high < self.promised else "above" if self.low > self.promised else ""
