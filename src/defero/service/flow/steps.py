"""The next steps of a batch of cases: by the router, within everybody's capacity, as if they came in turn.

Beside costs a policy says rules, how many are heard, and exploration at random.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.results import MODEL
from defero.core.results.steps import NextSteps
from defero.core.scores import Scores, logit, sigmoid
from defero.data.tables.cells import text_of
from defero.decide.terms import DEFAULT_FEE, Terms
from defero.service.events import Asked, Observed, Rerouted, Row, Settled
from defero.service.flow.team import WorkingTeam
from defero.service.views import Ledger
from defero.service.views.cases import CaseState
from defero.service.views.policy import Policy, PolicyRule
from defero.service.views.promises import MODEL as THE_MODEL
from defero.team.asking import next_step_of

BY_RULE = "ask {person}: a rule sends such cases to a person"
BY_PANEL = "ask {person}: next of the panel"
BY_CHANCE = "ask {person}: chosen at random to learn more"


@dataclass(frozen=True, eq=False)
class CaseLimits:
    """What the policy allows and demands of n cases.

    Attributes
    ----------
    may_ask : (n, J)
        Who may be asked.
    by_rule : (n,)
        Whether somebody must be heard first, by a rule.
    in_panel : (n,)
        Whether a panel has begun that is not complete.
    new : (n,)
        Whether nobody was asked so far.
    """

    may_ask: BoolArray
    by_rule: BoolArray
    in_panel: BoolArray
    new: BoolArray

    def take(self, rows: slice) -> "CaseLimits":
        """Return those of some cases."""
        return CaseLimits(self.may_ask[rows], self.by_rule[rows], self.in_panel[rows], self.new[rows])


@dataclass(frozen=True, eq=False)
class Directed:
    """Whom to ask after all, (n,) with -1 for "answer"; the chance of it, and why where it is not for its cost."""

    ask: IntArray
    chance: Sequence[float]
    why: Mapping[int, str]


def case_limits(
    team: WorkingTeam, policy: Policy, states: Sequence[CaseState], scores: Scores, rows: Sequence[Row]
) -> CaseLimits:
    """Return what a policy allows and demands of some cases."""
    n_heard = np.array([len(state.answers) for state in states], dtype=np.int64)
    new = np.array([not state.was_asked and not state.answers for state in states], dtype=np.bool_)
    most = {"one": 1, "panel": policy.panel_size}.get(policy.asking, len(team.people))
    may_ask = np.repeat((n_heard < most)[:, None], len(team.people), axis=1)
    by_rule = np.zeros(len(states), dtype=np.bool_)
    for rule in policy.rules:
        hit = _matches(rule, team, scores, rows)
        if rule.do == "ask":
            by_rule |= hit & (n_heard == 0)
        elif rule.person in team.people:
            may_ask[hit, team.people.index(rule.person)] = False
    in_panel = (n_heard > 0) & (n_heard < most) & (policy.asking == "panel")
    return CaseLimits(may_ask, by_rule, in_panel, new)


def _matches(rule: PolicyRule, team: WorkingTeam, scores: Scores, rows: Sequence[Row]) -> BoolArray:
    hit = np.ones(len(rows), dtype=np.bool_)
    if rule.label is not None:
        hit &= scores.class_idx == team.class_of(rule.label, what="label of a rule")
    if rule.column is not None:
        hit &= np.array([_same(_cell(row, rule.column), rule.equals) for row in rows], dtype=np.bool_)
    return hit


def _cell(row: Row, column: str) -> Any:
    """Return the value of a column; x0, x1, ... where cases are lists of numbers."""
    if isinstance(row, Mapping):
        return row.get(column)
    place = column[1:]
    return row[int(place)] if place.isdecimal() and int(place) < len(row) else None


def _same(cell: Any, value: Any) -> bool:
    return cell is value if cell is None or value is None else text_of(cell) == text_of(value)


def direct(
    ask: IntArray, limits: CaseLimits, can: BoolArray, worth: FloatArray, cases: Sequence[str], policy: Policy
) -> Directed:
    """Return whom to ask: by cost, unless a rule, a panel or chance says otherwise.

    Parameters
    ----------
    ask : (n,)
        By cost; -1: answer.
    limits : CaseLimits of n cases
    can : (n, J)
        Who can be asked now.
    worth : (n, J)
        Error cost times P(right), less the fee: who is the next best.
    cases : n ids
        Chance comes from them, so that the same cases give the same choice.
    policy : Policy
    """
    chosen = np.array(ask)
    why: dict[int, str] = {}
    best = np.where(can, worth, -np.inf).argmax(axis=1) if can.shape[1] else np.zeros(len(ask), dtype=np.int64)
    for demand, reason in ((limits.by_rule, BY_RULE), (limits.in_panel, BY_PANEL)):
        for i in np.flatnonzero(demand & (chosen == MODEL) & can.any(axis=1)).tolist():
            chosen[i], why[i] = best[i], reason
    chance = [1.0] * len(ask)
    if policy.explore > 0:
        for i in np.flatnonzero(limits.new).tolist():
            others = [int(j) for j in np.flatnonzero(can[i]) if j != chosen[i]]
            if not others:
                continue
            draw, chance[i] = _uniform(cases[i], policy.version), 1 - policy.explore
            if draw < policy.explore:
                chosen[i] = others[int(draw / policy.explore * len(others))]
                chance[i], why[i] = policy.explore / len(others), BY_CHANCE
    return Directed(chosen, chance, why)


def _uniform(case: str, version: int) -> float:
    """Return a number in [0, 1) that depends on nothing but the id of a case and the version of a policy.

    >>> 0 <= _uniform("c1", 2) < 1, _uniform("c1", 2) == _uniform("c1", 2), _uniform("c1", 2) == _uniform("c1", 3)
    (True, True, False)
    """
    digest = hashlib.blake2b(f"{case} {version}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


@dataclass(frozen=True, eq=False)
class CaseBatch:
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


def take_steps(ledger: Ledger, team: WorkingTeam, batch: CaseBatch) -> None:
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


def _decide(team: WorkingTeam, policy: Policy, batch: CaseBatch, rows: slice, can: BoolArray) -> NextSteps:
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
    ledger: Ledger, team: WorkingTeam, steps: NextSteps, directed: Directed, batch: CaseBatch, at: int, left: FloatArray
) -> int:
    """Add steps to the ledger until somebody's capacity is used up; return how many."""
    # The log holds no names: reasons have ids in braces, which replies put the names in.
    reasons = replace(steps, expert_names=tuple(f"{{{person}}}" for person in team.people)).reason
    numbers = np.round([steps.p_right, steps.answer_cost, steps.expected_cost], 6).T.tolist()
    proba, labels, fees = batch.scores.expert_proba, steps.label.tolist(), _fees(ledger.policy, team).tolist()
    corrections = ledger.drift.corrections()
    shadow = ledger.policy.mode == "shadow"
    for i, expert in enumerate(directed.ask.tolist()):
        state = batch.states[at + i]
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
        person, p_person = team.people[expert], round(float(proba[at + i, expert]), 6)
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
