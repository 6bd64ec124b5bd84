"""How often a team that keeps its promises is told otherwise. Writes ../statistical/results/promises.json."""

import time

import numpy as np
import pytest
from study_results import write_study
from test_metrics_team import trial_of

from defero.judge.record.members import team_promises

RUNS = 2_000
SURE, MIXED = (12, 1), (5, 2)
"""Beta laws of P(right): experts and models who are nearly always right, and such who are often wrong."""


def calibrated_trial(rng, *, n_items, n_experts, law, answered=1.0, exaggeration=0.0):
    """Draw cases on which everybody is right with exactly the stated probability, or with one that is lower."""
    class_proba = np.maximum(rng.beta(*law, n_items), 0.5)
    expert_proba = rng.beta(*law, (n_items, n_experts))
    label_idx = (rng.random(n_items) >= class_proba).astype(int)
    right = rng.random(expert_proba.shape) < expert_proba - exaggeration
    answers = np.where(right, label_idx[:, None], 1 - label_idx[:, None])
    answers[rng.random(answers.shape) >= answered] = -1
    return trial_of(label_idx, np.column_stack([class_proba, 1 - class_proba]), expert_proba, answers)


def flags(trial):
    """Return the verdicts of the total and of all members, the experts as one among them."""
    promises = team_promises(trial)
    members = (promises.model, *promises.experts, promises.all_experts)
    return promises.total.verdict, {promise.verdict for promise in members}


def false_alarms(runs, *, seed=0, **options):
    """Return the shares of teams with any "less", and with any "less" or "more"."""
    rng, less, either = np.random.default_rng(seed), 0, 0
    for _ in range(runs):
        total, members = flags(calibrated_trial(rng, **options))
        words = {total, *members}
        less += "less" in words
        either += bool(words & {"less", "more"})
    return {"promises more than it keeps": less / runs, "more or less than it keeps": either / runs}


def test_a_team_that_promises_too_much_is_found():
    rng = np.random.default_rng(3)
    options = {"n_items": 600, "n_experts": 5, "law": MIXED, "exaggeration": 0.08}
    found = [flags(calibrated_trial(rng, **options)) for _ in range(30)]
    assert np.mean([total == "less" for total, _ in found]) >= 0.9
    assert np.mean(["less" in members for _, members in found]) >= 0.7


def test_calibrated_teams_are_seldom_blamed():
    for n_experts in (1, 5, 25):
        found = false_alarms(150, n_items=200, n_experts=n_experts, law=MIXED)
        assert found["promises more than it keeps"] <= 0.065 + 2 * 0.02


@pytest.mark.slow
def test_false_alarms_over_many_runs():
    started, rows = time.process_time(), {}
    for n_experts in (1, 5, 25):
        for law_name, law in (("P(right) from Beta(12, 1)", SURE), ("P(right) from Beta(5, 2)", MIXED)):
            for n_items, answered in ((100, 1.0), (500, 1.0), (500, 0.3)):
                name = f"{n_experts} experts, {n_items} cases, {answered:.0%} answered, {law_name}"
                rows[name] = false_alarms(RUNS, n_items=n_items, n_experts=n_experts, law=law, answered=answered)
    write_study("promises", runs=RUNS, seed=0, cpu_seconds=time.process_time() - started, false_alarms=rows)
    assert max(row["promises more than it keeps"] for row in rows.values()) <= 0.065
    assert max(row["more or less than it keeps"] for row in rows.values()) <= 0.1
