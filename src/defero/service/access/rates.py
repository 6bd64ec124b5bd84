"""How many requests a caller may make: a bucket that fills steadily and holds a burst."""

import time
from collections.abc import Callable, Mapping

RATES: Mapping[str, tuple[float, float]] = {
    "machine": (2_000.0, 4_000.0),
    "lead": (50.0, 200.0),
    "expert": (20.0, 100.0),
    "nobody": (5.0, 50.0),
}
"""Requests a second, and the most at once, by role; whoever shows no valid token counts by address."""
_MOST_CALLERS = 10_000


class RateLimit:
    """Counts requests by caller.

    >>> limit = RateLimit({"expert": (1.0, 2.0)}, clock=lambda: 0.0)
    >>> [limit.allows("t1", "expert") for _ in range(3)]
    [True, True, False]
    """

    def __init__(
        self, rates: Mapping[str, tuple[float, float]] = RATES, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rates, self.clock = rates, clock
        self._left: dict[str, tuple[float, float]] = {}

    def allows(self, who: str, role: str) -> bool:
        """Whether a caller may make one more request now."""
        rate, most = self.rates[role]
        now = self.clock()
        left, before = self._left.get(who, (most, now))
        left = min(most, left + (now - before) * rate)
        if who not in self._left and len(self._left) >= _MOST_CALLERS:
            self._left.clear()  # a flood of addresses: everybody begins again
        self._left[who] = (left - 1 if left >= 1 else left, now)
        return left >= 1
