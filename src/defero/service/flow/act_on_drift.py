"""The lead acts on an alarm about a promise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from defero.service.events import DriftActed
from defero.service.flow.command import Round
from defero.service.problems import Problem
from defero.service.views.drift import MODEL, drift_rows


@dataclass
class ActOnDrift:
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

    @property
    def cases(self) -> Sequence[str]:
        """None."""
        return ()

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
