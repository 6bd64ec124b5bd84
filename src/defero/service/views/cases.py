"""CaseState: where a case stands, from the entries about it; and what clients are told of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from defero.service import events

_STEP = tuple(one.name for one in fields(events.StepTaken))


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
    calls : int
        How often a language model was called for this question.
    call_at : float, optional
        Not before this time again: another process has the question, or the last call failed.
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
    step : events.StepTaken, optional
        The last one: why somebody is asked, or why it is answered.
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
    calls: int = 0
    call_at: float | None = None
    was_asked: tuple[str, ...] = ()
    promised: tuple[float, ...] = ()
    shifts: tuple[float, ...] = ()
    answers: tuple[tuple[str, events.Label], ...] = ()
    uncounted: tuple[tuple[str, events.Label], ...] = ()
    step: events.StepTaken | None = None
    settled_at: float | None = None
    observed: str | None = None
    outcome: events.Label | None = None
    erased: bool = False

    @property
    def settled(self) -> bool:
        """Whether it has its answer."""
        return self.settled_at is not None

    @property
    def label(self) -> events.Label | None:
        """Its answer, once it is settled."""
        return self.step.label if self.settled and self.step is not None else None

    @property
    def all_answers(self) -> dict[str, events.Label]:
        """What each person has answered, counted or not."""
        return {**dict(self.uncounted), **dict(self.answers)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "step": None if self.step is None else vars(self.step)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "CaseState":
        """Rebuild what `to_dict` gave, also after JSON has turned tuples into lists."""
        pairs = {name: tuple((who, label) for who, label in values[name]) for name in ("answers", "uncounted")}
        lists = {name: tuple(values[name]) for name in ("was_asked", "promised", "shifts")}
        step = None if values["step"] is None else events.StepTaken(**values["step"])
        return cls(**{**values, **pairs, **lists, "step": step})


def apply(state: CaseState | None, entry: events.Entry) -> CaseState:
    """Return where a case stands after one more entry about it.

    >>> open_case = CaseState("c1", 0.0, asked="p1", was_asked=("p1",), promised=(0.9,))
    >>> answered = events.Answered(person="p1", answer="ill", counted=True, by="p1")
    >>> apply(open_case, events.Entry(2, 5.0, "c1", answered)).answers
    (('p1', 'ill'),)
    """
    fact = entry.fact
    assert entry.case is not None
    if state is None:
        assert isinstance(fact, events.Received)
        return CaseState(entry.case, entry.at, fact.unusual)
    match fact:
        case events.Asked():
            return _changed(
                state,
                asked=fact.person,
                asked_at=entry.at,
                due=fact.due,
                calls=0,
                call_at=None,
                was_asked=(*state.was_asked, fact.person),
                promised=(*state.promised, fact.p_person),
                shifts=(*state.shifts, fact.shift),
                step=_step(fact),
            )
        case events.Observed():
            return _changed(state, observed=fact.person, step=_step(fact))
        case events.Answered(counted=True):
            return _changed(_returned(state, fact.person), answers=(*state.answers, (fact.person, fact.answer)))
        case events.Answered():
            return _changed(state, uncounted=(*state.uncounted, (fact.person, fact.answer)))
        case events.Skipped() | events.TimedOut():
            return _returned(state, fact.person)
        case events.Undone():
            return _undone(state, fact)
        case events.Settled():
            return _changed(state, asked=None, asked_at=None, due=None, settled_at=entry.at, step=_step(fact))
        case events.CallBegun():
            return _changed(state, calls=fact.attempt, call_at=fact.until)
        case events.CallFailed():
            return _changed(state, call_at=fact.retry_at)
        case events.Compared() | events.CallEnded():
            return state
        case events.Outcome():
            return _changed(state, outcome=fact.label)
    return _changed(state, erased=True)


def _returned(state: CaseState, person: str) -> CaseState:
    """Return the case without the question of a person, if it is theirs."""
    return _changed(state, asked=None, asked_at=None, due=None) if state.asked == person else state


def _undone(state: CaseState, fact: events.Undone) -> CaseState:
    """Return the case without an answer; where it counted, the case is open again and the question theirs."""
    if not fact.counted:
        return _changed(state, uncounted=tuple(pair for pair in state.uncounted if pair[0] != fact.person))
    answers = tuple(pair for pair in state.answers if pair[0] != fact.person)
    opened = _changed(state, answers=answers, settled_at=None)
    if fact.asked_at is None:  # it was not theirs when they answered: whoever has it keeps it
        return opened
    return _changed(opened, asked=fact.person, asked_at=fact.asked_at, due=fact.due)


def _step(fact: events.StepTaken) -> events.StepTaken:
    """Return what a question or an answer has of the step alone; made as in `_changed`, for the same reason."""
    step, values = object.__new__(events.StepTaken), vars(fact)
    vars(step).update({name: values[name] for name in _STEP})
    return step


def _changed(state: CaseState, **changes: Any) -> CaseState:
    """Return a state with some members changed, in a fifth of the time of `dataclasses.replace`."""
    new = object.__new__(CaseState)
    vars(new).update(vars(state), **changes)
    return new


_ID = re.compile(r"\{(p[0-9]+)\}")


def with_names(reason: str, names: Mapping[str, str]) -> str:
    """Return a reason of the log with names in place of ids.

    >>> with_names("ask {p2}: 0.200 expected", {"p2": "ann"})
    'ask ann: 0.200 expected'
    """
    return _ID.sub(lambda place: names.get(place[1], place[1]), reason)


Step = events.Asked | events.Settled | events.Observed
_NO_STEP = {"p_right": None, "answer_cost": None, "expected_cost": None, "reason": "", "model": "", "policy": 0}
"""What a reply says of a step beside its label, while there is none."""


def step_reply(case: str, step: Step, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a step: the answer, or whom to ask; "observed" where nobody is asked because the policy observes only."""
    asked, due = (step.person, step.due) if isinstance(step, events.Asked) else (None, None)
    status = {"settled": "settled", "observed": "observed"}.get(step.kind, "open")
    label = step.label if isinstance(step, events.Settled) else None
    return _reply(case, status, asked, due, label, vars(step), names)


def state_reply(state: CaseState, names: Mapping[str, str]) -> dict[str, Any]:
    """Return where a case stands, in the form of a step."""
    status = "settled" if state.settled else "observed" if state.observed and state.asked is None else "open"
    step = _NO_STEP if state.step is None else vars(state.step)
    return _reply(state.case, status, state.asked, state.due, state.label, step, names)


def _reply(
    case: str,
    status: str,
    asked: str | None,
    due: float | None,
    label: events.Label | None,
    step: Mapping[str, Any],
    names: Mapping[str, str],
) -> dict[str, Any]:
    """Return the members of `StepOut`."""
    ask = None if asked is None else names.get(asked, asked)
    reply = {"case": case, "status": status, "ask": ask, "person": asked, "due": due, "label": label}
    return {**reply, **{name: step[name] for name in _NO_STEP}, "reason": with_names(step["reason"], names)}


def decided(fact: events.Settled, names: Mapping[str, str]) -> dict[str, Any]:
    """Return an answer: the label, how sure it is, who was heard, and why."""
    names_heard = [names.get(person, person) for person in fact.heard]
    return {**vars(fact), "heard": names_heard, "reason": with_names(fact.reason, names)}


_NOT_FOR_EXPERTS = ("ask", "person", "label", "p_right", "answer_cost", "expected_cost")


def seen_by_expert(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step as an expert sees it: who is asked next, and what the team makes of the case, would sway them.

    >>> seen_by_expert({"case": "c1", "status": "settled", "label": "ill", "p_right": 0.97, "reason": "answer: ..."})
    {'case': 'c1', 'status': 'settled', 'label': None, 'p_right': None, 'reason': ''}
    """
    hidden = {name: None for name in _NOT_FOR_EXPERTS if name in reply}
    return {**reply, **hidden, "reason": ""}


class Beliefs:
    """What the model believed when cases came: P(class) and P(expert is right), by name.

    Parameters
    ----------
    model : events.ModelChanged, optional
        The model of now; of cases that another one scored only numbers are known.
    names : mapping
        Names of people by id.
    """

    def __init__(self, model: events.ModelChanged | None, names: Mapping[str, str]) -> None:
        self.version = None if model is None else model.version
        self.classes = [] if model is None else [str(one) for one in model.classes]
        self.experts = [] if model is None else [names.get(person, person) for person in model.experts]

    def of(self, received: events.Received) -> dict[str, Any]:
        """Return the probabilities of one case."""
        classes, experts = self.classes, self.experts
        if self.version != received.model:
            classes = [str(k) for k in range(len(received.p_model))]
            experts = [f"expert {j}" for j in range(len(received.p_expert))]
        return {
            "p_class": dict(zip(classes, received.p_model, strict=True)),
            "p_expert": dict(zip(experts, received.p_expert, strict=True)),
            "unusual": received.unusual.split("; ") if received.unusual else [],
        }


def first_step(entries: list[events.Entry]) -> tuple[events.Received, events.Asked | events.Settled | events.Observed]:
    """Return how a case came in, and its first step; of one that is only observed, the answer that it got."""
    received = next(entry.fact for entry in entries if isinstance(entry.fact, events.Received))
    steps = [entry.fact for entry in entries if isinstance(entry.fact, events.Asked | events.Settled | events.Observed)]
    answered = isinstance(steps[0], events.Observed) and len(steps) > 1 and isinstance(steps[1], events.Settled)
    return received, steps[1] if answered else steps[0]
