"""People, as the log says of them; and the policy, on what terms cases are decided. Every change is a new version."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from defero.core.errors import InputError
from defero.service.events import Entry, PersonChanged

ROLES = ("lead", "expert", "machine")
"""What a person may be: the lead runs the service, an expert answers, a machine brings cases."""


@dataclass(frozen=True)
class Person:
    """Somebody who works with the service.

    Attributes
    ----------
    person : str
        Such as "p3".
    role : "lead", "expert" or "machine"
    available : bool
        Whether they can be asked.
    capacity : int, optional
        The most questions a day (UTC); None: no limit.
    removed : bool
        They left, and are never asked again.
    """

    person: str
    role: str = "expert"
    available: bool = True
    capacity: int | None = None
    removed: bool = False

    @property
    def can_be_asked(self) -> bool:
        """Whether questions may go to them, within their capacity."""
        return self.available and not self.removed and self.role == "expert"


def person_after(state: Person | None, entry: Entry) -> Person:
    """Return a person after one more entry about them.

    >>> person_after(None, Entry(1, 0.0, None, PersonChanged(person="p1", change={"capacity": 40}, by="p0"))).capacity
    40
    """
    assert isinstance(entry.fact, PersonChanged)
    return replace(state or Person(entry.fact.person), **entry.fact.change)


DAY = 86_400.0
ON_DRIFT = ("warn", "correct")
ASKING = ("sequential", "one", "panel")
MODES = ("live", "shadow")
SHADOW_ANSWERS = ("model", "none")
RULES = ("ask", "never_ask")


@dataclass(frozen=True)
class Rule:
    """What holds for some cases, before costs are looked at.

    Attributes
    ----------
    do : "ask" or "never_ask"
        Never answer such a case without a person; or never ask `person` about it.
    person : str
        Whom not to ask.
    label : class, optional
        Cases whose most likely class, by the model, is this one.
    column, equals : str and value, optional
        Cases with this value in a column.
    """

    do: str
    person: str | None = None
    label: str | None = None
    column: str | None = None
    equals: Any = None

    def __post_init__(self) -> None:
        if self.do not in RULES:
            raise InputError(f"must be one of {', '.join(RULES)}, got {self.do!r}.", argument="do of a rule")
        if (self.do == "never_ask") != (self.person is not None):
            raise InputError("is for never_ask, which needs it.", argument="person of a rule")
        if self.do == "ask" and self.label is None and self.column is None:
            raise InputError("must name a label or a column: which cases?", argument="a rule")


@dataclass(frozen=True)
class Policy:
    """On what terms cases are decided.

    Attributes
    ----------
    fees : {person: money}
        What a question costs, in the unit of the error costs. With none at all a question costs 0.01 of the dearest
        error; with some, whoever is not named is free.
    error_cost : float
        What an error costs that `cost_matrix` does not name.
    cost_matrix : {truth: {answer: money}}, optional
    answer_within : float, optional
        Seconds until a question goes to somebody else; None: never.
    on_drift : "warn" or "correct"
        Whether an alarm on a promise waits for the lead, or corrects the promise at once.
    capacity : {person: questions a day}
        Beside each person's own: the smaller one holds.
    asking : "sequential", "one" or "panel"
        One after the other while it pays; at most one person; or, where a question pays, `panel_size` people, who are
        asked in turn and do not see each other's answers.
    panel_size : int
    rules : Rules
    explore : float
        Share of new cases that go to somebody else at random, with the probability in the log.
    mode : "live" or "shadow"
        In shadow nobody is asked: what would be done is recorded.
    shadow_answer : "model" or "none"
        Whether such a case gets the model's answer.
    version : int
        Counted from 1; 0 is the default policy of a new log.

    Examples
    --------
    >>> Policy.from_dict({"fees": {"p1": 2.5}, "error_cost": 40}, version=3).fees
    {'p1': 2.5}
    """

    fees: Mapping[str, float] = field(default_factory=dict)
    error_cost: float = 1.0
    cost_matrix: Mapping[str, Mapping[str, float]] | None = None
    answer_within: float | None = DAY
    on_drift: str = "warn"
    capacity: Mapping[str, int] = field(default_factory=dict)
    asking: str = "sequential"
    panel_size: int = 3
    rules: tuple[Rule, ...] = ()
    explore: float = 0.0
    mode: str = "live"
    shadow_answer: str = "model"
    version: int = 0

    def __post_init__(self) -> None:
        amounts = {"error_cost": self.error_cost, **{f"fees of {who}": fee for who, fee in self.fees.items()}}
        for truth, row in (self.cost_matrix or {}).items():
            amounts |= {f"cost_matrix of {truth} and {answer}": cost for answer, cost in row.items()}
        amounts |= {f"capacity of {who}": most for who, most in self.capacity.items()}
        for name, amount in amounts.items():
            if not math.isfinite(amount) or amount < 0:
                raise InputError(f"must be a finite number of at least 0, got {amount}.", argument=name)
        if self.answer_within is not None and not 0 < self.answer_within < math.inf:
            raise InputError(
                f"must be a positive number of seconds, got {self.answer_within}.", argument="answer_within"
            )
        if not 0 <= self.explore <= 0.5:
            raise InputError(f"must lie in [0, 0.5], got {self.explore}.", argument="explore")
        if self.panel_size < 2:
            raise InputError(
                f"must be at least 2, got {self.panel_size}; one person is asking: one.", argument="panel_size"
            )
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InputError(f"must be one of {', '.join(choices)}, got {getattr(self, name)!r}.", argument=name)

    @property
    def people(self) -> set[str]:
        """Everybody who is named."""
        return {*self.fees, *self.capacity, *(rule.person for rule in self.rules if rule.person is not None)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without the version."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "version"}
        return {**values, "rules": [vars(rule) for rule in self.rules]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, version: int) -> "Policy":
        """Return the policy of a version."""
        rules = tuple(Rule(**rule) for rule in values.get("rules", ()))
        return cls(**{**values, "rules": rules}, version=version)


_CHOICES = {"on_drift": ON_DRIFT, "asking": ASKING, "mode": MODES, "shadow_answer": SHADOW_ANSWERS}
