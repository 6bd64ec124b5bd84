"""Which role may call which route: one table, which one dependency enforces. A route that is not here is closed."""

EVERYBODY = frozenset({"lead", "expert", "machine"})
_LEAD, _BOTH = frozenset({"lead"}), frozenset({"lead", "machine"})

OPEN = frozenset({"GET /health", "GET /openapi.json"})
"""Routes without a token; they tell nothing of cases or people."""

WITH_SECRET = frozenset({"POST /v1/label-studio/annotations"})
"""Routes that other servers call with a secret of their own, which the route itself checks."""

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
