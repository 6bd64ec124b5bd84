"""Questions that nobody answered in time go to somebody else."""

from collections.abc import Sequence
from dataclasses import dataclass

from defero.service.events import TimedOut
from defero.service.flow.command import Round


@dataclass
class Expire:
    """Take back the questions that are due, a thousand at a time."""

    n_due: int = 0

    @property
    def cases(self) -> Sequence[str]:
        """Looked up when it begins."""
        return ()

    def begin(self, work: Round) -> None:
        """Take back every question that is due."""
        self.n_due = 0
        for case in work.desk.open_questions(due_before=work.ledger.now):
            state = work.state(case)
            if state is not None and state.asked is not None and state.due is not None and state.due <= work.ledger.now:
                work.ledger.add(TimedOut(person=state.asked), case)
                work.waiting[case] = None
                self.n_due += 1

    def reply(self, work: Round) -> int:
        """Return how many there were."""
        return self.n_due
