"""What can happen: typed facts, and the numbered entries of the log that hold them."""

from defero.service.events.entry import Entry
from defero.service.events.facts import (
    Answered,
    Asked,
    DriftActed,
    DriftRaised,
    Erased,
    Fact,
    Label,
    ModelChanged,
    Observed,
    Outcome,
    PersonChanged,
    PolicyChanged,
    Received,
    Rerouted,
    Settled,
    Skipped,
    TimedOut,
)

__all__ = [
    "Answered",
    "Asked",
    "DriftActed",
    "DriftRaised",
    "Entry",
    "Erased",
    "Fact",
    "Label",
    "ModelChanged",
    "Observed",
    "Outcome",
    "PersonChanged",
    "PolicyChanged",
    "Received",
    "Rerouted",
    "Settled",
    "Skipped",
    "TimedOut",
]
