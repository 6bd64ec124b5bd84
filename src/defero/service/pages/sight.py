"""Sight: what the panels of the console look at, read once for a page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from defero.service.store.contents import read_names
from defero.service.store.saved_views import open_ledger
from defero.service.store.tables import CASES, TALLIES
from defero.service.views.drift import MODEL, drift_rows
from defero.service.views.figures import Counts, Period
from defero.service.views.ledger import Ledger
from defero.service.views.people import Person
from defero.service.views.tallies import TEAM, Tally


@dataclass(frozen=True)
class Waiting:
    """Questions that wait for somebody: how many, and since when the oldest."""

    n: int
    oldest: float | None


@dataclass(frozen=True, eq=False)
class Sight:
    """What a panel may use.

    Attributes
    ----------
    connection : Connection
        For whatever else a panel reads.
    now : float
    period, before : Period
        The days that are shown, and as many before them.
    counts : tallies of both
    by_person : {person: tallies}
        The same, apart for each person: a panel looks at one after the other.
    ledger : Ledger
        People, policy, model and questions of today.
    names : {person: name}
    waiting : {person: Waiting}
    """

    connection: Connection
    now: float
    period: Period
    before: Period
    counts: Counts
    by_person: Mapping[str, Counts]
    ledger: Ledger
    names: Mapping[str, str]
    waiting: Mapping[str, Waiting]

    @classmethod
    def read(cls, connection: Connection, *, now: float, n_days: int) -> "Sight":
        """Read everything that the panels share."""
        period = Period.ending(at=now, n_days=n_days)
        before = period.before()
        rows = connection.execute(select(TALLIES).where(TALLIES.c.day.between(before.first, period.last)))
        counts = {(row.day, row.person, row.name): row.amount for row in rows}
        by_person: dict[str, dict[Tally, int]] = {}
        for tally, amount in counts.items():
            by_person.setdefault(tally[1], {})[tally] = amount
        open_questions = select(CASES.c.asked, func.count(), func.min(CASES.c.asked_at)).where(
            CASES.c.asked.is_not(None)
        )
        waiting = {
            who: Waiting(n, oldest) for who, n, oldest in connection.execute(open_questions.group_by(CASES.c.asked))
        }
        return cls(
            connection,
            now,
            period,
            before,
            counts,
            by_person,
            open_ledger(connection, now=now),
            read_names(connection),
            waiting,
        )

    def of(self, person: str = TEAM) -> Counts:
        """Return the tallies of a person, or of the team."""
        return self.by_person.get(person, {})

    def name(self, person: str) -> str:
        """Return the name of a person."""
        return self.names.get(person, person)

    def drift_rows(self) -> list[dict[str, Any]]:
        """Return how everybody keeps their promises, as the API has it, with names as people read them."""
        return drift_rows(self.ledger.drift, {**self.names, MODEL: "the model"})

    def experts(self) -> list[Person]:
        """Return the experts who are in the team, in the order in which they joined."""
        return [one for one in self.ledger.people.values() if one.role == "expert" and not one.removed]
