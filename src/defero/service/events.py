"""Events: what can happen, one frozen class each, and the numbered entries of the log that hold it.

What the service does with others (webhooks, language models, Label Studio) is at the end: no fact holds a key, the name
or e-mail address of a person, or what was asked and replied about a case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, dataclass_transform

import orjson

Label = str | int | float | bool
"""A class in its own type, as JSON holds it."""
Row = Mapping[str, Any] | Sequence[Any]
"""The features of a case: by column, or in order for a model that was fitted on an array."""
KINDS: dict[str, type["Fact"]] = {}
"""Every kind of fact by its name in the log."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that happened; each class of it is a frozen dataclass, and has a name in the log, `kind`."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str = "") -> None:
        cls.kind = kind
        if kind:
            KINDS[kind] = cls
        dataclass(frozen=True, kw_only=True)(cls)


class Received(Fact, kind="received"):
    """A case came in.

    Attributes
    ----------
    model : str
        Version of the model that scored it.
    policy : int
        Version of the policy then.
    p_model : K numbers
        P(class), in the order of the model's classes.
    p_expert : J numbers
        P(expert is right), in the order of the model's experts.
    unusual : str
        Columns that make it unlike the cases that were learned from, joined by "; ".
    """

    model: str
    policy: int
    p_model: tuple[float, ...]
    p_expert: tuple[float, ...]
    unusual: str = ""


class StepTaken(Fact):
    """What a step of a case rests on: a question, or the answer.

    Attributes
    ----------
    label, p_right, answer_cost, expected_cost, reason
        As in `defero.core.results.steps.NextSteps`: the answer by what is known now, and why it is given or not yet.
    model, policy : str, int
        Versions of the model and of the policy.
    shift : float
        The correction after drift, in log-odds, of the promise that it makes.
    """

    label: Label
    p_right: float
    answer_cost: float
    expected_cost: float
    reason: str
    model: str
    policy: int
    shift: float = 0.0


class Observed(StepTaken, kind="observed"):
    """A person would have got the question, were the policy not to observe only.

    Attributes
    ----------
    person : str
    p_person : float
        P(their answer is right), by the model, before anybody was heard; `shift` is in it.
    fee : float
        What the question costs.
    """

    person: str
    p_person: float
    fee: float


class Asked(StepTaken, kind="asked"):
    """A person got the question. Members beside these as in `Observed`.

    Attributes
    ----------
    due : float, optional
        When the question goes to somebody else.
    chance : float
        Probability of this step, below 1 where the policy explores; later training can weigh by it.
    """

    person: str
    p_person: float
    due: float | None
    fee: float
    chance: float = 1.0


class Rerouted(Asked, kind="rerouted"):
    """A person got the question in place of another one, who skipped it or did not answer in time."""

    instead_of: str


class Answered(Fact, kind="answered"):
    """A person answered; not counted where the case was settled before."""

    person: str
    answer: Label
    counted: bool
    by: str


class Skipped(Fact, kind="skipped"):
    """A person gave a question back; what they wrote about it stands with the content of the case."""

    person: str
    by: str


class Undone(Fact, kind="undone"):
    """A person took their answer back: the case stands as before it, and whoever was asked since is asked no more.

    Attributes
    ----------
    person, by : str
    counted : bool
        Whether the answer counted.
    asked_at, due : float, optional
        Since when and until when the question is theirs again; None where it was not theirs when they answered.
    waited : float
        Seconds from question to answer, which are not counted any more.
    """

    person: str
    counted: bool
    asked_at: float | None
    due: float | None
    waited: float
    by: str


class TimedOut(Fact, kind="timed_out"):
    """A person did not answer in time."""

    person: str


class Settled(StepTaken, kind="settled"):
    """The case has its answer: the model's alone, or by those who were heard; `chance` as in `Asked`."""

    heard: tuple[str, ...]
    chance: float = 1.0


class Outcome(Fact, kind="outcome"):
    """The truth became known, or was corrected."""

    label: Label
    by: str


class PolicyChanged(Fact, kind="policy_changed"):
    """Another policy holds from here on."""

    version: int
    policy: Mapping[str, Any]
    by: str


class ModelChanged(Fact, kind="model_changed"):
    """Another model decides from here on: its version, its classes, and who is behind each of its experts.

    `folder` is its place in the folder of models; empty for the model that the service was started with.
    """

    version: str
    classes: tuple[Label, ...]
    experts: tuple[str, ...]
    by: str
    folder: str = ""


class ModelLoaded(ModelChanged, kind="model_loaded"):
    """A model was loaded beside the one that decides, and is compared with it on every new case."""


class Compared(Fact, kind="compared"):
    """What the model that was loaded beside makes of a new case.

    Attributes
    ----------
    model : str
        Its version.
    label, p_right
        Its answer without anybody's help.
    asks : str, optional
        Whom it would ask.
    same_label, same_step : bool
        Whether the model that decides has the same answer, and asks the same person or nobody.
    """

    model: str
    label: Label
    p_right: float
    asks: str | None
    same_label: bool
    same_step: bool


class PersonChanged(Fact, kind="person_changed"):
    """A person joined, left, or changed: only what changed is given.

    Attributes
    ----------
    person : str
    change : mapping
        Some of "role", "available", "capacity" (questions a day, None: no limit) and "removed".
    """

    person: str
    change: Mapping[str, Any] = field(default_factory=dict)
    by: str


class Erased(Fact, kind="erased"):
    """The content of a case, or the name of a person, was removed on request; the log keeps its figures."""

    person: str | None = None
    by: str


class DriftRaised(Fact, kind="drift_raised"):
    """Somebody is right more or less often than promised.

    Attributes
    ----------
    person : str
        An id, or "model".
    n, promised, kept, shift
        As in `defero.judge.drift.Alarm`.
    """

    person: str
    n: int
    promised: float
    kept: float
    shift: float


class DriftActed(Fact, kind="drift_acted"):
    """Something was done about an alarm: "correct", "dismiss", or "withdraw" (an earlier correction)."""

    person: str
    action: str
    by: str


@dataclass(frozen=True)
class Entry:
    """A fact as it stands in the log.

    Attributes
    ----------
    seq : int
        Its number: 1, 2, 3, ... without gaps, in the order of the commits.
    at : float
        When, in seconds since 1970 (UTC).
    case : str, optional
        The case it is about.
    fact : Fact

    Examples
    --------
    >>> from defero.service.events import TimedOut
    >>> entry = Entry(7, 0.0, "c1", TimedOut(person="p2"))
    >>> entry.body(), entry.person
    ('{"person":"p2"}', 'p2')
    >>> Entry.read(7, 0.0, "c1", "timed_out", entry.body()) == entry
    True
    """

    seq: int
    at: float
    case: str | None
    fact: Fact

    @property
    def person(self) -> str | None:
        """Whom it is about."""
        return getattr(self.fact, "person", None)

    def to_dict(self) -> dict[str, Any]:
        """Return number, time, kind and the fact's own values."""
        return {"seq": self.seq, "at": self.at, "kind": self.fact.kind, **vars(self.fact)}

    def body(self) -> str:
        """Return the fact's own values as JSON."""
        return to_json(vars(self.fact))

    @classmethod
    def read(cls, seq: int, at: float, case: str | None, kind: str, body: str) -> "Entry":
        """Return the entry that a line of the log holds."""
        build, values = KINDS[kind], orjson.loads(body)
        known = {one.name: _frozen(values[one.name]) for one in fields(build) if one.name in values}
        return cls(seq, at, case, build(**known))


def to_json(value: Any) -> str:
    """Return compact JSON."""
    return to_json_bytes(value).decode()


def to_json_bytes(value: Any) -> bytes:
    """Return compact JSON; numbers are finite, which whoever made the value has checked.

    A quarter of the time of a batch of cases went into the standard library's encoder; this one takes a fifth of that.
    """
    return orjson.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


class HookChanged(Fact, kind="hook_changed"):
    """A webhook was set up, or ended; its secret stands in a table of its own.

    Attributes
    ----------
    hook : str
    url : str
        Where entries go; empty: the webhook ended.
    kinds : names
        Of the facts that are sent.
    """

    hook: str
    url: str
    kinds: tuple[str, ...]
    by: str


class HookSent(Fact, kind="hook_sent"):
    """A webhook took everything up to an entry."""

    hook: str
    upto: int


class HookFailed(Fact, kind="hook_failed"):
    """A webhook did not take what was sent: HTTP status (0: no reply), and when it is tried again."""

    hook: str
    status: int
    retry_at: float


class LanguageModelSet(Fact, kind="language_model_set"):
    """The questions of an expert go to a language model from here on.

    Attributes
    ----------
    person : str
    terms : mapping
        Members of `defero.service.views.connections`; empty: they go to a person again.
    by : str
    """

    person: str
    terms: Mapping[str, Any] = field(default_factory=dict)
    by: str


class CallBegun(Fact, kind="call_begun"):
    """A server process took a question of a language model; no other one calls for it before `until`.

    `attempt` counts the calls of this question from 1.
    """

    person: str
    attempt: int
    until: float


class CallFailed(Fact, kind="call_failed"):
    """A call brought no reply: HTTP status (0: none in time), and when it is tried again (None: never)."""

    person: str
    attempt: int
    status: int
    retry_at: float | None


class CallEnded(Fact, kind="call_ended"):
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

    person: str
    attempt: int
    seconds: float
    price: float
    tokens_in: int | None
    tokens_out: int | None


class StudioChanged(Fact, kind="studio_changed"):
    """The questions of some experts stand in Label Studio from here on, or no more.

    Attributes
    ----------
    link : str
        Marks the tasks that are ours.
    terms : mapping
        Members of `defero.service.views.connections.Studio`; empty: it ended.
    by : str
    """

    link: str
    terms: Mapping[str, Any] = field(default_factory=dict)
    by: str


class StudioReady(Fact, kind="studio_ready"):
    """The project is there, with a tab for each expert; `webhook` says whether Label Studio tells of annotations."""

    link: str
    project: int
    webhook: bool


class StudioFailed(Fact, kind="studio_failed"):
    """Label Studio refused a request (HTTP status, 0: no reply), and when it is tried again."""

    link: str
    status: int
    retry_at: float


class StudioReached(Fact, kind="studio_reached"):
    """Label Studio replies again."""

    link: str
