"""The trail of a case as sentences: everything that the log has of it, in order."""

from collections.abc import Mapping, Sequence

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
from defero.service.pages.words import money, percent

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
            asked = f"{name(fact.person)} was asked in place of {name(fact.instead_of)}"
            return f"{asked}; P(right) is {percent(fact.p_person)}."
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
            heard = ", ".join(map(name, fact.heard)) or "nobody"
            return f"Settled: {fact.label}; P(right) is {percent(fact.p_right)}; heard: {heard}."
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
