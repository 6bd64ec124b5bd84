"""Webhooks are set up, end, and come forward."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from defero.service.events import HookChanged, HookFailed, HookSent
from defero.service.flow.command import Round
from defero.service.problems import Problem

MOST_HOOKS = 20


@dataclass
class SetHook:
    """A webhook is set up; it is sent what happens from now on."""

    hook: str
    url: str
    kinds: tuple[str, ...]
    by: str

    @property
    def cases(self) -> Sequence[str]:
        """None."""
        return ()

    def begin(self, work: Round) -> None:
        """Record it."""
        if len(work.ledger.hooks) >= MOST_HOOKS:
            raise Problem(409, f"There are {MOST_HOOKS} webhooks already; end one first.")
        work.ledger.add(HookChanged(hook=self.hook, url=self.url, kinds=self.kinds, by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the webhook."""
        return vars(work.ledger.hooks[self.hook])


@dataclass
class EndHook:
    """A webhook ends."""

    hook: str
    by: str

    @property
    def cases(self) -> Sequence[str]:
        """None."""
        return ()

    def begin(self, work: Round) -> None:
        """Record it."""
        if self.hook not in work.ledger.hooks:
            raise Problem(404, "There is no such webhook.", hook=self.hook)
        work.ledger.add(HookChanged(hook=self.hook, url="", kinds=(), by=self.by))

    def reply(self, work: Round) -> dict[str, Any]:
        """Return that it is done."""
        return {"hook": self.hook, "ended": True}


@dataclass
class RecordDelivery:
    """What became of a delivery; nothing where the webhook ended meanwhile."""

    result: HookSent | HookFailed

    @property
    def cases(self) -> Sequence[str]:
        """None."""
        return ()

    def begin(self, work: Round) -> None:
        """Record it."""
        if self.result.hook in work.ledger.hooks:
            work.ledger.add(self.result)

    def reply(self, work: Round) -> None:
        """Return nothing."""
