"""On what terms cases are decided: the policy, and the models, loaded beside each other and switched by a commit.

Each change is an entry of the log with a version.
"""

import threading
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from defero.core.errors import InputError
from defero.data.recipes.text_encoder import Encoder
from defero.service.events import ModelChanged, ModelLoaded, PersonChanged, PolicyChanged
from defero.service.flow.command import Command, Round
from defero.service.flow.team import WorkingTeam, load_team
from defero.service.problems import Problem
from defero.service.views.policy import Policy


@dataclass
class ChangePolicy(Command):
    """Another policy from here on; what is not given becomes the default."""

    policy: Mapping[str, Any]
    by: str

    def begin(self, work: Round) -> None:
        """Check it, and number it."""
        version = work.ledger.policy.version + 1
        policy = checked_policy(self.policy, version, work.ledger.people, work.team)
        work.ledger.add(PolicyChanged(version=version, policy=policy.to_dict(), by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the policy that holds now."""
        return {"version": work.ledger.policy.version, **work.ledger.policy.to_dict()}


def checked_policy(values: Mapping[str, Any], version: int, people: Container[str], team: WorkingTeam) -> Policy:
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
            ids[name] = f"p{1 + max((int(one[1:]) for one in work.ledger.people), default=0)}"
            work.desk.set_name(ids[name], name)
            work.ledger.add(PersonChanged(person=ids[name], change={"role": "expert"}, by=by))
    return tuple(ids[name] for name in team.router.expert_names)


MOST_LOADED = 4
"""Models of the folder that stay in memory; one that is needed again is loaded again."""


@dataclass
class Shelf:
    """The models that this process has loaded, by version; those used last stay in memory.

    Attributes
    ----------
    directory : Path, optional
        The folder of models that the service was started with; nothing outside it is ever read.
    teams : mapping
        By version, the one used last at the end.
    without_folder : set of versions
        They could not be loaded again, so they always stay.
    """

    directory: Path | None = None
    text_encoder: Encoder = None
    teams: dict[str, WorkingTeam] = field(default_factory=dict)
    without_folder: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, team: WorkingTeam, *, folder: str = "") -> WorkingTeam:
        """Remember a team as the one used last; of those with a folder the oldest are forgotten."""
        with self._lock:
            if not folder:
                self.without_folder.add(team.version)
            self.teams.pop(team.version, None)
            self.teams[team.version] = team
            loaded = [version for version in self.teams if version not in self.without_folder]
            for version in loaded[:-MOST_LOADED]:
                del self.teams[version]
        return team

    def load(self, folder: str) -> WorkingTeam:
        """Return the model of a folder in the folder of models; its experts have no people yet."""
        if self.directory is None:
            raise Problem(409, "The service was started without a folder of models; start it with --models.")
        path = self.directory / folder
        if Path(folder).name != folder or path.resolve().parent != self.directory.resolve() or not path.is_dir():
            raise Problem(404, "There is no such folder in the folder of models.", folder=folder)
        try:
            return load_team(path, text_encoder=self.text_encoder)
        except (InputError, OSError, ValueError) as error:
            raise Problem(422, f"{folder} cannot be loaded: {type(error).__name__}.", folder=folder) from error

    def team(self, fact: ModelChanged) -> WorkingTeam:
        """Return the team of an entry of the log, loaded if another process has loaded it."""
        known = self.teams.get(fact.version)
        if known is None:
            known = self.load(fact.folder) if fact.folder else None
        if known is None or known.version != fact.version:
            raise Problem(503, "The model that decides now is not on this machine.", model=fact.version)
        team = known if known.people == fact.experts else WorkingTeam(known.router, known.version, fact.experts)
        return self.keep(team, folder=fact.folder)


@dataclass
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

    def begin(self, work: Round) -> None:
        """Record it, once; the classes must be those of the model that decides."""
        if set(self.team.class_values) != set(work.team.class_values):
            raise Problem(422, "The model has other classes.", classes=list(self.team.class_values))
        if work.ledger.model is not None and work.ledger.model.version == self.team.version:
            raise Problem(409, "This model decides already.", model=self.team.version)
        if work.ledger.candidate is not None and work.ledger.candidate.version == self.team.version:
            return
        experts = people_behind(work, self.team, by=self.by)
        terms: dict[str, Any] = {"version": self.team.version, "folder": self.folder, "by": self.by}
        work.ledger.add(ModelLoaded(**terms, classes=self.team.class_values, experts=experts))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return its version and its experts."""
        assert work.ledger.candidate is not None
        return vars(work.ledger.candidate)


@dataclass
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

    def begin(self, work: Round) -> None:
        """Record it; nothing where it decides already."""
        if work.ledger.model is None or work.ledger.model.version != self.known.version:
            work.ledger.add(ModelChanged(**{**vars(self.known), "by": self.by}))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the model that decides now."""
        assert work.ledger.model is not None
        return vars(work.ledger.model)
