"""Which role may call which route, and how often; a route that is not here is closed. Enforced by `GuardedRoute`."""

import time
from collections.abc import Callable, Mapping

EVERYBODY = frozenset({"lead", "expert", "machine"})
_LEAD, _BOTH = frozenset({"lead"}), frozenset({"lead", "machine"})

OPEN = frozenset({"GET /health", "GET /openapi.json"})
"""Routes without a token; they tell nothing of cases or people."""

WITH_SECRET = {"POST /v1/label-studio/annotations": ("Defero-Secret", "label_studio")}
"""Routes that other servers call with a secret: the header that holds it, and its name in the database."""

ALLOWED: dict[str, frozenset[str]] = {
    "GET /metrics": _BOTH,
    "GET /v1/me": EVERYBODY,
    "POST /v1/cases": _BOTH,
    "GET /v1/cases/{case}": EVERYBODY,
    "GET /v1/cases/{case}/trail": _LEAD,
    "DELETE /v1/cases/{case}/content": _LEAD,
    "POST /v1/answers": EVERYBODY,
    "POST /v1/skips": EVERYBODY,
    "GET /v1/questions": EVERYBODY,
    "POST /v1/outcomes": _BOTH,
    "GET /v1/decisions": _BOTH,
    "GET /v1/export.csv": _LEAD,
    "GET /v1/tallies": _LEAD,
    "GET /v1/policy": _BOTH,
    "PUT /v1/policy": _LEAD,
    "GET /v1/policies": _LEAD,
    "POST /v1/policies/preview": _LEAD,
    "POST /v1/policies/{version}/restore": _LEAD,
    "GET /v1/drift": _LEAD,
    "POST /v1/drift/{who}": _LEAD,
    "GET /v1/models": _LEAD,
    "POST /v1/models": _LEAD,
    "GET /v1/models/comparison": _LEAD,
    "POST /v1/models/{version}/switch": _LEAD,
    "GET /v1/webhooks": _LEAD,
    "POST /v1/webhooks": _LEAD,
    "DELETE /v1/webhooks/{hook}": _LEAD,
    "GET /v1/language-models": _LEAD,
    "PUT /v1/language-models/{person}": _LEAD,
    "DELETE /v1/language-models/{person}": _LEAD,
    "GET /v1/label-studio": _LEAD,
    "PUT /v1/label-studio": _LEAD,
    "DELETE /v1/label-studio": _LEAD,
    "GET /v1/people": _BOTH,
    "POST /v1/people": _LEAD,
    "PATCH /v1/people/{person}": frozenset({"lead", "expert"}),
    "DELETE /v1/people/{person}": _LEAD,
    "POST /v1/people/{person}/tokens": _LEAD,
    "DELETE /v1/people/{person}/tokens": _LEAD,
}
"""Roles by method and route. Experts see and change what is theirs alone: their questions, cases they were asked about,
their own availability; for anything else they get the reply of a thing that does not exist."""

_EXPERT, _PEOPLE = frozenset({"expert"}), frozenset({"lead", "expert"})

OPEN_PAGES = frozenset({"GET /in/{link}", "GET /assets/{name}"})
"""Pages without a session: the signed link that makes one, and the style of the pages."""

PAGES: dict[str, frozenset[str]] = {
    "GET /": _PEOPLE,
    "POST /out": _PEOPLE,
    "GET /inbox": _EXPERT,
    "POST /inbox/answer": _EXPERT,
    "POST /inbox/skip": _EXPERT,
    "POST /inbox/undo": _EXPERT,
    "POST /inbox/availability": _EXPERT,
    "GET /console": _LEAD,
    "GET /console/people": _LEAD,
    "POST /console/people": _LEAD,
    "POST /console/people/{person}": _LEAD,
    "POST /console/people/{person}/link": _LEAD,
    "POST /console/people/{person}/revoke": _LEAD,
    "POST /console/people/{person}/remove": _LEAD,
    "GET /console/cases": _LEAD,
    "POST /console/cases": _LEAD,
    "GET /console/cases/{case}": _LEAD,
    "POST /console/drift/{who}": _LEAD,
    "GET /console/policy": _LEAD,
    "POST /console/policy": _LEAD,
    "POST /console/policy/preview": _LEAD,
    "POST /console/policy/mode": _LEAD,
    "POST /console/policy/{version}/restore": _LEAD,
    "GET /console/models": _LEAD,
    "POST /console/models": _LEAD,
    "POST /console/models/{version}/switch": _LEAD,
    "GET /console/connections": _LEAD,
    "POST /console/connections/language-models": _LEAD,
    "POST /console/connections/language-models/{person}/end": _LEAD,
    "POST /console/connections/label-studio": _LEAD,
    "POST /console/connections/label-studio/end": _LEAD,
    "POST /console/connections/webhooks": _LEAD,
    "POST /console/connections/webhooks/{hook}/end": _LEAD,
}
"""Roles by method and route of the pages that people open in a browser."""

ROUTES = {**ALLOWED, **PAGES}
"""Every route that needs a token or a session."""


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
