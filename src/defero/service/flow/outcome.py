"""Outcomes: the truth of cases, known late, for some of them, and sometimes corrected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from defero.service.events import Label, Outcome
from defero.service.flow.answer import case_of
from defero.service.flow.command import Round
from defero.service.flow.drift import raise_alarms
from defero.service.views.drift import MODEL


@dataclass
class GiveOutcomes:
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
