"""Drift on the console: who keeps their promises, alarms, and what was done about them."""

import math
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from defero.monitoring.drift import START, THRESHOLD
from defero.service.api import watching as api
from defero.service.api.caller import InOffice
from defero.service.api.schemas import DriftActIn
from defero.service.api.sending import form_of, needed
from defero.service.events import DriftActed, DriftRaised, Entry
from defero.service.pages.sight import Sight
from defero.service.pages.words import percent
from defero.service.problems import Problem
from defero.service.store import log
from defero.service.views.drift import ACTIONS, MODEL

router = APIRouter()
MOST_HISTORY = 20
EXAMPLE = 0.8
"""A promise, to show what a correction does."""
DONE = {
    "correct": "corrected the promise of {name}",
    "dismiss": "dismissed the alarm about {name}",
    "withdraw": "withdrew the correction of {name}",
}


@router.post("/console/drift/{who}")
async def act(request: Request, who: api.Who, office: InOffice) -> Response:
    """Correct, dismiss or withdraw; the panel comes back."""
    action = needed(await form_of(request), "action")
    if action not in ACTIONS:
        raise Problem(422, f"action: must be one of {', '.join(ACTIONS)}.")
    await api.act_on_drift(request, who, DriftActIn(action=action), office)
    return RedirectResponse("/console#drift", 303)


def drift_panel(sight: Sight) -> dict[str, Any]:
    """Return everybody who was judged, those with an alarm first, and the last alarms with what was done."""
    names = {**sight.names, MODEL: "the model"}
    rows = [
        {
            **row,
            "nearness": nearness(row["evidence"]),
            "example": EXAMPLE,
            "corrected": corrected(EXAMPLE, row["correction"]),
        }
        for row in sight.drift_rows()
    ]
    rows.sort(key=lambda row: (not row["alarmed"], not row["correction"], -row["evidence"]))
    kinds = ("drift_raised", "drift_acted")
    entries = log.last_of_kinds(sight.connection, kinds=kinds, limit=MOST_HISTORY)
    history = [{"at": one.at, "what": sentence(one, names)} for one in reversed(entries)]
    return {"rows": rows, "history": history, "on_drift": sight.ledger.policy.on_drift}


def nearness(evidence: float) -> float:
    """Return how near the evidence is to an alarm, from 0 (no news) to 1, on a log scale.

    >>> nearness(100.0), nearness(5_300.0), nearness(1e9)
    (0.0, 1.0, 1.0)
    """
    return min(1.0, max(0.0, math.log(max(evidence, START) / START) / math.log(THRESHOLD / START)))


def corrected(promise: float, correction: float) -> float:
    """Return what becomes of a promise whose log-odds are shifted.

    >>> corrected(0.8, 0.0), round(corrected(0.8, -1.0), 2)
    (0.8, 0.6)
    """
    odds = promise / (1 - promise) * math.exp(correction)
    return odds / (1 + odds) if correction else promise


def sentence(entry: Entry, names: dict[str, str]) -> str:
    """Return an alarm, or what was done about it, in one sentence.

    >>> raised = DriftRaised(person="p1", n=40, promised=0.9, kept=0.6, shift=-1.2)
    >>> sentence(Entry(3, 0.0, None, raised), {"p1": "ann"})
    'Alarm: ann was right in 60 % of the last 40 outcomes, 90 % was promised.'
    """
    fact = entry.fact
    if isinstance(fact, DriftRaised):
        name, kept_share, promised = names.get(fact.person, fact.person), percent(fact.kept), percent(fact.promised)
        return f"Alarm: {name} was right in {kept_share} of the last {fact.n} outcomes, {promised} was promised."
    assert isinstance(fact, DriftActed)
    by = "The policy" if fact.by == "system" else names.get(fact.by, fact.by)
    return f"{by} {DONE[fact.action].format(name=names.get(fact.person, fact.person))}."
