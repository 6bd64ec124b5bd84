"""Connections: webhooks, experts that are language models, and the project of Label Studio in which experts answer.

Each says how it stands: how far it has come, whether it fails, and when it may be called next.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, FiniteFloat, StrictInt, StringConstraints

from defero.service import events
from defero.service.views.policy import Cell, LabelIn, Money, Name, PersonId, Strict, one_of
from defero.service.views.tallies import day_of

State = TypeVar("State", bound=BaseModel)


def saved(build: type[State], values: Mapping[str, Any]) -> State:
    """Rebuild what JSON keeps of a connection; members that this version does not know are left out.

    It was checked when it was set, by the bounds of that time, and is not checked again.
    """
    known = {name: values[name] for name in build.model_fields if name in values}
    return build.model_construct(None, **{name: tuple(v) if isinstance(v, list) else v for name, v in known.items()})


def changed_by(state: State, **changes: Any) -> State:
    """Return a connection with some members changed."""
    return state.model_copy(update=changes)


UNKNOWN = ("ignore", "assigned")
"""What becomes of an annotation whose author is no expert of ours."""
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


_PORT = r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
Url = Annotated[str, StringConstraints(pattern=rf"^https?://[A-Za-z0-9.-]+{_PORT}(/[!-~]*)?$", max_length=500)]
"""Where the service sends requests: http or https, a host, a port up to 65535; no user, no password."""
BaseUrl = Annotated[str, StringConstraints(pattern=rf'^https?://[A-Za-z0-9.-]+{_PORT}(/[!"$->@-~]*)?$', max_length=500)]
"""The same without a query, as a path is added to it."""


class HookIn(Strict):
    """A webhook to set up."""

    url: Url = Field(
        examples=["https://clinic.example/defero"], description="http or https; redirects are not followed."
    )
    kinds: tuple[Annotated[str, one_of(KINDS)], ...] = Field(
        default=("settled",), min_length=1, max_length=len(KINDS), examples=[["settled", "drift_raised"]]
    )


class Hook(HookIn):
    """A webhook, how far it has come, and whether it fails."""

    hook: str
    upto: int = Field(description="Everything up to this entry was taken.")
    failures: int = Field(default=0, description="In a row.")
    retry_at: float = Field(default=0.0, description="Not before this time.")

    def is_due(self, now: float) -> bool:
        """Whether something may be sent now; a time further ahead than any wait is that of a clock that was wrong."""
        return not now < self.retry_at <= now + LONGEST_WAIT


def apply_hook(hooks: Mapping[str, Hook], entry: events.Entry) -> dict[str, Hook]:
    """Return the webhooks after one more entry about them.

    >>> fact = events.HookChanged(hook="w1", url="https://a.b", kinds=("settled",), by="p1")
    >>> hooks = apply_hook({}, events.Entry(5, 0.0, None, fact))
    >>> apply_hook(hooks, events.Entry(9, 0.0, None, events.HookSent(hook="w1", upto=8)))["w1"].upto
    8
    """
    changed, fact = dict(hooks), entry.fact
    match fact:
        case events.HookChanged(url=""):
            changed.pop(fact.hook, None)
        case events.HookChanged():
            changed[fact.hook] = Hook(hook=fact.hook, url=fact.url, kinds=fact.kinds, upto=entry.seq)
        case events.HookSent() if fact.hook in changed:
            upto = max(fact.upto, changed[fact.hook].upto)
            changed[fact.hook] = changed_by(changed[fact.hook], upto=upto, failures=0, retry_at=0.0)
        case events.HookFailed() if fact.hook in changed:
            failures = changed[fact.hook].failures + 1
            changed[fact.hook] = changed_by(changed[fact.hook], failures=failures, retry_at=fact.retry_at)
    return changed


AHEAD = 1.0
"""Seconds by which calls may run ahead of an even pace."""
_MINUTE = 60.0
_ROUNDING = 1e-9


KEY_VARIABLE = r"^(DEFERO_KEY_[A-Z0-9_]{1,60})?$"
"""Names of environment variables with keys; no other variable can be sent to a server that a lead names."""
_Seconds = Annotated[FiniteFloat, Field(gt=0, le=86_400)]


class LanguageModelIn(Strict):
    """An expert that is a language model behind an OpenAI-compatible endpoint."""

    url: BaseUrl = Field(
        examples=["https://llm.example/v1"],
        description='Requests go to "/chat/completions" below it; redirects are not followed.',
    )
    model: Name = Field(examples=["llama-3.3-70b"], description="The name that the server knows it by.")
    prompt: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=20_000)] = Field(
        default="",
        examples=["A patient of {age} years says: {note}"],
        description="{column} stands for a cell of the case; empty: all columns. The classes are added to it.",
    )
    classes: tuple[LabelIn, ...] = Field(
        default=(), max_length=1_000, description="What it may answer; empty: every class."
    )
    key_variable: Annotated[str, StringConstraints(pattern=KEY_VARIABLE)] = Field(
        default="",
        examples=["DEFERO_KEY_LLM"],
        description="Environment variable of the service with the API key, DEFERO_KEY_...; empty: no key.",
    )
    per_call: Money = Field(default=0.0, examples=[0.002], description="Price of a call.")
    per_million_in: Money = Field(default=0.0, examples=[0.5], description="Price of a million tokens that go in.")
    per_million_out: Money = Field(default=0.0, examples=[1.5], description="Price of a million tokens that come out.")
    timeout: Annotated[FiniteFloat, Field(gt=0, le=600)] = Field(
        default=60.0, description="Seconds that a call may take."
    )
    within: _Seconds = Field(
        default=600.0, description="Seconds after which a question without an answer is given back."
    )
    per_minute: Annotated[StrictInt, Field(ge=1, le=100_000)] = Field(
        default=60, description="The most calls in any minute, by all server processes together."
    )
    most_per_day: Money | None = Field(
        default=None,
        examples=[20.0],
        description="The most that its calls may cost in a day (UTC); null: no limit. After that its questions go to "
        "others.",
    )
    options: dict[Name, Cell] = Field(
        default={}, max_length=30, examples=[{"temperature": 0, "max_tokens": 20}], description="Sent with each call."
    )


class LanguageModelCalls(LanguageModelIn):
    """An expert that is a language model, and how its calls go."""

    person: str = Field(examples=["p3"])
    next_at: float = Field(default=0.0, description="Calls keep an even pace: about when the next one may be made.")
    last_at: float | None = Field(default=None, description="When it was called last, in seconds since 1970.")
    failures: int = Field(default=0, description="Calls in a row that failed.")
    status: int | None = Field(
        default=None, description="HTTP status of the last call, if it failed; 0: no reply in time."
    )


class CalledModel(LanguageModelCalls):
    """An expert that is a language model, with what its calls cost.

    Attributes
    ----------
    paid : float
        What its calls cost on the day `paid_day`.
    last_price : float
        What the last call cost.
    under_way : mapping
        From the case of a call that has not ended to the time when it is given up.
    """

    paid: float = 0.0
    paid_day: str = ""
    last_price: float = 0.0
    under_way: dict[str, float] = Field(default_factory=dict)

    def may_call(self, now: float) -> bool:
        """Whether a call keeps the pace; a time further ahead than any pause is that of a clock that was wrong.

        >>> model = CalledModel(person="p1", url="https://a.example", model="m", next_at=110.0, within=600.0)
        >>> model.may_call(100.0), model.may_call(109.5), changed_by(model, next_at=1e6).may_call(100.0)
        (False, True, True)
        """
        return not now + AHEAD < self.next_at <= now + self.within + 2 * _MINUTE

    def paid_today(self, now: float) -> float:
        """Return what its calls cost so far on the day of `now`."""
        return self.paid if self.paid_day == day_of(now) else 0.0

    def can_pay(self, now: float, *, beside: int = 0) -> bool:
        """Whether one more call, and so many beside it, stay within the money of the day.

        A call is expected to cost what the last one did, and at least `per_call`.

        >>> model = CalledModel(person="p1", url="https://a.example", model="m", per_call=0.5, most_per_day=1.0)
        >>> model.can_pay(0.0), model.can_pay(0.0, beside=1), model.can_pay(0.0, beside=2)
        (True, True, False)
        """
        if self.most_per_day is None:
            return True
        price = max(self.per_call, self.last_price)
        return self.paid_today(now) + (1 + beside) * price <= self.most_per_day + _ROUNDING

    def n_under_way(self, now: float) -> int:
        """Return how many calls have begun and not ended."""
        return sum(until > now for until in self.under_way.values())

    def price(self, tokens_in: int | None, tokens_out: int | None) -> float:
        """Return what a call costs.

        >>> model = CalledModel(person="p1", url="https://a.example", model="m", per_call=0.5, per_million_out=10.0)
        >>> model.price(None, 50_000)
        1.0
        """
        by_token = self.per_million_in * (tokens_in or 0) + self.per_million_out * (tokens_out or 0)
        return self.per_call + by_token / 1e6


def apply_call(models: Mapping[str, CalledModel], entry: events.Entry) -> dict[str, CalledModel]:
    """Return the language models after one more entry about them.

    The pace is (`_MINUTE` + `AHEAD`) / per_minute seconds a call: as calls may run `AHEAD` seconds ahead of it, any
    minute has at most `per_minute` of them.

    >>> terms = {"url": "https://a.example/v1", "model": "m", "per_minute": 61}
    >>> models = apply_call({}, events.Entry(1, 0.0, None, events.LanguageModelSet(person="p1", terms=terms, by="p9")))
    >>> call = events.CallBegun(person="p1", attempt=1, until=190.0)
    >>> apply_call(models, events.Entry(2, 100.0, "c1", call))["p1"].next_at
    101.0
    """
    changed, fact = dict(models), entry.fact
    assert entry.person is not None
    before = changed.get(entry.person)
    match fact:
        case events.LanguageModelSet() if not fact.terms:
            changed.pop(fact.person, None)
        case events.LanguageModelSet():
            unchanged = ("next_at", "last_at", "paid", "paid_day", "last_price", "under_way")
            so_far = {} if before is None else {name: getattr(before, name) for name in unchanged}
            changed[fact.person] = saved(CalledModel, {**fact.terms, "person": fact.person, **so_far})
        case events.CallBegun() if before is not None:
            pace = (_MINUTE + AHEAD) / before.per_minute
            start = entry.at if before.may_call(entry.at - AHEAD) else before.next_at
            open_calls = {case: until for case, until in before.under_way.items() if until > entry.at}
            open_calls[str(entry.case)] = fact.until
            changed[fact.person] = changed_by(before, next_at=start + pace, last_at=entry.at, under_way=open_calls)
        case events.CallFailed() if before is not None:
            slower = fact.retry_at if fact.status == 429 and fact.retry_at is not None else 0.0
            next_at = max(before.next_at, slower)
            before = changed_by(before, under_way=_without(before.under_way, entry.case))
            changed[fact.person] = changed_by(before, next_at=next_at, failures=before.failures + 1, status=fact.status)
        case events.CallEnded() if before is not None:
            paid = before.paid_today(entry.at) + fact.price
            before = changed_by(before, under_way=_without(before.under_way, entry.case), last_price=fact.price)
            changed[fact.person] = changed_by(before, failures=0, status=None, paid=paid, paid_day=day_of(entry.at))
    return changed


def _without(under_way: Mapping[str, float], case: str | None) -> dict[str, float]:
    return {one: until for one, until in under_way.items() if one != case}


Email = Annotated[str, StringConstraints(pattern=r"^[!-?A-~]{1,100}@[!-?A-~]{1,90}$")]


class StudioTerms(Strict):
    """A project of Label Studio."""

    url: BaseUrl = Field(examples=["https://studio.example"], description="Of the server; redirects are not followed.")
    key_variable: Annotated[str, StringConstraints(pattern=KEY_VARIABLE)] = Field(
        default="DEFERO_KEY_LABEL_STUDIO",
        description="Environment variable of the service with the token of an account, DEFERO_KEY_...",
    )
    project: Annotated[StrictInt, Field(ge=1, le=2**31)] | None = Field(
        default=None, description="Number of a project; null: the one of this title, which is made where there is none."
    )
    title: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{3,50}$")] = Field(default="defero")
    control: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,49}$")] = Field(
        default="answer", description="Name of the choices in the labelling interface."
    )
    callback: BaseUrl | Literal[""] = Field(
        default="",
        examples=["https://defero.example"],
        description="URL of this service as Label Studio reaches it; empty: it is only asked for annotations.",
    )
    unknown: Annotated[str, one_of(UNKNOWN)] = Field(
        default="ignore",
        description="Whether an annotation by somebody else counts for nobody, or for whom the task is meant.",
    )
    poll: Annotated[FiniteFloat, Field(ge=1, le=86_400)] = Field(
        default=30.0, description="Seconds between two looks at the whole project."
    )


class StudioIn(StudioTerms):
    """A project of Label Studio in which experts answer."""

    people: dict[PersonId, Email | None] = Field(
        min_length=1,
        max_length=1_000,
        examples=[{"p3": "ann@clinic.example"}],
        description="Whose questions stand there, with the address of their account.",
    )


class StudioState(BaseModel):
    """How a project of Label Studio goes."""

    link: str = Field(description="Marks the tasks that are ours (`defero_link`).")
    ready: bool = Field(default=False, description="Whether the project is set up.")
    webhook: bool = Field(default=False, description="Whether Label Studio tells of annotations.")
    failures: int = Field(default=0, description="Requests in a row that failed.")
    status: int | None = Field(default=None, description="HTTP status of the last one; 0: no reply.")
    retry_at: float = 0.0


class Studio(StudioTerms, StudioState):
    """A project of Label Studio, with the ids of those whose questions stand there, and how it goes."""

    people: tuple[str, ...] = ()


def apply_studio(studio: Studio | None, entry: events.Entry) -> Studio | None:
    """Return the project after one more entry about it.

    >>> terms = {"url": "https://studio.example", "people": ["p1"]}
    >>> studio = apply_studio(None, events.Entry(1, 0.0, None, events.StudioChanged(link="s1", terms=terms, by="p9")))
    >>> apply_studio(studio, events.Entry(2, 0.0, None, events.StudioReady(link="s1", project=7, webhook=True))).project
    7
    """
    fact = entry.fact
    if isinstance(fact, events.StudioChanged):
        return saved(Studio, {**fact.terms, "link": fact.link}) if fact.terms else None
    if studio is None or getattr(fact, "link", None) != studio.link:
        return studio
    match fact:
        case events.StudioReady():
            return changed_by(studio, project=fact.project, ready=True, webhook=fact.webhook)
        case events.StudioFailed():
            return changed_by(studio, failures=studio.failures + 1, status=fact.status, retry_at=fact.retry_at)
        case events.StudioReached():
            return changed_by(studio, failures=0, status=None, retry_at=0.0)
    return studio
