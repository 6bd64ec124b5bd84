"""Webhooks and the project of Label Studio: set up, ended, and what became of requests to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from defero.service.events import (
    HookChanged,
    HookFailed,
    HookSent,
    StudioChanged,
    StudioFailed,
    StudioReached,
    StudioReady,
)
from defero.service.flow.command import Command, Round
from defero.service.flow.people import person_of
from defero.service.problems import Problem

MOST_HOOKS = 20


@dataclass
class SetHook(Command):
    """A webhook is set up; it is sent what happens from now on."""

    hook: str
    url: str
    kinds: tuple[str, ...]
    by: str

    def begin(self, work: Round) -> None:
        """Record it."""
        if len(work.ledger.hooks) >= MOST_HOOKS:
            raise Problem(409, f"There are {MOST_HOOKS} webhooks already; end one first.")
        work.ledger.add(HookChanged(hook=self.hook, url=self.url, kinds=self.kinds, by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the webhook."""
        return vars(work.ledger.hooks[self.hook])


@dataclass
class EndHook(Command):
    """A webhook ends."""

    hook: str
    by: str

    def begin(self, work: Round) -> None:
        """Record it."""
        if self.hook not in work.ledger.hooks:
            raise Problem(404, "There is no such webhook.", hook=self.hook)
        work.ledger.add(HookChanged(hook=self.hook, url="", kinds=(), by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return that it is done."""
        return {"hook": self.hook, "ended": True}


@dataclass
class RecordDelivery(Command):
    """What became of a delivery; nothing where the webhook ended meanwhile."""

    result: HookSent | HookFailed

    def begin(self, work: Round) -> None:
        """Record it."""
        if self.result.hook in work.ledger.hooks:
            work.ledger.add(self.result)


@dataclass
class SetStudio(Command):
    """The questions of some experts stand in Label Studio.

    Attributes
    ----------
    link : str
        Of a new project; one that is set already keeps its own, and with it its tasks.
    terms : mapping
    addresses : mapping
        E-mail address by person; kept beside the log, and erased with the person.
    by : str
    """

    link: str
    terms: Mapping[str, Any]
    addresses: Mapping[str, str]
    by: str

    def begin(self, work: Round) -> None:
        """Record it."""
        for person in self.terms["people"]:
            one = person_of(work, person)
            if one.role != "expert" or one.removed or person in work.ledger.language_models:
                raise Problem(409, "Only people who are experts can answer in Label Studio.", person=person)
        before = work.ledger.studio
        link = self.link if before is None else before.link
        work.desk.set_addresses(self.addresses)
        work.ledger.add(StudioChanged(link=link, terms=self.terms, by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the project."""
        assert work.ledger.studio is not None
        return vars(work.ledger.studio)


@dataclass
class EndStudio(Command):
    """Nobody's questions stand in Label Studio any more."""

    by: str

    def begin(self, work: Round) -> None:
        """Record it."""
        if work.ledger.studio is None:
            raise Problem(404, "There is no project of Label Studio.")
        work.desk.set_addresses({})
        work.ledger.add(StudioChanged(link=work.ledger.studio.link, by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return that it is done."""
        return {"ended": True}


@dataclass
class RecordStudio(Command):
    """What became of our requests; nothing where the project ended or changed meanwhile."""

    result: StudioReady | StudioFailed | StudioReached

    def begin(self, work: Round) -> None:
        """Record it."""
        if work.ledger.studio is not None and work.ledger.studio.link == self.result.link:
            work.ledger.add(self.result)
