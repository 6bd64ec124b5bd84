"""Cases come in and are erased, and their outcomes become known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from defero.service.events import DriftActed, DriftRaised, Erased, Label, Outcome, Received
from defero.service.flow.answers import case_of
from defero.service.flow.command import CaseCommand, Command, Round, Scored
from defero.service.flow.steps import Beliefs, first_step, step_reply
from defero.service.flow.team import Row
from defero.service.problems import Problem
from defero.service.views.drift import MODEL, drift_rows
from defero.service.views.ledger import Ledger


@dataclass
class AddCases(Command):
    """New cases of one request.

    Attributes
    ----------
    keys : n texts or None
        The client's own names of the cases.
    rows : n features
    matrix : (n, d)
        What `WorkingTeam.matrix` made of them, by the team of version `prepared_by`.
    request : str, optional
        The idempotency key, unique by caller.
    digest : str
        Of the content of the request.
    """

    keys: Sequence[str | None]
    rows: Sequence[Row]
    matrix: Any
    prepared_by: str
    request: str | None = None
    digest: str = ""
    scored: Scored | None = None
    ids: list[str] = field(default_factory=list)
    done_before: bool = False

    def begin(self, work: Round) -> None:
        """Keep the cases; a request that was done before only looks up what came of it."""
        self.ids, self.done_before = [], False
        if self.request is not None:
            before = work.desk.request(self.request)
            if before is not None:
                self._again(work, before.digest, before.cases)
                return
        assert self.scored is not None
        scores, rows = self.scored.scores, self.scored.rows
        p_model = np.round(scores.class_proba[rows], 6).tolist()
        p_expert = np.round(scores.expert_proba[rows], 6).tolist()
        unusual = None if self.scored.unusual is None else self.scored.unusual[rows]
        for i in range(len(self.rows)):
            case = work.ledger.new_case()
            fact = Received(
                model=work.team.version,
                policy=work.ledger.policy.version,
                p_model=tuple(p_model[i]),
                p_expert=tuple(p_expert[i]),
                unusual="" if unusual is None else unusual[i],
            )
            work.ledger.add(fact, case)
            self.ids.append(case)
        work.desk.keep_rows({case: (key, row) for case, key, row in zip(self.ids, self.keys, self.rows, strict=True)})
        work.fresh.append((self.ids, self.scored))
        if self.request is not None:
            work.desk.keep_request(self.request, self.digest, self.ids)

    def _again(self, work: Round, digest: str, cases: Sequence[str]) -> None:
        if digest != self.digest:
            raise Problem(422, "This Idempotency-Key was used for another request; use a new key for new content.")
        self.ids = list(cases)
        self.done_before = True

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the first step of each case; what another request of this round did is not in the log yet."""
        entries = work.desk.first_entries(self.ids) if self.done_before else {}
        if not all(case in entries for case in self.ids):
            entries = {case: work.entries_of(case) for case in self.ids}
        names = work.desk.names()
        believed, replies = Beliefs(work.ledger.model, names), []
        for case, key in zip(self.ids, self.keys, strict=True):
            received, step = first_step(entries[case])
            replies.append({"key": key, **step_reply(case, step, names), **believed.of(received)})
        return {"cases": replies}


@dataclass
class EraseCase(CaseCommand):
    """The content of a case is removed; an open case is answered by what is known."""

    by: str

    def begin(self, work: Round) -> None:
        """Remove the content, once."""
        state = case_of(work, self.case)
        if state.erased:
            return
        work.desk.erase_case(self.case)
        work.ledger.add(Erased(by=self.by), self.case)
        if not state.settled:
            work.waiting[self.case] = None

    def reply(self, work: Round) -> dict[str, Any]:
        """Return that it is done."""
        return {"case": self.case, "erased": True}


SYSTEM = "system"
"""Who acts, where the policy says so."""


def raise_alarms(ledger: Ledger, judged: Iterable[str]) -> None:
    """Record new alarms of people and the model; with the policy "correct", correct their promises at once."""
    for who in judged:
        alarm = ledger.drift.alarm(who)
        if alarm is None:
            continue
        ledger.add(DriftRaised(person=who, **vars(alarm)))
        if ledger.policy.on_drift == "correct":
            ledger.add(DriftActed(person=who, action="correct", by=SYSTEM))


@dataclass
class GiveOutcomes(Command):
    """The truth of some cases.

    Attributes
    ----------
    outcomes : pairs of case and label
    by : str
        Who says so.
    """

    outcomes: Sequence[tuple[str, Label]]
    by: str
    changed: int = 0

    @property
    def cases(self) -> Sequence[str]:
        """The cases whose truth is known."""
        return [case for case, _ in self.outcomes]

    def begin(self, work: Round) -> None:
        """Keep them all, or none where one names no case or no class; what is known already is not kept twice."""
        known, self.changed = [], 0
        for case, label in self.outcomes:
            case_of(work, case)
            known.append((case, work.team.class_values[work.team.class_of(label, what=f"the outcome of {case}")]))
        for case, label in known:
            if work.ledger.cases[case].outcome != label:
                work.ledger.add(Outcome(label=label, by=self.by), case)
                self.changed += 1
                raise_alarms(work.ledger, (MODEL, *work.ledger.cases[case].was_asked))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return how many were new or corrected."""
        return {"received": len(self.outcomes), "changed": self.changed}


@dataclass
class ActOnDrift(Command):
    """The lead acts on an alarm, or withdraws a correction.

    Attributes
    ----------
    who : str
        A person, or "model".
    action : "correct", "dismiss" or "withdraw"
    by : str
    """

    who: str
    action: str
    by: str

    def begin(self, work: Round) -> None:
        """Check that there is an alarm or a correction, and act."""
        ledger = work.ledger
        if self.who != MODEL and self.who not in ledger.people:
            raise Problem(404, "There is no such person.", person=self.who)
        if self.action != "withdraw" and not ledger.drift.state(self.who).alarmed:
            raise Problem(409, "There is no alarm to act on.", person=self.who)
        if self.action == "withdraw" and self.who not in ledger.drift.corrections():
            raise Problem(409, "There is no correction to withdraw.", person=self.who)
        ledger.add(DriftActed(person=self.who, action=self.action, by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return how the promise stands now."""
        rows = drift_rows(work.ledger.drift, work.desk.names())
        return next(row for row in rows if row["person"] == self.who)
