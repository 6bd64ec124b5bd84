"""Who decides: rules that turn `Scores` into a `Decision`, and the next step of a case. Fees enter here, not in fit."""

from defero.core.results import Assignment, InTurn, Steps
from defero.decisions.asking import DEFAULT_FEE, ask_in_turn, next_step
from defero.decisions.assigning.assign import assign
from defero.decisions.rules import (
    AlwaysAskBest,
    AskAtRandom,
    AskBelowThreshold,
    MostLikelyRight,
    NeverAsk,
    Rule,
    rule_from_settings,
)
from defero.decisions.stream import StreamDecision, StreamPlan, StreamState, stream_step

__all__ = [
    "DEFAULT_FEE",
    "AlwaysAskBest",
    "AskAtRandom",
    "AskBelowThreshold",
    "Assignment",
    "InTurn",
    "MostLikelyRight",
    "NeverAsk",
    "Rule",
    "Steps",
    "StreamDecision",
    "StreamPlan",
    "StreamState",
    "ask_in_turn",
    "assign",
    "next_step",
    "rule_from_settings",
    "stream_step",
]
