"""The next steps of a batch of cases: by the router, within everybody's capacity, as if they came in turn."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.results import MODEL
from defero.core.results.steps import Steps
from defero.core.scores import Scores, logit, sigmoid
from defero.decide.terms import DEFAULT_FEE, Terms
from defero.service.events import Asked, Entry, ModelChanged, Observed, Received, Rerouted, Settled
from defero.service.flow.directing import Directed, case_limits, direct
from defero.service.flow.team import Row, WorkingTeam
from defero.service.views.cases import CaseState
from defero.service.views.drift import MODEL as THE_MODEL
from defero.service.views.ledger import Ledger
from defero.service.views.policy import Policy
from defero.team.asking import next_step_of


@dataclass(frozen=True, eq=False)
class Batch:
    """Cases that need a next step, with what the model makes of them.

    Attributes
    ----------
    states : n case states
    features : (n, d)
    scores : Scores of n cases
    rows : n features as they came in
    """

    states: Sequence[CaseState]
    features: Any
    scores: Scores
    rows: Sequence[Row]


def take_steps(ledger: Ledger, team: WorkingTeam, batch: Batch) -> None:
    """Add to the ledger whom each case goes to, or its answer.

    Cases are decided together. Where somebody's capacity ends in the middle, the cases after that are decided again
    without them, so that the result is that of deciding one by one. A case whose question is with somebody else
    keeps waiting unless it can be answered.
    """
    batch = replace(batch, scores=corrected_scores(batch.scores, ledger.drift.corrections(), team.people))
    left = np.array([ledger.left_today(person) for person in team.people])
    limits = case_limits(team, ledger.policy, batch.states, batch.scores, batch.rows)
    fresh = _not_asked_yet(team, batch.states) & limits.may_ask
    start = 0
    while start < len(batch.states):
        rows = slice(start, None)
        can = fresh[rows] & (left >= 1)
        steps = _decide(team, ledger.policy, batch, rows, can)
        worth = ledger.policy.error_cost * batch.scores.expert_proba[rows] - _fees(ledger.policy, team)
        directed = direct(steps.ask, limits.take(rows), can, worth, [s.case for s in batch.states[rows]], ledger.policy)
        start += _record(ledger, team, steps, directed, batch, start, left)


def _decide(team: WorkingTeam, policy: Policy, batch: Batch, rows: slice, can: BoolArray) -> Steps:
    matrix = _cost_matrix(team, policy)
    terms = Terms(
        fees=team.fees(policy.fees),
        error_cost=policy.error_cost if matrix is None else None,
        cost_matrix=matrix,
        available=can,
    )
    return next_step_of(
        team.router,
        batch.features[rows],
        batch.scores.take(rows),
        team.answer_numbers([state.answers for state in batch.states[rows]]),
        terms.of(team.router.expert_names, team.router.classes),
    )


def _record(
    ledger: Ledger, team: WorkingTeam, steps: Steps, directed: Directed, batch: Batch, start: int, left: FloatArray
) -> int:
    """Add steps to the ledger until somebody's capacity is used up; return how many."""
    # The log holds no names: reasons have ids in braces, which replies put the names in.
    reasons = replace(steps, expert_names=tuple(f"{{{person}}}" for person in team.people)).reason
    numbers = np.round([steps.p_right, steps.answer_cost, steps.expected_cost], 6).T.tolist()
    proba, labels, fees = batch.scores.expert_proba, steps.label.tolist(), _fees(ledger.policy, team).tolist()
    corrections = ledger.drift.corrections()
    shadow = ledger.policy.mode == "shadow"
    for i, expert in enumerate(directed.ask.tolist()):
        state = batch.states[start + i]
        if expert != MODEL and state.asked is not None:
            continue
        p_right, answer_cost, expected_cost = numbers[i]
        step: dict[str, Any] = {
            "label": labels[i],
            "p_right": p_right,
            "answer_cost": answer_cost,
            "expected_cost": expected_cost,
            "reason": directed.why[i].format(person=f"{{{team.people[expert]}}}") if i in directed.why else reasons[i],
            "model": team.version,
            "policy": ledger.policy.version,
        }
        if expert == MODEL:
            people_heard, shift = tuple(person for person, _ in state.answers), corrections.get(THE_MODEL, 0.0)
            ledger.add(Settled(**step, heard=people_heard, shift=shift, chance=directed.chance[i]), state.case)
            continue
        left[expert] -= not shadow
        person, p_person = team.people[expert], round(float(proba[start + i, expert]), 6)
        terms = {"person": person, "p_person": p_person, "fee": fees[expert]}
        terms["shift"] = corrections.get(person, 0.0)
        if shadow:
            _observe(ledger, state, {**step, **terms}, corrections.get(THE_MODEL, 0.0))
            continue
        ledger.add(_question(ledger, state, {**step, **terms, "chance": directed.chance[i]}), state.case)
        if left[expert] < 1:  # others may count on asking them next: what follows is decided anew
            return i + 1
    return len(steps)


def _question(ledger: Ledger, state: CaseState, terms: Mapping[str, Any]) -> Asked:
    within = ledger.policy.answer_within
    due = None if within is None else ledger.now + within
    before = state.was_asked[-1] if state.was_asked else None
    if before is None or before in dict(state.answers):
        return Asked(**terms, due=due)
    return Rerouted(**terms, due=due, instead_of=before)


def _observe(ledger: Ledger, state: CaseState, terms: Mapping[str, Any], shift: float) -> None:
    """Record whom the case would go to; with the policy's answer "model", answer it."""
    ledger.add(Observed(**terms), state.case)
    if ledger.policy.shadow_answer == "model":
        step = {name: value for name, value in terms.items() if name not in ("person", "p_person", "fee", "shift")}
        reason = f"observe only: would ask {{{terms['person']}}}"
        people_heard = tuple(person for person, _ in state.answers)
        ledger.add(Settled(**{**step, "reason": reason}, heard=people_heard, shift=shift), state.case)


def _fees(policy: Policy, team: WorkingTeam) -> FloatArray:
    """Return what a question to each expert costs, (J,)."""
    fees = team.fees(policy.fees)
    if fees is not None:
        return fees
    matrix = _cost_matrix(team, policy)
    dearest = policy.error_cost if matrix is None else float(matrix.max())
    return np.full(len(team.people), DEFAULT_FEE * dearest)


def _cost_matrix(team: WorkingTeam, policy: Policy) -> FloatArray | None:
    """Return the costs of errors (K, K); what the policy does not name costs as any error, a right answer nothing."""
    if policy.cost_matrix is None:
        return None
    n_classes = len(team.class_values)
    matrix = policy.error_cost * (1 - np.eye(n_classes))
    for truth, row in policy.cost_matrix.items():
        for answer, cost in row.items():
            matrix[team.class_of(truth, what="cost_matrix"), team.class_of(answer, what="cost_matrix")] = cost
    return matrix


def _not_asked_yet(team: WorkingTeam, states: Sequence[CaseState]) -> BoolArray:
    """Return who never got the question of a case, (n, J)."""
    fresh = np.ones((len(states), len(team.people)), dtype=np.bool_)
    place = {person: j for j, person in enumerate(team.people)}
    for i, state in enumerate(states):
        people_heard = (person for person, _ in state.answers)
        for person in (*state.was_asked, *people_heard):
            if person in place:
                fresh[i, place[person]] = False
    return fresh


def corrected_scores(scores: Scores, corrections: Mapping[str, float], people: Sequence[str]) -> Scores:
    """Return scores with the promises as corrected after drift.

    An expert's log-odds are shifted. Of the model, those of its first class are, and the other classes share the rest
    as before; its first class stays the first.

    >>> scores = Scores.from_probabilities([[0.8, 0.2]], [[0.9, 0.5]])
    >>> corrected_scores(scores, {"p1": -1.0, "model": -0.5}, ["p1", "p2"]).expert_proba.round(3).tolist()
    [[0.768, 0.5]]
    """
    shifts = np.array([corrections.get(person, 0.0) for person in people])
    if shifts.any():
        scores = replace(scores, expert_proba=_shifted(scores.expert_proba, shifts))
    by_model = corrections.get(THE_MODEL, 0.0)
    if by_model:
        model_proba = _shifted(scores.model_proba, by_model)
        scores = replace(scores, class_proba=_first_shifted(scores.class_proba, by_model), model_proba=model_proba)
    return scores


def _shifted(proba: FloatArray, shift: FloatArray | float) -> FloatArray:
    return sigmoid(logit(proba) + shift)


def _first_shifted(class_proba: FloatArray, shift: float) -> FloatArray:
    """Return class probabilities (n, K) whose largest one has other log-odds, but stays the largest."""
    rows, first = np.arange(len(class_proba)), class_proba.argmax(axis=1)
    largest = class_proba[rows, first]
    others = class_proba.copy()
    others[rows, first] = 0.0
    rest = others.sum(axis=1)
    share = np.divide(others, rest[:, None], out=np.zeros_like(others), where=rest[:, None] > 0)
    second = share.max(axis=1)
    new = np.where(rest > 0, np.maximum(_shifted(largest, shift), second / (1 + second)), 1.0)
    shifted = share * (1 - new)[:, None]
    shifted[rows, first] = new
    return shifted


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
