"""The policy and the model change; each is an entry of the log with a version."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from defero.core.errors import InputError
from defero.service.events import ModelChanged, PersonChanged, PolicyChanged
from defero.service.flow.command import Round
from defero.service.flow.team import Team
from defero.service.problems import Problem
from defero.service.views.policy import Policy


@dataclass
class ChangePolicy:
    """Another policy from here on; what is not given becomes the default."""

    policy: Mapping[str, Any]
    by: str

    @property
    def cases(self) -> Sequence[str]:
        """None."""
        return ()

    def begin(self, work: Round) -> None:
        """Check it, and number it."""
        version = work.ledger.policy.version + 1
        policy = checked_policy(self.policy, version, work.ledger.people, work.team)
        work.ledger.add(PolicyChanged(version=version, policy=policy.to_dict(), by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the policy that holds now."""
        return {"version": work.ledger.policy.version, **work.ledger.policy.to_dict()}


def checked_policy(values: Mapping[str, Any], version: int, people: Container[str], team: Team) -> Policy:
    """Return a policy whose people and classes are known; raises `Problem` where one is not."""
    try:
        policy = Policy.from_dict(values, version=version)
    except InputError as error:
        raise Problem(422, str(error)) from error
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


def with_people(work: Round, team: Team, *, by: str) -> Team:
    """Return a team whose experts are people of the log: known by name, or new; record the model where it is new.

    The same version is known by its entry in the log, so that an erased name stays erased.
    """
    known = work.ledger.model
    if known is not None and known.version == team.version:
        return Team(team.router, team.version, known.experts)
    experts = people_behind(work, team, by=by)
    work.ledger.add(ModelChanged(version=team.version, classes=team.class_values, experts=experts, by=by))
    return Team(team.router, team.version, experts)


def people_behind(work: Round, team: Team, *, by: str) -> tuple[str, ...]:
    """Return who is behind each expert of a model: known by name, or new."""
    ids = {name: person for person, name in work.desk.names().items()}
    for name in team.router.expert_names:
        if name not in ids:
            ids[name] = f"p{1 + max((int(one[1:]) for one in work.ledger.people), default=0)}"
            work.desk.set_name(ids[name], name)
            work.ledger.add(PersonChanged(person=ids[name], change={"role": "expert"}, by=by))
    return tuple(ids[name] for name in team.router.expert_names)
