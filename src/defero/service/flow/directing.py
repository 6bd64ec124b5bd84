"""What a policy says beside costs: rules, how many are heard, and exploration at random. Pure functions on arrays."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.results import MODEL
from defero.core.scores import Scores
from defero.data.tables.cells import text_of
from defero.service.flow.team import Row, WorkingTeam
from defero.service.views.cases import CaseState
from defero.service.views.policy import Policy, Rule

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


def _matches(rule: Rule, team: WorkingTeam, scores: Scores, rows: Sequence[Row]) -> BoolArray:
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
