"""Who decides: rules that turn `Scores` into a `Decision`. Fees and absences enter here, never in training."""

from defero.decisions.rules import (
    AlwaysAskBest,
    AskAtRandom,
    AskBelowThreshold,
    MostLikelyRight,
    NeverAsk,
    Rule,
    rule_from_settings,
)

__all__ = [
    "AlwaysAskBest",
    "AskAtRandom",
    "AskBelowThreshold",
    "MostLikelyRight",
    "NeverAsk",
    "Rule",
    "rule_from_settings",
]
