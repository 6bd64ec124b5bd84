"""CaseState: where a case stands, from the entries about it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from defero.service.events import (
    Answered,
    Asked,
    Compared,
    Entry,
    Label,
    Observed,
    Outcome,
    Received,
    Settled,
    Skipped,
    TimedOut,
    Undone,
)


@dataclass(frozen=True)
class Step:
    """The last step of a case: why somebody is asked, or why it is answered."""

    label: Label
    p_right: float
    answer_cost: float
    expected_cost: float
    reason: str
    model: str
    policy: int
    shift: float = 0.0


@dataclass(frozen=True)
class CaseState:
    """Where a case stands.

    Attributes
    ----------
    case : str
    received_at : float
    unusual : str
        As in `Received`.
    asked : str, optional
        Who has the question now.
    asked_at, due : float, optional
        Since when, and until when.
    was_asked : ids
        Everybody who got the question, in turn. Nobody gets it twice.
    promised : numbers
        P(right) of each of them.
    shifts : numbers
        The correction after drift that is in each of these, in log-odds.
    answers : pairs of person and label
        Those that count.
    uncounted : pairs of person and label
        Those that came after the case was settled.
    step : Step, optional
        The last one.
    settled_at : float, optional
    observed : str, optional
        Who would have been asked, where the policy observes only.
    outcome : label, optional
    erased : bool
        Its content was removed.
    """

    case: str
    received_at: float
    unusual: str = ""
    asked: str | None = None
    asked_at: float | None = None
    due: float | None = None
    was_asked: tuple[str, ...] = ()
    promised: tuple[float, ...] = ()
    shifts: tuple[float, ...] = ()
    answers: tuple[tuple[str, Label], ...] = ()
    uncounted: tuple[tuple[str, Label], ...] = ()
    step: Step | None = None
    settled_at: float | None = None
    observed: str | None = None
    outcome: Label | None = None
    erased: bool = False

    @property
    def settled(self) -> bool:
        """Whether it has its answer."""
        return self.settled_at is not None

    @property
    def label(self) -> Label | None:
        """Its answer, once it is settled."""
        return self.step.label if self.settled and self.step is not None else None

    def answer_of(self, person: str) -> Label | None:
        """Return what a person has answered, counted or not."""
        return {**dict(self.uncounted), **dict(self.answers)}.get(person)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "step": None if self.step is None else vars(self.step)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "CaseState":
        """Rebuild what `to_dict` gave, also after JSON has turned tuples into lists."""
        pairs = {name: tuple((who, label) for who, label in values[name]) for name in ("answers", "uncounted")}
        lists = {name: tuple(values[name]) for name in ("was_asked", "promised", "shifts")}
        step = None if values["step"] is None else Step(**values["step"])
        return cls(**{**values, **pairs, **lists, "step": step})


_STEP = tuple(one.name for one in fields(Step))


def apply(state: CaseState | None, entry: Entry) -> CaseState:
    """Return where a case stands after one more entry about it.

    >>> from defero.service.events import Answered
    >>> open_case = CaseState("c1", 0.0, asked="p1", was_asked=("p1",), promised=(0.9,))
    >>> apply(open_case, Entry(2, 5.0, "c1", Answered(person="p1", answer="ill", counted=True, by="p1"))).answers
    (('p1', 'ill'),)
    """
    fact = entry.fact
    assert entry.case is not None
    if state is None:
        assert isinstance(fact, Received)
        return CaseState(entry.case, entry.at, fact.unusual)
    match fact:
        case Asked():
            return replace(
                state,
                asked=fact.person,
                asked_at=entry.at,
                due=fact.due,
                was_asked=(*state.was_asked, fact.person),
                promised=(*state.promised, fact.p_person),
                shifts=(*state.shifts, fact.shift),
                step=_step(fact),
            )
        case Observed():
            return replace(state, observed=fact.person, step=_step(fact))
        case Answered(counted=True):
            return replace(_returned(state, fact.person), answers=(*state.answers, (fact.person, fact.answer)))
        case Answered():
            return replace(state, uncounted=(*state.uncounted, (fact.person, fact.answer)))
        case Skipped() | TimedOut():
            return _returned(state, fact.person)
        case Undone():
            return _undone(state, fact)
        case Settled():
            return replace(state, asked=None, asked_at=None, due=None, settled_at=entry.at, step=_step(fact))
        case Compared():
            return state
        case Outcome():
            return replace(state, outcome=fact.label)
    return replace(state, erased=True)


def _returned(state: CaseState, person: str) -> CaseState:
    """Return the case without the question of a person, if it is theirs."""
    return replace(state, asked=None, asked_at=None, due=None) if state.asked == person else state


def _undone(state: CaseState, fact: Undone) -> CaseState:
    """Return the case without an answer; where it counted, the case is open again and the question theirs."""
    if not fact.counted:
        return replace(state, uncounted=tuple(pair for pair in state.uncounted if pair[0] != fact.person))
    answers = tuple(pair for pair in state.answers if pair[0] != fact.person)
    opened = replace(state, answers=answers, settled_at=None)
    if fact.asked_at is None:  # it was not theirs when they answered: whoever has it keeps it
        return opened
    return replace(opened, asked=fact.person, asked_at=fact.asked_at, due=fact.due)


def _step(fact: Asked | Settled | Observed) -> Step:
    return Step(**{name: getattr(fact, name) for name in _STEP})
