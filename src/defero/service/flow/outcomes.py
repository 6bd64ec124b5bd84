"""Outcomes: the truth of cases, known late and for some of them; alarms about promises, and what is done about them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from defero.service.events import DriftActed, DriftRaised, Label, Outcome
from defero.service.flow.answers import case_of
from defero.service.flow.command import Command, Round
from defero.service.problems import Problem
from defero.service.views.drift import MODEL, drift_rows
from defero.service.views.ledger import Ledger

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
