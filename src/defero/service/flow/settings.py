"""What the lead sets: people who join, change and leave; the policy; and the models, loaded beside and switched.

Each change of the policy or the model is an entry of the log with a version.
"""

from collections.abc import Container, Mapping
from typing import Any

from defero.service import Problem, checked
from defero.service.events import Erased, ModelChanged, ModelLoaded, PersonChanged, PolicyChanged, TimedOut
from defero.service.flow.command import Command, Round
from defero.service.flow.team import WorkingTeam
from defero.service.views import Ledger
from defero.service.views.policy import ROLES, Person, Policy


def person_reply(ledger: Ledger, person: str, name: str) -> dict[str, Any]:
    """Return what a client is told of a person."""
    return {"name": name, "asked_today": ledger.asked_today[person], **vars(ledger.people[person])}


def person_of(work: Round, person: str) -> Person:
    """Return a person; raises `Problem` where there is none."""
    if person not in work.ledger.people:
        raise Problem(404, "There is no such person.", person=person)
    return work.ledger.people[person]


class AddPerson(Command):
    """Somebody joins."""

    name: str
    role: str
    by: str
    capacity: int | None = None

    def begin(self, work: Round) -> dict[str, Any]:
        """Give them an id; a name that is taken is refused."""
        if self.role not in ROLES:
            raise Problem(422, f"role must be one of {', '.join(ROLES)}.")
        if self.name in work.desk.names().values():
            raise Problem(409, "There is somebody of this name already.")
        person = work.ledger.new_person()
        work.desk.set_name(person, self.name)
        change = {"role": self.role, "capacity": self.capacity}
        work.ledger.add(PersonChanged(person=person, change=change, by=self.by))
        return person_reply(work.ledger, person, self.name)


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
        return person_reply(work.ledger, self.person, work.desk.names()[self.person])


def _check_lead_left(work: Round, person: str) -> None:
    """Refuse that the last lead leaves."""
    leads = [one.person for one in work.ledger.people.values() if one.role == "lead" and not one.removed]
    if leads == [person]:
        detail = "This is the last lead, and nobody else could run the service; add another lead first."
        raise Problem(409, detail, person=person)


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
        return person_reply(work.ledger, self.person, work.desk.names()[self.person])


class ChangePolicy(Command):
    """Another policy from here on; what is not given becomes the default."""

    policy: Mapping[str, Any]
    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Check it, and number it."""
        version = work.ledger.policy.version + 1
        policy = checked_policy(self.policy, version, work.ledger.people, work.team)
        work.ledger.add(PolicyChanged(version=version, policy=policy.to_dict(), by=self.by))
        return {"version": work.ledger.policy.version, **work.ledger.policy.to_dict()}


def checked_policy(values: Mapping[str, Any], version: int, people: Container[str], team: WorkingTeam) -> Policy:
    """Return a policy whose people and classes are known; raises `Problem` where one is not."""
    policy = checked(Policy, {**values, "version": version})
    strangers = sorted(person for person in policy.people if person not in people)
    if strangers:
        raise Problem(422, "fees, capacity and rules must be by the ids of people.", unknown=strangers)
    for truth, row in (policy.cost_matrix or {}).items():
        for name in (truth, *row):
            team.class_of(name, what="cost_matrix")
    for rule in policy.rules:
        if rule.label is not None:
            team.class_of(rule.label, what="label of a rule")
    return policy


def with_people(work: Round, team: WorkingTeam, *, by: str) -> WorkingTeam:
    """Return a team whose experts are people of the log: known by name, or new; record the model where it is new.

    The same version is known by its entry in the log, so that an erased name stays erased.
    """
    known = work.ledger.model
    if known is not None and known.version == team.version:
        return WorkingTeam(team.router, team.version, known.experts)
    experts = people_behind(work, team, by=by)
    work.ledger.add(ModelChanged(version=team.version, classes=team.class_values, experts=experts, by=by))
    return WorkingTeam(team.router, team.version, experts)


def people_behind(work: Round, team: WorkingTeam, *, by: str) -> tuple[str, ...]:
    """Return who is behind each expert of a model: known by name, or new."""
    ids = {name: person for person, name in work.desk.names().items()}
    for name in team.router.expert_names:
        if name not in ids:
            ids[name] = work.ledger.new_person()
            work.desk.set_name(ids[name], name)
            work.ledger.add(PersonChanged(person=ids[name], change={"role": "expert"}, by=by))
    return tuple(ids[name] for name in team.router.expert_names)


class LoadModel(Command):
    """A model is loaded beside the one that decides.

    Attributes
    ----------
    team : WorkingTeam
        As `Shelf.load` gave it.
    folder, by : str
    """

    team: WorkingTeam
    folder: str
    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Record it, once; the classes must be those of the model that decides."""
        if set(self.team.class_values) != set(work.team.class_values):
            raise Problem(422, "The model has other classes.", classes=list(self.team.class_values))
        if work.ledger.model is not None and work.ledger.model.version == self.team.version:
            raise Problem(409, "This model decides already.", model=self.team.version)
        if work.ledger.candidate is None or work.ledger.candidate.version != self.team.version:
            experts = people_behind(work, self.team, by=self.by)
            terms: dict[str, Any] = {"version": self.team.version, "folder": self.folder, "by": self.by}
            work.ledger.add(ModelLoaded(**terms, classes=self.team.class_values, experts=experts))
        assert work.ledger.candidate is not None
        return vars(work.ledger.candidate)


class SwitchModel(Command):
    """Another model decides from the next commit on: the one loaded beside, or an earlier one.

    Attributes
    ----------
    known : ModelChanged
        Its entry in the log.
    by : str
    """

    known: ModelChanged
    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Record it; nothing where it decides already."""
        if work.ledger.model is None or work.ledger.model.version != self.known.version:
            work.ledger.add(ModelChanged(**{**vars(self.known), "by": self.by}))
        assert work.ledger.model is not None
        return vars(work.ledger.model)
