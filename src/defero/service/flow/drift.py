"""Drift at work: alarms are raised from outcomes, and corrected promises decide the next cases."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.scores import Scores, logit, sigmoid
from defero.service.events import DriftActed, DriftRaised
from defero.service.views.drift import MODEL
from defero.service.views.ledger import Ledger

SYSTEM = "system"
"""Who acts, where the policy says so."""


def raise_alarms(ledger: Ledger, judged: Iterable[str]) -> None:
    """Record new alarms of people and the model; with the policy "correct", correct their promises at once."""
    for who in judged:
        alarm = ledger.drift.alarm(who)
        if alarm is None:
            continue
        ledger.add(DriftRaised(person=who, **vars(alarm)))
        if ledger.policy.on_drift == "correct":
            ledger.add(DriftActed(person=who, action="correct", by=SYSTEM))


def corrected_scores(scores: Scores, corrections: Mapping[str, float], people: Sequence[str]) -> Scores:
    """Return scores with the promises as corrected after drift.

    An expert's log-odds are shifted. Of the model, those of its first class are, and the other classes share the rest
    as before; its first class stays the first.

    >>> scores = Scores.from_probabilities([[0.8, 0.2]], [[0.9, 0.5]])
    >>> corrected_scores(scores, {"p1": -1.0, "model": -0.5}, ["p1", "p2"]).expert_proba.round(3).tolist()
    [[0.768, 0.5]]
    """
    shifts = np.array([corrections.get(person, 0.0) for person in people])
    if shifts.any():
        scores = replace(scores, expert_proba=_shifted(scores.expert_proba, shifts))
    by_model = corrections.get(MODEL, 0.0)
    if by_model:
        model_proba = _shifted(scores.model_proba, by_model)
        scores = replace(scores, class_proba=_first_shifted(scores.class_proba, by_model), model_proba=model_proba)
    return scores


def _shifted(proba: FloatArray, shift: FloatArray | float) -> FloatArray:
    return sigmoid(logit(proba) + shift)


def _first_shifted(class_proba: FloatArray, shift: float) -> FloatArray:
    """Return class probabilities (n, K) whose largest one has other log-odds, but stays the largest."""
    rows, first = np.arange(len(class_proba)), class_proba.argmax(axis=1)
    largest = class_proba[rows, first]
    others = class_proba.copy()
    others[rows, first] = 0.0
    rest = others.sum(axis=1)
    share = np.divide(others, rest[:, None], out=np.zeros_like(others), where=rest[:, None] > 0)
    second = share.max(axis=1)
    new = np.where(rest > 0, np.maximum(_shifted(largest, shift), second / (1 + second)), 1.0)
    shifted = share * (1 - new)[:, None]
    shifted[rows, first] = new
    return shifted
