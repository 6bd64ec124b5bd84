"""Connections: webhooks, experts that are language models, and the project of Label Studio in which experts answer.

Each says how it stands: how far it has come, whether it fails, and when it may be called next.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from defero.service import events
from defero.service.views.tallies import day_of

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
            changed[fact.hook] = Hook(fact.hook, fact.url, fact.kinds, entry.seq)
        case events.HookSent() if fact.hook in changed:
            upto = max(fact.upto, changed[fact.hook].upto)
            changed[fact.hook] = replace(changed[fact.hook], upto=upto, failures=0, retry_at=0.0)
        case events.HookFailed() if fact.hook in changed:
            failures = changed[fact.hook].failures + 1
            changed[fact.hook] = replace(changed[fact.hook], failures=failures, retry_at=fact.retry_at)
    return changed


AHEAD = 1.0
"""Seconds by which calls may run ahead of an even pace."""
_MINUTE = 60.0
_STATE = ("person", "next_at", "last_at", "failures", "status", "paid", "paid_day", "last_price", "under_way")
_ROUNDING = 1e-9


@dataclass(frozen=True)
class LanguageModel:
    """An expert that is a language model behind an OpenAI-compatible endpoint.

    Attributes
    ----------
    person : str
        The expert.
    url : str
        Such as "https://api.example/v1"; requests go to "/chat/completions" below it.
    model : str
        The name that the server knows it by.
    prompt : str
        Template with {column} for the cells of a case; empty: all columns, one in a line.
    classes : labels
        What it may answer; empty: every class.
    key_variable : str
        Environment variable with the API key; empty: no key is sent. The key itself is never stored.
    per_call, per_million_in, per_million_out : float
        Price of a call, and of a million tokens that go in and come out.
    timeout : float
        Seconds that one call may take.
    within : float
        Seconds after which a question without an answer is given back.
    per_minute : int
        The most calls in any minute, by all server processes together.
    most_per_day : float, optional
        The most that its calls may cost in a day (UTC); None: no limit.
    options : mapping
        Further members of the request, such as {"temperature": 0}.
    next_at : float
        Calls keep an even pace: at most `AHEAD` seconds before this time.
    last_at : float, optional
        When it was called last.
    failures : int
        Calls in a row that failed.
    status : int, optional
        HTTP status of the last call that failed; None after one that did not.
    paid : float
        What its calls cost on the day `paid_day`.
    last_price : float
        What the last call cost.
    under_way : mapping
        From the case of a call that has not ended to the time when it is given up.
    """

    person: str
    url: str
    model: str
    prompt: str = ""
    classes: tuple[events.Label, ...] = ()
    key_variable: str = ""
    per_call: float = 0.0
    per_million_in: float = 0.0
    per_million_out: float = 0.0
    timeout: float = 60.0
    within: float = 600.0
    per_minute: int = 60
    most_per_day: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    next_at: float = 0.0
    last_at: float | None = None
    failures: int = 0
    status: int | None = None
    paid: float = 0.0
    paid_day: str = ""
    last_price: float = 0.0
    under_way: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "LanguageModel":
        """Rebuild what JSON keeps of it; members that this version does not know are left out."""
        known = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        return cls(**{**known, "classes": tuple(known.get("classes", ()))})

    def terms(self) -> dict[str, Any]:
        """Return what the lead has set."""
        return {name: value for name, value in vars(self).items() if name not in _STATE}

    def may_call(self, now: float) -> bool:
        """Whether a call keeps the pace; a time further ahead than any pause is that of a clock that was wrong.

        >>> model = LanguageModel("p1", "https://a.example", "m", next_at=110.0, within=600.0)
        >>> model.may_call(100.0), model.may_call(109.5), replace(model, next_at=1e6).may_call(100.0)
        (False, True, True)
        """
        return not now + AHEAD < self.next_at <= now + self.within + 2 * _MINUTE

    def paid_today(self, now: float) -> float:
        """Return what its calls cost so far on the day of `now`."""
        return self.paid if self.paid_day == day_of(now) else 0.0

    def can_pay(self, now: float, *, beside: int = 0) -> bool:
        """Whether one more call, and so many beside it, stay within the money of the day.

        A call is expected to cost what the last one did, and at least `per_call`.

        >>> model = LanguageModel("p1", "https://a.example", "m", per_call=0.5, most_per_day=1.0)
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

        >>> LanguageModel("p1", "https://a.example", "m", per_call=0.5, per_million_out=10.0).price(None, 50_000)
        1.0
        """
        by_token = self.per_million_in * (tokens_in or 0) + self.per_million_out * (tokens_out or 0)
        return self.per_call + by_token / 1e6


def apply_call(models: Mapping[str, LanguageModel], entry: events.Entry) -> dict[str, LanguageModel]:
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
            changed[fact.person] = LanguageModel.from_dict({**fact.terms, "person": fact.person, **so_far})
        case events.CallBegun() if before is not None:
            pace = (_MINUTE + AHEAD) / before.per_minute
            start = entry.at if before.may_call(entry.at - AHEAD) else before.next_at
            open_calls = {case: until for case, until in before.under_way.items() if until > entry.at}
            open_calls[str(entry.case)] = fact.until
            changed[fact.person] = replace(before, next_at=start + pace, last_at=entry.at, under_way=open_calls)
        case events.CallFailed() if before is not None:
            slower = fact.retry_at if fact.status == 429 and fact.retry_at is not None else 0.0
            next_at = max(before.next_at, slower)
            before = replace(before, under_way=_without(before.under_way, entry.case))
            changed[fact.person] = replace(before, next_at=next_at, failures=before.failures + 1, status=fact.status)
        case events.CallEnded() if before is not None:
            paid = before.paid_today(entry.at) + fact.price
            before = replace(before, under_way=_without(before.under_way, entry.case), last_price=fact.price)
            changed[fact.person] = replace(before, failures=0, status=None, paid=paid, paid_day=day_of(entry.at))
    return changed


def _without(under_way: Mapping[str, float], case: str | None) -> dict[str, float]:
    return {one: until for one, until in under_way.items() if one != case}


UNKNOWN = ("ignore", "assigned")
"""What becomes of an annotation whose author is no expert of ours."""


@dataclass(frozen=True)
class Studio:
    """A project of Label Studio.

    Attributes
    ----------
    link : str
        Marks the tasks that are ours.
    url : str
        Of the server.
    people : ids
        Whose questions stand there.
    key_variable : str
        Environment variable with the token of an account; the token itself is never stored.
    project : int, optional
        None: one of this title is looked for, and made where there is none.
    title : str
    control : str
        Name of the choices in the labelling interface.
    callback : str
        URL of this service as Label Studio reaches it, to tell of annotations; empty: it is only asked for them.
    unknown : "ignore" or "assigned"
        An annotation by an author with another address counts for nobody, or for whom the task is meant.
    poll : float
        Seconds between two looks at the whole project.
    ready, webhook : bool
        Whether the project is set up, and tells of annotations.
    failures : int
        In a row.
    status : int, optional
        HTTP status of the last one.
    retry_at : float
        Not before this time.
    """

    link: str
    url: str
    people: tuple[str, ...] = ()
    key_variable: str = ""
    project: int | None = None
    title: str = "defero"
    control: str = "answer"
    callback: str = ""
    unknown: str = "ignore"
    poll: float = 30.0
    ready: bool = False
    webhook: bool = False
    failures: int = 0
    status: int | None = None
    retry_at: float = 0.0

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Studio":
        """Rebuild what JSON keeps of it; members that this version does not know are left out."""
        known = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        return cls(**{**known, "people": tuple(known.get("people", ()))})


def apply_studio(studio: Studio | None, entry: events.Entry) -> Studio | None:
    """Return the project after one more entry about it.

    >>> terms = {"url": "https://studio.example", "people": ["p1"]}
    >>> studio = apply_studio(None, events.Entry(1, 0.0, None, events.StudioChanged(link="s1", terms=terms, by="p9")))
    >>> apply_studio(studio, events.Entry(2, 0.0, None, events.StudioReady(link="s1", project=7, webhook=True))).project
    7
    """
    fact = entry.fact
    if isinstance(fact, events.StudioChanged):
        return Studio.from_dict({**fact.terms, "link": fact.link}) if fact.terms else None
    if studio is None or getattr(fact, "link", None) != studio.link:
        return studio
    match fact:
        case events.StudioReady():
            return replace(studio, project=fact.project, ready=True, webhook=fact.webhook)
        case events.StudioFailed():
            return replace(studio, failures=studio.failures + 1, status=fact.status, retry_at=fact.retry_at)
        case events.StudioReached():
            return replace(studio, failures=0, status=None, retry_at=0.0)
    return studio
