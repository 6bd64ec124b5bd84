"""An answer taken back within a minute."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from defero.service.events import Answered, Entry, Outcome, Undone
from defero.service.flow.answer import case_of_person
from defero.service.flow.command import Round
from defero.service.flow.replies import state_reply
from defero.service.problems import Problem
from defero.service.views.cases import CaseState, apply

UNDO_SECONDS = 60.0
"""How long an answer can be taken back."""


@dataclass
class Undo:
    """A person takes their last answer to a case back.

    Whoever was asked after it, and has not answered, is asked no more. After another answer or the outcome it is too
    late: somebody has relied on it.
    """

    case: str
    person: str
    by: str

    @property
    def cases(self) -> Sequence[str]:
        """The case that it is about."""
        return (self.case,)

    def begin(self, work: Round) -> None:
        """Take the answer back; the question is theirs again, or goes on where it was not theirs when they answered."""
        state = case_of_person(work, self.case, self.person, by=self.by)
        if state.answer_of(self.person) is None:
            raise Problem(409, "There is no answer of this person to take back.", case=self.case)
        entries = _entries(work, self.case)
        place = max(i for i, one in enumerate(entries) if isinstance(one.fact, Answered) and one.person == self.person)
        answered, now = entries[place], work.ledger.now
        if now > answered.at + UNDO_SECONDS:
            raise Problem(409, f"An answer can be taken back for {UNDO_SECONDS:g} seconds.", case=self.case)
        if any(isinstance(one.fact, Answered | Outcome) for one in entries[place + 1 :]):
            raise Problem(409, "Somebody answered after this, or the outcome is known.", case=self.case)
        work.ledger.add(_undone(answered, _folded(entries[:place]), by=self.by, now=now), self.case)
        if not work.ledger.cases[self.case].settled and work.ledger.cases[self.case].asked is None:
            work.waiting[self.case] = None

    def reply(self, work: Round) -> dict[str, Any]:
        """Return where the case stands."""
        return state_reply(work.ledger.cases[self.case], work.desk.names())


def _entries(work: Round, case: str) -> list[Entry]:
    """Return all entries about a case, those of this transaction too."""
    return [*work.desk.history(case), *(one for one in work.ledger.entries if one.case == case)]


def _folded(entries: Sequence[Entry]) -> CaseState:
    state: CaseState | None = None
    for entry in entries:
        state = apply(state, entry)
    assert state is not None
    return state


def _undone(answered: Entry, before: CaseState, *, by: str, now: float) -> Undone:
    fact = answered.fact
    assert isinstance(fact, Answered)
    theirs = before.asked == fact.person and before.asked_at is not None
    due = before.due if theirs else None
    return Undone(
        person=fact.person,
        counted=fact.counted,
        asked_at=before.asked_at if theirs else None,
        due=None if due is None else max(due, now + UNDO_SECONDS),
        waited=answered.at - before.asked_at if theirs and before.asked_at is not None else 0.0,
        by=by,
    )
