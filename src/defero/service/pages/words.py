"""How numbers, times and the trail of a case read on the pages."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from defero.service.events import (
    Answered,
    Asked,
    CallBegun,
    CallEnded,
    CallFailed,
    Entry,
    Erased,
    Fact,
    Outcome,
    Received,
    Rerouted,
    Settled,
    Skipped,
    TimedOut,
    Undone,
)
from defero.service.flow.replies import with_names

NOTHING = "–"
"""Stands where there is no number."""


def percent(share: float | None) -> str:
    """Return a share in percent; one that is nearly all or nothing is not rounded to it.

    >>> percent(0.8349), percent(None), percent(1.0), percent(0.998), percent(0.99997), percent(0.0004)
    ('83 %', '–', '100 %', '99.8 %', '> 99.9 %', '< 0.1 %')
    """
    if share is None:
        return NOTHING
    if 0.995 <= share < 1:
        return "> 99.9 %" if share >= 0.9995 else f"{100 * share:.1f} %"
    if 0 < share < 0.005:
        return "< 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %"


def money(amount: float | None) -> str:
    """Return an amount in the unit of the policy; small ones with two digits that say something.

    >>> money(1234.5), money(0.0), money(0.00248)
    ('1,234.50', '0.00', '0.0025')
    """
    if amount is None:
        return NOTHING
    return f"{amount:.2g}" if 0 < abs(amount) < 0.01 else f"{amount:,.2f}"


def number(value: object) -> str:
    """Return a value of a cell; numbers without digits that say nothing.

    >>> number(1234567.0), number(0.1 + 0.2), number(None), number("arm"), number(True)
    ('1,234,567', '0.3', '–', 'arm', 'true')
    """
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if value.is_integer() else f"{value:.6g}"
    return str(value)


def duration(seconds: float | None) -> str:
    """Return a length of time in its largest unit.

    >>> duration(42), duration(170), duration(7_200), duration(200_000), duration(None)
    ('42 s', '3 min', '2 h', '2 days', '–')
    """
    if seconds is None:
        return NOTHING
    for size, name in ((172_800, "days"), (7_200, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / {'days': 86_400, 'h': 3_600, 'min': 60}[name]:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"


def ago(at: float | None, now: float) -> str:
    """Return how long ago a time was."""
    return NOTHING if at is None else f"{duration(now - at)} ago"


def moment(at: float | None) -> str:
    """Return a time (UTC).

    >>> moment(0.0)
    '1970-01-01 00:00:00'
    """
    return NOTHING if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


Names = Mapping[str, str]


def lines_of(entries: Sequence[Entry], notes: Mapping[int, str], names: Names) -> list[dict[str, object]]:
    """Return number, time, kind, sentence, details and note of each entry."""
    return [
        {
            "seq": one.seq,
            "at": one.at,
            "kind": one.fact.kind.replace("_", " "),
            "what": sentence(one.fact, names),
            "why": why(one.fact, names),
            "note": notes.get(one.seq, ""),
        }
        for one in entries
    ]


def sentence(fact: Fact, names: Names) -> str:
    """Return what happened, in one sentence.

    >>> sentence(TimedOut(person="p2"), {"p2": "bob"})
    'bob did not answer in time.'
    """

    def name(person: str) -> str:
        return names.get(person, person)

    match fact:
        case Received():
            return f"Received; scored by model {fact.model} under policy {fact.policy}."
        case Rerouted():
            who_asked = f"{name(fact.person)} was asked in place of {name(fact.instead_of)}"
            return f"{who_asked}; P(right) is {percent(fact.p_person)}."
        case Asked():
            return f"{name(fact.person)} was asked; P(right) is {percent(fact.p_person)}."
        case Answered():
            sent = "" if fact.by == fact.person else f", sent by {name(fact.by)}"
            return f"{name(fact.person)} answered {fact.answer}{sent}{'' if fact.counted else ', too late to count'}."
        case Skipped():
            return f"{name(fact.person)} skipped the question."
        case Undone():
            return f"{name(fact.person)} took the answer back."
        case TimedOut():
            return f"{name(fact.person)} did not answer in time."
        case Settled():
            names_heard = ", ".join(map(name, fact.heard)) or "nobody"
            return f"Settled: {fact.label}; P(right) is {percent(fact.p_right)}; heard: {names_heard}."
        case Outcome():
            return f"The outcome is {fact.label}, by {name(fact.by)}."
        case CallBegun():
            return f"{name(fact.person)}, a language model, was called (call {fact.attempt})."
        case CallFailed():
            status = f"HTTP status {fact.status}" if fact.status else "no reply in time"
            return f"The call failed: {status}{'' if fact.retry_at is None else '; it is tried again'}."
        case CallEnded():
            return f"The language model replied after {fact.seconds:.1f} s for {money(fact.price)}."
        case Erased():
            return f"{name(fact.by)} erased its content."
    return fact.kind.replace("_", " ").capitalize() + "."


def why(fact: Fact, names: Names) -> str:
    """Return the reason of a step, with its costs."""
    if isinstance(fact, Asked | Settled):
        return f"{with_names(fact.reason, names)} (model {fact.model}, policy {fact.policy})"
    return ""
