"""People join, change and leave; a name can be erased while the log keeps its figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from defero.service.events import Erased, PersonChanged, TimedOut
from defero.service.flow.command import Command, Round
from defero.service.problems import Problem
from defero.service.views.policy import ROLES, Person


def person_reply(person: Person, name: str, asked_today: int) -> dict[str, Any]:
    """Return what a client is told of a person."""
    return {"name": name, "asked_today": asked_today, **vars(person)}


def person_of(work: Round, person: str) -> Person:
    """Return a person; raises `Problem` where there is none."""
    if person not in work.ledger.people:
        raise Problem(404, "There is no such person.", person=person)
    return work.ledger.people[person]


@dataclass
class AddPerson(Command):
    """Somebody joins."""

    name: str
    role: str
    by: str
    capacity: int | None = None
    person: str = ""

    def begin(self, work: Round) -> None:
        """Give them an id; a name that is taken is refused."""
        if self.role not in ROLES:
            raise Problem(422, f"role must be one of {', '.join(ROLES)}.")
        if self.name in work.desk.names().values():
            raise Problem(409, "There is somebody of this name already.")
        self.person = f"p{1 + max((int(one[1:]) for one in work.ledger.people), default=0)}"
        work.desk.set_name(self.person, self.name)
        change = {"role": self.role, "capacity": self.capacity}
        work.ledger.add(PersonChanged(person=self.person, change=change, by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the person."""
        return person_reply(work.ledger.people[self.person], self.name, 0)


@dataclass
class ChangePerson(Command):
    """A person's availability, capacity or place in the team changes.

    Attributes
    ----------
    person, by : str
    change : mapping
        Some of "available", "capacity" and "removed".
        The questions of somebody who leaves go to others.
    """

    person: str
    change: Mapping[str, Any]
    by: str

    def begin(self, work: Round) -> None:
        """Change them; nothing is written where nothing changes."""
        before = vars(person_of(work, self.person))
        change = {name: value for name, value in self.change.items() if before[name] != value}
        if not change:
            return
        if change.get("removed"):
            _check_lead_left(work, self.person)
        work.ledger.add(PersonChanged(person=self.person, change=change, by=self.by))
        if change.get("removed"):
            for case in work.desk.open_questions(person=self.person):
                state = work.state(case)
                if state is not None and state.asked == self.person:
                    work.ledger.add(TimedOut(person=self.person), case)
                    work.waiting[case] = None

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the person."""
        names, person = work.desk.names(), work.ledger.people[self.person]
        return person_reply(person, names[self.person], work.ledger.asked_today[self.person])


def _check_lead_left(work: Round, person: str) -> None:
    """Refuse that the last lead leaves."""
    leads = [one.person for one in work.ledger.people.values() if one.role == "lead" and not one.removed]
    if leads == [person]:
        detail = "This is the last lead, and nobody else could run the service; add another lead first."
        raise Problem(409, detail, person=person)


@dataclass
class ErasePerson(Command):
    """A person's name is removed; they are never asked again, and what they answered stays."""

    person: str
    by: str

    def begin(self, work: Round) -> None:
        """Put a number in place of the name."""
        person_of(work, self.person)
        ChangePerson(self.person, {"removed": True}, self.by).begin(work)
        work.desk.set_name(self.person, f"removed {self.person}")
        work.desk.forget_address(self.person)
        work.ledger.add(Erased(person=self.person, by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the person without a name."""
        names = work.desk.names()
        return person_reply(work.ledger.people[self.person], names[self.person], work.ledger.asked_today[self.person])
