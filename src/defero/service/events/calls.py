"""Facts about experts that are language models, and about the calls to them. None holds a key or what was asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from defero.service.events.facts import Fact


@dataclass(frozen=True, kw_only=True)
class LanguageModelSet(Fact):
    """The questions of an expert go to a language model from here on.

    Attributes
    ----------
    person : str
    terms : mapping
        Members of `defero.service.views.language_models.LanguageModel`; empty: they go to a person again.
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


CALLS: dict[str, type[Fact]] = {one.kind: one for one in (LanguageModelSet, CallBegun, CallFailed, CallEnded)}
"""These kinds of facts by their names in the log."""
