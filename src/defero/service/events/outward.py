"""Facts about what the service has to do with others: webhooks, language models, Label Studio.

None holds a key, the name or e-mail address of a person, or what was asked and replied about a case.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from defero.service.events.facts import Fact


@dataclass(frozen=True, kw_only=True)
class HookChanged(Fact):
    """A webhook was set up, or ended; its secret stands in a table of its own.

    Attributes
    ----------
    hook : str
    url : str
        Where entries go; empty: the webhook ended.
    kinds : names
        Of the facts that are sent.
    """

    kind: ClassVar[str] = "hook_changed"
    hook: str
    url: str
    kinds: tuple[str, ...]
    by: str


@dataclass(frozen=True, kw_only=True)
class HookSent(Fact):
    """A webhook took everything up to an entry."""

    kind: ClassVar[str] = "hook_sent"
    hook: str
    upto: int


@dataclass(frozen=True, kw_only=True)
class HookFailed(Fact):
    """A webhook did not take what was sent: HTTP status (0: no reply), and when it is tried again."""

    kind: ClassVar[str] = "hook_failed"
    hook: str
    status: int
    retry_at: float


@dataclass(frozen=True, kw_only=True)
class LanguageModelSet(Fact):
    """The questions of an expert go to a language model from here on.

    Attributes
    ----------
    person : str
    terms : mapping
        Members of `defero.service.views.connections.LanguageModel`; empty: they go to a person again.
    by : str
    """

    kind: ClassVar[str] = "language_model_set"
    person: str
    terms: Mapping[str, Any] = field(default_factory=dict)
    by: str


@dataclass(frozen=True, kw_only=True)
class CallBegun(Fact):
    """A server process took a question of a language model; no other one calls for it before `until`.

    `attempt` counts the calls of this question from 1.
    """

    kind: ClassVar[str] = "call_begun"
    person: str
    attempt: int
    until: float


@dataclass(frozen=True, kw_only=True)
class CallFailed(Fact):
    """A call brought no reply: HTTP status (0: none in time), and when it is tried again (None: never)."""

    kind: ClassVar[str] = "call_failed"
    person: str
    attempt: int
    status: int
    retry_at: float | None


@dataclass(frozen=True, kw_only=True)
class CallEnded(Fact):
    """A call brought a reply; the answer that was read from it, if any, is the entry after this one.

    Attributes
    ----------
    person : str
    attempt : int
    seconds : float
        From request to reply.
    price : float
        What the call cost, in the unit of fees.
    tokens_in, tokens_out : int, optional
        As the server counted them.
    """

    kind: ClassVar[str] = "call_ended"
    person: str
    attempt: int
    seconds: float
    price: float
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True, kw_only=True)
class StudioChanged(Fact):
    """The questions of some experts stand in Label Studio from here on, or no more.

    Attributes
    ----------
    link : str
        Marks the tasks that are ours.
    terms : mapping
        Members of `defero.service.views.connections.Studio`; empty: it ended.
    by : str
    """

    kind: ClassVar[str] = "studio_changed"
    link: str
    terms: Mapping[str, Any] = field(default_factory=dict)
    by: str


@dataclass(frozen=True, kw_only=True)
class StudioReady(Fact):
    """The project is there, with a tab for each expert; `webhook` says whether Label Studio tells of annotations."""

    kind: ClassVar[str] = "studio_ready"
    link: str
    project: int
    webhook: bool


@dataclass(frozen=True, kw_only=True)
class StudioFailed(Fact):
    """Label Studio refused a request (HTTP status, 0: no reply), and when it is tried again."""

    kind: ClassVar[str] = "studio_failed"
    link: str
    status: int
    retry_at: float


@dataclass(frozen=True, kw_only=True)
class StudioReached(Fact):
    """Label Studio replies again."""

    kind: ClassVar[str] = "studio_reached"
    link: str
