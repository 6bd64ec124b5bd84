"""Answers and skipped questions of people, and the next step that follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from defero.service.events import Answered, Label, Skipped
from defero.service.flow.command import Round
from defero.service.flow.replies import state_reply
from defero.service.problems import Problem
from defero.service.views.cases import CaseState


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
class GiveAnswer:
    """A person's answer to a case.

    Attributes
    ----------
    case, person : str
    answer : label
    by : str
        Who sent it: the person, or the program or lead who speaks for them.
    """

    case: str
    person: str
    answer: Label
    by: str

    @property
    def cases(self) -> Sequence[str]:
        """The case that it answers."""
        return (self.case,)

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
class Skip:
    """A person gives a question back.

    Attributes
    ----------
    case, person, by : str
    note : str
        Why; kept with the content of the case.
    """

    case: str
    person: str
    by: str
    note: str = ""

    @property
    def cases(self) -> Sequence[str]:
        """The case that it is about."""
        return (self.case,)

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
