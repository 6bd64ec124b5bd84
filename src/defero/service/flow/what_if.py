"""What if: past cases replayed under another policy or model, and new ones beside by a model that is only compared.

The code that decides cases works on a ledger that is thrown away.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from defero.service import Problem
from defero.service.events import Answered, Asked, Compared, Observed, Received, Row, Settled
from defero.service.flow.steps import CaseBatch, take_steps
from defero.service.flow.team import WorkingTeam
from defero.service.store import log
from defero.service.store.contents import read_contents
from defero.service.store.saved_views import read_cases
from defero.service.views import Ledger
from defero.service.views.cases import CaseState, Step
from defero.service.views.policy import Policy
from defero.service.views.tallies import day_of

MOST_CASES = 1_000
"""That are replayed: the last ones."""


@dataclass(frozen=True, eq=False)
class Past:
    """A case as it was: its state now, with the answers that came, and its features."""

    state: CaseState
    row: Row


def last_cases(connection: Connection, *, most: int) -> list[Past]:
    """Return the last cases that were not erased, the oldest first."""
    cases = [str(entry.case) for entry in log.last_of_kinds(connection, kinds=("received",), limit=most)]
    states, contents = read_cases(connection, cases), read_contents(connection, cases)
    return [Past(states[case], contents[case][1]) for case in cases if case in contents]


@dataclass(frozen=True)
class Replayed:
    """What a policy makes of past cases.

    Attributes
    ----------
    first : {case: person or None}
        Who is asked first; None: answered at once.
    questions : {person: number}
    n_settled, n_right, n_judged : int
        Cases with an answer, and of those with an outcome how many are right.
    n_waiting : int
        Cases that wait for an answer that nobody ever gave.
    expected_cost : float
        Mean over cases, as it was expected at the first step.
    fees : float
        Of all questions.
    """

    first: Mapping[str, str | None]
    questions: Mapping[str, int]
    n_settled: int
    n_right: int
    n_judged: int
    n_waiting: int
    expected_cost: float
    fees: float


def replay(ledger: Ledger, team: WorkingTeam, policy: Policy, past: Sequence[Past]) -> Replayed:
    """Decide past cases again, day by day within capacity; whoever is asked answers as they did then.

    A person who never answered the case leaves it waiting: what they would have said is not known.
    """
    scratch = Ledger(people=ledger.people, policy=policy, model=ledger.model, drift=ledger.drift)
    by_case = {one.state.case: one for one in past}
    days: dict[str, list[Past]] = {}
    for one in sorted(past, key=lambda one: one.state.received_at):
        days.setdefault(day_of(one.state.received_at), []).append(one)
    for cases in days.values():
        scratch.now = cases[0].state.received_at
        scratch.asked_today.clear()
        for one in cases:
            received = Received(model=team.version, policy=policy.version, p_model=(), p_expert=())
            scratch.add(received, one.state.case)
        waiting = [one.state.case for one in cases]
        while waiting:
            _take(scratch, team, [by_case[case] for case in waiting])
            waiting = [case for case in waiting if _answered(scratch, by_case[case].state)]
    return _summary(scratch, by_case)


def _take(scratch: Ledger, team: WorkingTeam, past: Sequence[Past]) -> None:
    rows = [one.row for one in past]
    matrix = team.matrix(rows)
    states = [scratch.cases[one.state.case] for one in past]
    take_steps(scratch, team, CaseBatch(states, matrix, team.router.score_features(matrix), rows))


def _answered(scratch: Ledger, then: CaseState) -> bool:
    """Give the answer that the person who is asked gave then; whether there is one."""
    person = scratch.cases[then.case].asked
    answer = None if person is None else then.all_answers.get(person)
    if person is None or answer is None:
        return False
    scratch.add(Answered(person=person, answer=answer, counted=True, by=person), then.case)
    return True


def _summary(scratch: Ledger, past: Mapping[str, Past]) -> Replayed:
    first: dict[str, str | None] = {}
    costs, questions, fees = [], Counter[str](), 0.0
    for entry in scratch.entries:
        fact, case = entry.fact, str(entry.case)
        if isinstance(fact, Asked | Observed):
            questions[fact.person] += 1
            fees += fact.fee
        if isinstance(fact, Asked | Observed | Settled) and case not in first:
            first[case] = None if isinstance(fact, Settled) else fact.person
            costs.append(fact.expected_cost)
    settled = [state for state in scratch.cases.values() if state.settled]
    judged = [state for state in settled if past[state.case].state.outcome is not None]
    return Replayed(
        first,
        dict(sorted(questions.items())),
        len(settled),
        sum(state.label == past[state.case].state.outcome for state in judged),
        len(judged),
        sum(state.asked is not None for state in scratch.cases.values()),
        sum(costs) / max(1, len(costs)),
        fees,
    )


def preview(ledger: Ledger, team: WorkingTeam, policy: Policy, past: Sequence[Past]) -> dict[str, Any]:
    """Return what another policy would change: who is asked, load, expected cost, questions."""
    return _difference(replay(ledger, team, ledger.policy, past), replay(ledger, team, policy, past))


def preview_model(ledger: Ledger, team: WorkingTeam, candidate: WorkingTeam, past: Sequence[Past]) -> dict[str, Any]:
    """Return what another model would change on past cases that both can read, and that neither was fitted on.

    A model that was fitted on the export knows the outcomes of these cases: it would look better than it is.
    """
    readable = [one for one in past if team.reads(one.row) and candidate.reads(one.row)]
    both = _not_fitted_on(candidate, _not_fitted_on(team, readable))
    fresh = Ledger(people=ledger.people, policy=ledger.policy)  # corrections are of the old promises
    difference = _difference(replay(ledger, team, ledger.policy, both), replay(fresh, candidate, ledger.policy, both))
    return {**difference, "left_out": len(readable) - len(both)}


def _not_fitted_on(team: WorkingTeam, past: Sequence[Past]) -> list[Past]:
    """Return cases whose features the model has not seen in its training; all of them where it cannot tell."""
    if not past or team.router.rows_key is not None:
        return list(past)
    known = np.isin(team.fingerprints([one.row for one in past]), team.router.all_seen())
    return [one for one, seen in zip(past, known.tolist(), strict=True) if not seen]


def _difference(now: Replayed, then: Replayed) -> dict[str, Any]:
    changed = [
        {"case": case, "now": now.first[case], "then": then.first[case]}
        for case in now.first
        if now.first[case] != then.first[case]
    ]
    both = {"now": now, "then": then}
    shown = {name: {what: one for what, one in vars(side).items() if what != "first"} for name, side in both.items()}
    return {"cases": len(now.first), "changed": len(changed), "examples": changed[:50], **shown}


def compare_new(ledger: Ledger, candidate: WorkingTeam, cases: Sequence[str], rows: Sequence[Row]) -> None:
    """Record what another model makes of new cases, by the policy of now; nothing where it cannot read them."""
    first = _first_steps(ledger)
    scratch = Ledger(now=ledger.now, people=ledger.people, policy=ledger.policy, asked_today=ledger.asked_today.copy())
    for case in cases:
        scratch.add(Received(model=candidate.version, policy=ledger.policy.version, p_model=(), p_expert=()), case)
    try:
        matrix = candidate.matrix(rows)
    except Problem:
        return
    batch = CaseBatch([scratch.cases[case] for case in cases], matrix, candidate.router.score_features(matrix), rows)
    take_steps(scratch, candidate, batch)
    others = _first_steps(scratch)
    for case in cases:
        one, other = first[case], others[case]
        fact = Compared(
            model=candidate.version,
            label=other.label,
            p_right=other.p_right,
            asks=_asks(other),
            same_label=one.label == other.label,
            same_step=_asks(one) == _asks(other),
        )
        ledger.add(fact, case)


def _first_steps(ledger: Ledger) -> dict[str, Step]:
    first: dict[str, Step] = {}
    for entry in ledger.entries:
        if isinstance(entry.fact, Asked | Observed | Settled):
            first.setdefault(str(entry.case), entry.fact)
    return first


def _asks(step: Step) -> str | None:
    return None if isinstance(step, Settled) else step.person
