"""The project of Label Studio: set up, ended, reached and not reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from defero.service.events import StudioChanged, StudioFailed, StudioReached, StudioReady
from defero.service.flow.change_people import person_of
from defero.service.flow.command import Round
from defero.service.problems import Problem


@dataclass
class SetStudio:
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

    @property
    def cases(self) -> Sequence[str]:
        """None."""
        return ()

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
class EndStudio:
    """Nobody's questions stand in Label Studio any more."""

    by: str

    @property
    def cases(self) -> Sequence[str]:
        """None."""
        return ()

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
class RecordStudio:
    """What became of our requests; nothing where the project ended or changed meanwhile."""

    result: StudioReady | StudioFailed | StudioReached

    @property
    def cases(self) -> Sequence[str]:
        """None."""
        return ()

    def begin(self, work: Round) -> None:
        """Record it."""
        if work.ledger.studio is not None and work.ledger.studio.link == self.result.link:
            work.ledger.add(self.result)

    def reply(self, work: Round) -> None:
        """Return nothing."""
