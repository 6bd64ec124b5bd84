"""Hook: where the log is sent on to, and how far that has come."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from defero.service.events import Entry, HookChanged, HookFailed, HookSent

KINDS = (
    "received",
    "asked",
    "rerouted",
    "observed",
    "answered",
    "skipped",
    "timed_out",
    "settled",
    "outcome",
    "drift_raised",
    "drift_acted",
    "policy_changed",
    "model_changed",
)
"""What a webhook may be sent."""
LONGEST_WAIT = 3_600.0
"""Seconds until a delivery that failed is tried again, at most."""


@dataclass(frozen=True)
class Hook:
    """A webhook.

    Attributes
    ----------
    hook, url : str
    kinds : names
    upto : int
        Everything up to this entry was taken.
    failures : int
        In a row.
    retry_at : float
        Not before this time.
    """

    hook: str
    url: str
    kinds: tuple[str, ...]
    upto: int
    failures: int = 0
    retry_at: float = 0.0

    def is_due(self, now: float) -> bool:
        """Whether something may be sent now; a time further ahead than any wait is that of a clock that was wrong."""
        return not now < self.retry_at <= now + LONGEST_WAIT

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Hook":
        """Rebuild what JSON keeps of it."""
        return cls(**{**values, "kinds": tuple(values["kinds"])})


def apply(hooks: Mapping[str, Hook], entry: Entry) -> dict[str, Hook]:
    """Return the webhooks after one more entry about them.

    >>> fact = HookChanged(hook="w1", url="https://a.b", kinds=("settled",), by="p1")
    >>> hooks = apply({}, Entry(5, 0.0, None, fact))
    >>> apply(hooks, Entry(9, 0.0, None, HookSent(hook="w1", upto=8)))["w1"].upto
    8
    """
    changed, fact = dict(hooks), entry.fact
    match fact:
        case HookChanged(url=""):
            changed.pop(fact.hook, None)
        case HookChanged():
            changed[fact.hook] = Hook(fact.hook, fact.url, fact.kinds, entry.seq)
        case HookSent() if fact.hook in changed:
            upto = max(fact.upto, changed[fact.hook].upto)
            changed[fact.hook] = replace(changed[fact.hook], upto=upto, failures=0, retry_at=0.0)
        case HookFailed() if fact.hook in changed:
            failures = changed[fact.hook].failures + 1
            changed[fact.hook] = replace(changed[fact.hook], failures=failures, retry_at=fact.retry_at)
    return changed
