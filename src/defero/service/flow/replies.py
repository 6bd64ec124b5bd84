"""What a client is told of a case: plain values for JSON."""

import re
from collections.abc import Mapping
from typing import Any

from defero.service.events import Asked, Entry, ModelChanged, Observed, Received, Settled
from defero.service.views.cases import CaseState

_ID = re.compile(r"\{(p[0-9]+)\}")


def with_names(reason: str, names: Mapping[str, str]) -> str:
    """Return a reason of the log with names in place of ids.

    >>> with_names("ask {p2}: 0.200 expected", {"p2": "ann"})
    'ask ann: 0.200 expected'
    """
    return _ID.sub(lambda place: names.get(place[1], place[1]), reason)


def step_reply(case: str, step: Asked | Settled | Observed, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a step: the answer, or whom to ask; "observed" where nobody is asked because the policy observes only."""
    asks = not isinstance(step, Settled)
    return {
        "case": case,
        "status": {"settled": "settled", "observed": "observed"}.get(step.kind, "open"),
        "ask": names.get(step.person, step.person) if isinstance(step, Asked) else None,
        "person": step.person if isinstance(step, Asked) else None,
        "due": step.due if isinstance(step, Asked) else None,
        "label": None if asks else step.label,
        "p_right": step.p_right,
        "answer_cost": step.answer_cost,
        "expected_cost": step.expected_cost,
        "reason": with_names(step.reason, names),
        "model": step.model,
        "policy": step.policy,
    }


def decided(fact: Settled, names: Mapping[str, str]) -> dict[str, Any]:
    """Return an answer: the label, how sure it is, who was heard, and why."""
    names_heard = [names.get(person, person) for person in fact.heard]
    return {**vars(fact), "heard": names_heard, "reason": with_names(fact.reason, names)}


def state_reply(state: CaseState, names: Mapping[str, str]) -> dict[str, Any]:
    """Return where a case stands, in the form of a step."""
    step = state.step
    return {
        "case": state.case,
        "status": "settled" if state.settled else "observed" if state.observed and state.asked is None else "open",
        "ask": None if state.asked is None else names.get(state.asked, state.asked),
        "person": state.asked,
        "due": state.due,
        "label": state.label,
        "p_right": None if step is None else step.p_right,
        "answer_cost": None if step is None else step.answer_cost,
        "expected_cost": None if step is None else step.expected_cost,
        "reason": "" if step is None else with_names(step.reason, names),
        "model": "" if step is None else step.model,
        "policy": 0 if step is None else step.policy,
    }


_NOT_FOR_EXPERTS = ("ask", "person", "label", "p_right", "answer_cost", "expected_cost")


def seen_by_expert(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step as an expert sees it: who is asked next, and what the team makes of the case, would sway them.

    >>> seen_by_expert({"case": "c1", "status": "settled", "label": "ill", "p_right": 0.97, "reason": "answer: ..."})
    {'case': 'c1', 'status': 'settled', 'label': None, 'p_right': None, 'reason': ''}
    """
    hidden = {name: None for name in _NOT_FOR_EXPERTS if name in reply}
    return {**reply, **hidden, "reason": ""}


class Beliefs:
    """What the model believed when cases came: P(class) and P(expert is right), by name.

    Parameters
    ----------
    model : ModelChanged, optional
        The model of now; of cases that another one scored only numbers are known.
    names : mapping
        Names of people by id.
    """

    def __init__(self, model: ModelChanged | None, names: Mapping[str, str]) -> None:
        self.version = None if model is None else model.version
        self.classes = [] if model is None else [str(one) for one in model.classes]
        self.experts = [] if model is None else [names.get(person, person) for person in model.experts]

    def of(self, received: Received) -> dict[str, Any]:
        """Return the probabilities of one case."""
        classes, experts = self.classes, self.experts
        if self.version != received.model:
            classes = [str(k) for k in range(len(received.p_model))]
            experts = [f"expert {j}" for j in range(len(received.p_expert))]
        return {
            "p_class": dict(zip(classes, received.p_model, strict=True)),
            "p_expert": dict(zip(experts, received.p_expert, strict=True)),
            "unusual": received.unusual.split("; ") if received.unusual else [],
        }


def first_step(entries: list[Entry]) -> tuple[Received, Asked | Settled | Observed]:
    """Return how a case came in, and its first step; of one that is only observed, the answer that it got."""
    received = next(entry.fact for entry in entries if isinstance(entry.fact, Received))
    steps = [entry.fact for entry in entries if isinstance(entry.fact, Asked | Settled | Observed)]
    answered = isinstance(steps[0], Observed) and len(steps) > 1 and isinstance(steps[1], Settled)
    return received, steps[1] if answered else steps[0]
