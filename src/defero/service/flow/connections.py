"""Connections: webhooks, Label Studio and language models are set up, end, and are reached or not.

A question of a language model is called for by one process at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from defero.core.wording import money
from defero.service import Problem, events
from defero.service.flow.cases import GiveAnswer, Skip
from defero.service.flow.command import CaseCommand, Command, Round
from defero.service.flow.settings import person_of
from defero.service.views.cases import CaseState
from defero.service.views.connections import CalledModel

MOST_HOOKS = 20


class SetHook(Command):
    """A webhook is set up; it is sent what happens from now on."""

    hook: str
    url: str
    kinds: tuple[str, ...]
    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Record it."""
        if len(work.ledger.hooks) >= MOST_HOOKS:
            raise Problem(409, f"There are {MOST_HOOKS} webhooks already; end one first.")
        work.ledger.add(events.HookChanged(hook=self.hook, url=self.url, kinds=self.kinds, by=self.by))
        return vars(work.ledger.hooks[self.hook])


class EndHook(Command):
    """A webhook ends."""

    hook: str
    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Record it."""
        if self.hook not in work.ledger.hooks:
            raise Problem(404, "There is no such webhook.", hook=self.hook)
        work.ledger.add(events.HookChanged(hook=self.hook, url="", kinds=(), by=self.by))
        return {"hook": self.hook, "ended": True}


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

    def begin(self, work: Round) -> dict[str, Any]:
        """Record it."""
        for person in self.terms["people"]:
            one = person_of(work, person)
            if one.role != "expert" or one.removed or person in work.ledger.language_models:
                raise Problem(409, "Only people who are experts can answer in Label Studio.", person=person)
        before = work.ledger.studio
        link = self.link if before is None else before.link
        work.desk.set_addresses(self.addresses)
        work.ledger.add(events.StudioChanged(link=link, terms=self.terms, by=self.by))
        assert work.ledger.studio is not None
        return vars(work.ledger.studio)


class EndStudio(Command):
    """Nobody's questions stand in Label Studio any more."""

    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Record it."""
        if work.ledger.studio is None:
            raise Problem(404, "There is no project of Label Studio.")
        work.desk.set_addresses({})
        work.ledger.add(events.StudioChanged(link=work.ledger.studio.link, by=self.by))
        return {"ended": True}


class RecordEvent(Command):
    """What became of our requests; nothing where the webhook or the project ended or changed meanwhile."""

    result: events.HookSent | events.HookFailed | events.StudioReady | events.StudioFailed | events.StudioReached

    def begin(self, work: Round) -> None:
        """Record it."""
        studio = work.ledger.studio
        links = work.ledger.hooks if studio is None else (*work.ledger.hooks, studio.link)
        if getattr(self.result, "hook", getattr(self.result, "link", "")) in links:
            work.ledger.add(self.result)


MOST_LANGUAGE_MODELS = 50
LEASE = 30.0
"""Seconds beyond the time-out of a call after which another process may call again."""


class SetLanguageModel(Command):
    """The questions of an expert go to a language model."""

    person: str
    terms: Mapping[str, Any]
    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Record it."""
        person, known = person_of(work, self.person), work.ledger.language_models
        if person.role != "expert" or person.removed:
            raise Problem(409, "Only an expert of the team can be a language model.", person=self.person)
        if work.ledger.studio is not None and self.person in work.ledger.studio.people:
            raise Problem(409, "This expert answers in Label Studio; end that first.", person=self.person)
        if len(known) >= MOST_LANGUAGE_MODELS and self.person not in known:
            raise Problem(409, f"There are {MOST_LANGUAGE_MODELS} language models already; end one first.")
        most, per_call = self.terms.get("most_per_day"), self.terms.get("per_call", 0.0)
        if most is not None and most < per_call:
            raise Problem(
                422, f"most_per_day is {money(most)}, less than the price of one call ({money(per_call)}); raise it."
            )
        classes = [work.team.class_of(label, what="classes") for label in self.terms.get("classes", ())]
        terms = {**self.terms, "classes": [work.team.class_values[k] for k in dict.fromkeys(classes)]}
        work.ledger.add(events.LanguageModelSet(person=self.person, terms=terms, by=self.by))
        return vars(work.ledger.language_models[self.person])


class EndLanguageModel(Command):
    """The questions of an expert go to a person again."""

    person: str
    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Record it."""
        if self.person not in work.ledger.language_models:
            raise Problem(404, "This person is no language model.", person=self.person)
        work.ledger.add(events.LanguageModelSet(person=self.person, by=self.by))
        return {"person": self.person, "ended": True}


def deadline_of(state: CaseState, model: CalledModel) -> float:
    """Return until when a question of a language model waits for it."""
    assert state.asked_at is not None
    last = state.asked_at + model.within
    return last if state.due is None else min(last, state.due)


class BeginCall(CaseCommand):
    """A process takes a question, so that no other one calls for it; nothing where it is not to be had now.

    If the money of the day is spent, the question is given back.
    """

    person: str
    attempt: int | None = 0

    def begin(self, work: Round) -> None:
        """Take it."""
        self.attempt = 0
        now, state, model = work.ledger.now, work.state(self.case), work.ledger.language_models.get(self.person)
        if state is None or model is None or state.asked != self.person:
            return
        if not model.may_call(now):
            self.attempt = None
            return
        if now >= deadline_of(state, model) or (state.call_at is not None and state.call_at > now):
            return
        if not model.can_pay(now):
            Skip(self.case, self.person, self.person, _no_money(model, now)).begin(work)
            return
        if not model.can_pay(now, beside=model.n_under_way(now)):
            self.attempt = None
            return
        self.attempt = state.calls + 1
        until = now + model.timeout + LEASE
        work.ledger.add(events.CallBegun(person=self.person, attempt=self.attempt, until=until), self.case)

    def reply(self, work: Round) -> int | None:
        """Return the number of the call; 0: the question is not to be had, None: no call is now."""
        return self.attempt


def _no_money(model: CalledModel, now: float) -> str:
    assert model.most_per_day is not None
    return (
        f"the language model may pay {money(model.most_per_day)} a day (UTC), and {money(model.paid_today(now))} is "
        "paid; it is called again tomorrow"
    )


@dataclass(frozen=True)
class CallResult:
    """What a call brought.

    Attributes
    ----------
    answer : label, optional
        None where no class could be read.
    why : str
        Why not.
    seconds, price : float
    tokens_in, tokens_out : int, optional
    """

    answer: events.Label | None
    why: str = ""
    seconds: float = 0.0
    price: float = 0.0
    tokens_in: int | None = None
    tokens_out: int | None = None


class EndCall(CaseCommand):
    """A call brought a reply: an answer, or a question given back. A second reply to one question adds its price."""

    person: str
    attempt: int
    heard: CallResult

    def begin(self, work: Round) -> None:
        """Record price and time, then the answer."""
        state, result = work.state(self.case), self.heard
        if state is None:
            return
        ended = {name: value for name, value in vars(result).items() if name not in ("answer", "why")}
        work.ledger.add(events.CallEnded(person=self.person, attempt=self.attempt, **ended), self.case)
        if result.answer is None:
            if state.asked == self.person and state.calls == self.attempt:
                Skip(self.case, self.person, self.person, result.why).begin(work)
        elif state.all_answers.get(self.person) is None and self.person in work.team.people:
            GiveAnswer(self.case, self.person, result.answer, self.person).begin(work)


class FailCall(CaseCommand):
    """A call brought nothing: it is tried again at `retry_at`, or the question is given back.

    Nothing where another process has taken the question meanwhile.
    """

    person: str
    attempt: int
    status: int
    retry_at: float | None
    why: str

    def begin(self, work: Round) -> None:
        """Record it."""
        state, model = work.state(self.case), work.ledger.language_models.get(self.person)
        if state is None or state.asked != self.person or state.calls != self.attempt:
            return
        retry_at = self.retry_at
        if model is None or (retry_at is not None and retry_at >= deadline_of(state, model)):
            retry_at = None
        failed = events.CallFailed(person=self.person, attempt=self.attempt, status=self.status, retry_at=retry_at)
        work.ledger.add(failed, self.case)
        if retry_at is None and model is not None:
            Skip(self.case, self.person, self.person, self.why).begin(work)


class GiveBack(CaseCommand):
    """A question that was not answered within its time goes to somebody else; nothing where a call is under way."""

    person: str

    def begin(self, work: Round) -> None:
        """Give it back."""
        state, model = work.state(self.case), work.ledger.language_models.get(self.person)
        if state is None or model is None or state.asked != self.person:
            return
        now = work.ledger.now
        if now < deadline_of(state, model) or (state.call_at is not None and state.call_at > now):
            return
        why = f"no answer of the language model in time, {state.calls} calls"
        Skip(self.case, self.person, self.person, why).begin(work)
