"""Questions that nobody answered in time, or whose person left, go to somebody else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from defero.service.events import TimedOut
from defero.service.flow.command import Round
from defero.service.views.people import Person


def gone_of(people: Mapping[str, Person]) -> set[str]:
    """Return the experts who left."""
    return {person for person, one in people.items() if one.removed and one.role == "expert"}


@dataclass
class Expire:
    """Take back the questions that are due, and those of people who left, a thousand of each at a time."""

    n_due: int = 0

    @property
    def cases(self) -> Sequence[str]:
        """Looked up when it begins."""
        return ()

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
