"""Ledger: a piece of the views in memory, to which new entries are added; what one transaction works on."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, NamedTuple

from defero.service import events
from defero.service.views import cases as case_view
from defero.service.views.cases import CaseState
from defero.service.views.connections import CalledModel, Hook, Studio, apply_call, apply_hook, apply_studio, saved
from defero.service.views.policy import Person, Policy, person_after
from defero.service.views.promises import DriftBook, judged
from defero.service.views.tallies import Tally, day_of, tallies


def _model(build: type[events.ModelChanged], saved: Mapping[str, Any]) -> events.ModelChanged:
    known = {one.name: saved[one.name] for one in fields(events.ModelChanged) if one.name in saved}
    return build(**{**known, "classes": tuple(known["classes"]), "experts": tuple(known["experts"])})


def _each(read: Callable[[Any], Any], saved: Mapping[str, Any]) -> dict[str, Any]:
    return {name: read(one) for name, one in saved.items()}


class _Saved(NamedTuple):
    """How a member of the ledger becomes plain values, and back."""

    plain: Callable[[Any], Any]
    read: Callable[[Any], Any]


SETTINGS = {
    "policy": _Saved(
        lambda policy: {"policy": policy.to_dict(), "version": policy.version},
        lambda saved: Policy.from_dict(saved["policy"], version=saved["version"]),
    ),
    "model": _Saved(vars, partial(_model, events.ModelChanged)),
    "candidate": _Saved(vars, partial(_model, events.ModelLoaded)),
    "hooks": _Saved(partial(_each, vars), partial(_each, partial(saved, Hook))),
    "language_models": _Saved(partial(_each, vars), partial(_each, partial(saved, CalledModel))),
    "studio": _Saved(vars, partial(saved, Studio)),
    "drift": _Saved(DriftBook.plain, DriftBook),
}
"""The members of the ledger that stand in one row each of the database, by their name in both."""


@dataclass
class Ledger:
    """The views as far as they are needed, and the entries that were added.

    Attributes
    ----------
    seq : int
        Number of the last entry.
    now : float
        The time of the entries that are added.
    cases : mapping
        State of the cases at hand.
    people : mapping
    policy : Policy
    model : events.ModelChanged, optional
        The last one.
    candidate : events.ModelLoaded, optional
        The one that was loaded beside it.
    drift : DriftBook
        How everybody keeps the promises of this model.
    hooks : mapping
        Where the log is sent on to.
    language_models : mapping
        Experts whose questions a language model answers.
    studio : Studio, optional
        The project of Label Studio in which experts answer.
    asked_today : Counter
        Questions of the day by person.
    entries : list
        Added since it was opened.
    counts : Counter
        What they add to the tallies.
    touched : sets of ids
        Cases and people that changed.
    """

    seq: int = 0
    now: float = 0.0
    cases: dict[str, CaseState] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    model: events.ModelChanged | None = None
    candidate: events.ModelLoaded | None = None
    drift: DriftBook = field(default_factory=DriftBook)
    hooks: dict[str, Hook] = field(default_factory=dict)
    language_models: dict[str, CalledModel] = field(default_factory=dict)
    studio: Studio | None = None
    asked_today: Counter[str] = field(default_factory=Counter)
    entries: list[events.Entry] = field(default_factory=list)
    counts: Counter[Tally] = field(default_factory=Counter)
    touched_cases: set[str] = field(default_factory=set)
    touched_people: set[str] = field(default_factory=set)
    touched_settings: set[str] = field(default_factory=set)

    def add(self, fact: events.Fact, case: str | None = None) -> events.Entry:
        """Append a fact, now."""
        entry = events.Entry(self.seq + 1, self.now, case, fact)
        self.entries.append(entry)
        self.apply(entry)
        return entry

    def apply(self, entry: events.Entry) -> None:
        """Bring the views up to an entry."""
        self.seq = entry.seq
        fact = entry.fact
        if entry.case is not None:
            before = self.cases.get(entry.case)
            for tally, amount in tallies(before, entry):
                self.counts[tally] += amount
            self.cases[entry.case] = case_view.apply(before, entry)
            self.touched_cases.add(entry.case)
            if isinstance(fact, events.Outcome) and before is not None:
                self._judge(before, fact)
            if isinstance(fact, events.Asked) and day_of(entry.at) == day_of(self.now):
                self.asked_today[fact.person] += 1
            if isinstance(fact, events.CallBegun | events.CallFailed | events.CallEnded):
                self._call(entry)
        elif isinstance(fact, events.PersonChanged):
            self.people[fact.person] = person_after(self.people.get(fact.person), entry)
            self.touched_people.add(fact.person)
        elif isinstance(fact, events.PolicyChanged):
            self.policy = Policy.from_dict(fact.policy, version=fact.version)
            self.touched_settings.add("policy")
        elif isinstance(fact, events.ModelLoaded):
            self.candidate = fact
            self.touched_settings.add("candidate")
        elif isinstance(fact, events.ModelChanged):
            if self.model is None or self.model.version != fact.version:  # its promises are others
                self.drift = DriftBook()
            self.model, self.candidate = fact, None
            self.touched_settings |= {"model", "candidate", "drift"}
        elif isinstance(fact, events.HookChanged | events.HookSent | events.HookFailed):
            self.hooks = apply_hook(self.hooks, entry)
            self.touched_settings.add("hooks")
        elif isinstance(fact, events.LanguageModelSet):
            self._call(entry)
        elif isinstance(fact, events.StudioChanged | events.StudioReady | events.StudioFailed | events.StudioReached):
            self.studio = apply_studio(self.studio, entry)
            self.touched_settings.add("studio")
        elif isinstance(fact, events.DriftRaised | events.DriftActed):
            self.drift.apply(fact)
            self.touched_settings.add("drift")

    def _call(self, entry: events.Entry) -> None:
        self.language_models = apply_call(self.language_models, entry)
        self.touched_settings.add("language_models")

    def following(self, now: float) -> "Ledger | None":
        """Return a ledger that goes on from here without cases; None on another day, whose questions are not known."""
        if day_of(now) != day_of(self.now):
            return None
        empty: dict[str, Any] = {name: set() for name in ("touched_cases", "touched_people", "touched_settings")}
        return replace(self, now=now, cases={}, entries=[], counts=Counter(), **empty)

    def _judge(self, before: CaseState, fact: events.Outcome) -> None:
        version = None if self.model is None else self.model.version
        for who, promised, shift, right in judged(before, fact, version):
            self.drift.judge(who, promised, right=right, shift=shift)
            self.touched_settings.add("drift")

    def new_case(self) -> str:
        """Return the id of a case that is received next."""
        return f"c{self.seq + 1}"

    def new_person(self) -> str:
        """Return the id of a person who joins next."""
        return f"p{1 + max((int(one[1:]) for one in self.people), default=0)}"

    def left_today(self, person: str) -> float:
        """Return how many more questions a person may get today."""
        who, model = self.people.get(person), self.language_models.get(person)
        if who is None or not who.can_be_asked or (model is not None and not model.can_pay(self.now)):
            return 0
        limits = [most for most in (who.capacity, self.policy.capacity.get(person)) if most is not None]
        return min(limits) - self.asked_today[person] if limits else float("inf")

    def settings(self, names: Iterable[str]) -> dict[str, Any]:
        """Return some members of `SETTINGS` as plain values."""
        values = {name: getattr(self, name) for name in sorted(names)}
        return {name: None if value is None else SETTINGS[name].plain(value) for name, value in values.items()}

    def plain(self) -> dict[str, Any]:
        """Return every view as plain values, to be compared with those of another ledger."""
        return {
            "seq": self.seq,
            "cases": {case: state.to_dict() for case, state in sorted(self.cases.items())},
            "people": {person: vars(state) for person, state in sorted(self.people.items())},
            **self.settings(SETTINGS),
            "policy": self.policy.to_dict() | {"version": self.policy.version},
            "tallies": {"/".join(tally): amount for tally, amount in sorted(self.counts.items()) if amount},
        }
