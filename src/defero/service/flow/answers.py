"""Answers of people: given, skipped, taken back within a minute, or not given in time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from defero.service.events import Answered, Entry, Label, Outcome, Skipped, TimedOut, Undone
from defero.service.flow.command import CaseCommand, Command, Round
from defero.service.flow.steps import state_reply
from defero.service.problems import Problem
from defero.service.views.cases import CaseState, apply
from defero.service.views.policy import Person


def case_of(work: Round, case: str) -> CaseState:
    """Return where a case stands; raises `Problem` where there is none."""
    state = work.state(case)
    if state is None:
        raise Problem(404, "There is no such case.", case=case)
    return state


def case_of_person(work: Round, case: str, person: str, *, by: str) -> CaseState:
    """Return where a case stands; for an expert who was never asked about it there is none."""
    state = case_of(work, case)
    if by == person and person not in state.was_asked:  # what others are asked is not theirs to see
        raise Problem(404, "There is no such case.", case=case)
    return state


@dataclass
class GiveAnswer(CaseCommand):
    """A person's answer to a case.

    Attributes
    ----------
    case, person : str
    answer : label
    by : str
        Who sent it: the person, or the program or lead who speaks for them.
    """

    person: str
    answer: Label
    by: str

    def begin(self, work: Round) -> None:
        """Keep the answer. After the case is settled it does not count; the same answer again changes nothing."""
        state = case_of_person(work, self.case, self.person, by=self.by)
        if self.person not in work.team.people:
            raise Problem(422, "This person is no expert of the model.", person=self.person)
        answer = work.team.class_values[work.team.class_of(self.answer, what="answer")]
        before = state.answer_of(self.person)
        if before is not None:
            if before != answer:
                raise Problem(409, "This person has answered this case already, and otherwise.", case=self.case)
            return
        counted = not state.settled
        work.ledger.add(Answered(person=self.person, answer=answer, counted=counted, by=self.by), self.case)
        if counted:
            work.waiting[self.case] = None

    def reply(self, work: Round) -> dict[str, Any]:
        """Return whether the answer counts, and the next step."""
        state = work.ledger.cases[self.case]
        return {**state_reply(state, work.desk.names()), "counted": self.person in dict(state.answers)}


@dataclass
class Skip(CaseCommand):
    """A person gives a question back.

    Attributes
    ----------
    case, person, by : str
    note : str
        Why; kept with the content of the case.
    """

    person: str
    by: str
    note: str = ""

    def begin(self, work: Round) -> None:
        """Take the question back; it goes to somebody else, or the case is answered."""
        state = case_of_person(work, self.case, self.person, by=self.by)
        if state.asked != self.person:
            raise Problem(409, "The question is not with this person any more.", case=self.case)
        entry = work.ledger.add(Skipped(person=self.person, by=self.by), self.case)
        if self.note and not state.erased:
            work.desk.keep_note(entry, self.note)
        work.waiting[self.case] = None

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the next step."""
        return state_reply(work.ledger.cases[self.case], work.desk.names())


UNDO_SECONDS = 60.0
"""How long an answer can be taken back."""


@dataclass
class Undo(CaseCommand):
    """A person takes their last answer to a case back.

    Whoever was asked after it, and has not answered, is asked no more. After another answer or the outcome it is too
    late: somebody has relied on it.
    """

    person: str
    by: str

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


def gone_of(people: Mapping[str, Person]) -> set[str]:
    """Return the experts who left."""
    return {person for person, one in people.items() if one.removed and one.role == "expert"}


@dataclass
class Expire(Command):
    """Take back the questions that are due, and those of people who left, a thousand of each at a time."""

    n_due: int = 0

    def begin(self, work: Round) -> None:
        """Take back every question that is due, or that nobody has any more."""
        self.n_due, now, gone = 0, work.ledger.now, gone_of(work.ledger.people)
        due = [*work.desk.open_questions(due_before=now), *work.desk.open_questions(people=gone)]
        for case in dict.fromkeys(due):
            state = work.state(case)
            if state is None or state.asked is None:
                continue
            if state.asked in gone or (state.due is not None and state.due <= now):
                work.ledger.add(TimedOut(person=state.asked), case)
                work.waiting[case] = None
                self.n_due += 1

    def reply(self, work: Round) -> int:
        """Return how many there were."""
        return self.n_due
