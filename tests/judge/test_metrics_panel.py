"""Panels judged: beside slow counts, and an honest panel is seldom blamed for the luck of its calibration."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from defero.core.errors import InputError
from defero.core.results import Decision, ExpertSets
from defero.core.scores import Scores
from defero.core.trial import PanelTrial, Trial
from defero.judge.intervals import Share
from defero.judge.panels import panel_record
from defero.judge.record.team import team_record


def trial_of(answer_idx, inside, *, target="any-correct", alpha=0.1, deferred=None, eligible=None):
    """Return a trial in which the truth is class 0 and panels are as told."""
    answers, mask = np.asarray(answer_idx), np.asarray(inside, bool)
    n, n_experts = answers.shape
    names = tuple(f"e{j}" for j in range(n_experts))
    scores = Scores.from_probabilities(np.full((n, 2), 0.5), np.full((n, n_experts), 0.5))
    nobody, zeros = np.full(n, -1), np.zeros(n)
    decision = Decision(nobody, names, zeros, scores.model_proba, nobody, np.full(n, -np.inf))
    panel = PanelTrial(
        sets=ExpertSets(mask, names, np.zeros(n, bool)),
        deferred=np.ones(n, bool) if deferred is None else np.asarray(deferred, bool),
        team_label_idx=np.zeros(n, int),
        eligible=np.ones(n_experts, bool) if eligible is None else np.asarray(eligible, bool),
        promise="",
        target=target,
        alpha=alpha,
    )
    return Trial(np.arange(2), np.zeros(n, int), answers, scores, decision, scores, panel)


def random_panels(seed, target):
    rng = np.random.default_rng(seed)
    answers, inside = rng.integers(-1, 2, (50, 4)), rng.random((50, 4)) < 0.6
    return trial_of(answers, inside, target=target, deferred=rng.random(50) < 0.8, eligible=[1, 1, 1, 0])


@pytest.mark.parametrize("target", ["any-correct", "all-correct", "missed-share"])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_number_is_that_of_a_loop(seed, target):
    trial = random_panels(seed, target)
    record, kept, panel = panel_record(trial), [], trial.panel
    for i in np.flatnonzero(panel.deferred):
        right = {j for j in range(3) if trial.answer_idx[i, j] == 0}
        inside = {j for j in range(4) if panel.sets.mask[i, j]}
        if right:
            share = len(right & inside) / len(right)
            kept.append({"any-correct": share > 0, "all-correct": share == 1, "missed-share": 1 - share}[target])
    assert record.cases == len(kept)
    assert record.kept == pytest.approx(np.mean(kept))
    assert record.low < record.kept < record.high
    assert record.asked_for == (0.1 if target == "missed-share" else 0.9)
    sizes = panel.sets.mask[panel.deferred].sum(axis=1)
    assert record.raw_size == record.filled_size == pytest.approx(sizes.mean())
    assert record.raw_size_half == pytest.approx(1.96 * sizes.std(ddof=1) / math.sqrt(len(sizes)))
    assert record.team_with_panels == Share(50, 50)


@pytest.mark.parametrize(
    ("n", "hits", "calibrated_on", "word"),
    [
        (200, 180, 200, "as promised"),
        (200, 200, 200, "as promised"),
        (200, 140, 200, "less"),
        (200, 170, 10_000, "less"),
        (200, 170, 60, "as promised"),
        (200, 170, None, "as promised"),
        (100_000, 89_000, 10**9, "less"),
        (9, 0, 1_000, "less"),
        (9, 8, 1_000, "too few"),
        (29, 27, 1_000, "too few"),
        (29, 5, 1_000, "less"),
        (0, 0, 1_000, None),
    ],
)
def test_one_word_says_what_became_of_the_promise(n, hits, calibrated_on, word):
    inside = (np.arange(n) < hits)[:, None]
    found = panel_record(trial_of(np.zeros((n, 1), int), inside), calibrated_on=calibrated_on)
    assert found.kept_promise == json.loads(json.dumps(found.to_dict(), allow_nan=False))["kept_promise"] == word
    missed = trial_of(np.zeros((n, 1), int), ~inside, target="missed-share", alpha=0.9)
    if word is not None and hits < n:
        assert panel_record(replace(missed), calibrated_on=calibrated_on).kept == pytest.approx(hits / n)


def test_missing_more_than_promised():
    inside = (np.arange(400) < 280)[:, None]
    trial = trial_of(np.zeros((400, 1), int), inside, target="missed-share", alpha=0.1)
    assert panel_record(trial, calibrated_on=400).kept_promise == "less"
    kind = trial_of(np.zeros((400, 1), int), inside, target="missed-share", alpha=0.5)
    assert panel_record(kind, calibrated_on=400).kept_promise == "as promised"


@pytest.mark.parametrize(("n", "calibrated_on"), [(1000, 100), (200, 200), (50, 30)])
def test_an_honest_panel_is_seldom_blamed(n, calibrated_on):
    """Split conformal prediction covers Beta(k, m + 1 - k) of new cases, k = ceil(0.9 (m + 1)), given m old ones."""
    rng, k = np.random.default_rng(0), math.ceil(0.9 * (calibrated_on + 1))
    hits = rng.binomial(n, rng.beta(k, calibrated_on + 1 - k, size=4000))
    words = {}
    for count in np.unique(hits):
        trial = trial_of(np.zeros((n, 1), int), (np.arange(n) < count)[:, None])
        words[count] = panel_record(trial, calibrated_on=calibrated_on).kept_promise
    assert np.mean([words[count] == "less" for count in hits]) <= 0.05


def test_a_broken_promise_is_a_caution_of_the_team():
    trial = trial_of(np.zeros((200, 1), int), (np.arange(200) < 140)[:, None])
    found = team_record(trial, panel_cases=500, rng=np.random.default_rng(0))
    assert found.panel.kept_promise == "less"
    assert any(sentence.startswith("Panels hold a right expert less often") for sentence in found.cautions)
    few = team_record(trial, panel_cases=8, rng=np.random.default_rng(0))
    assert few.panel.kept_promise == "as promised"
    assert not any(sentence.startswith("Panels") for sentence in few.cautions)


def test_one_panel_has_no_spread():
    record = panel_record(trial_of([[0, 0]], [[True, True]]))
    assert record.raw_size == 2
    assert math.isnan(record.raw_size_half)
    assert record.to_dict()["raw_size_half"] is None


def test_without_a_panel_it_is_said():
    with pytest.raises(InputError, match="the trial has no panel; call conformalize before judging panels"):
        panel_record(replace(random_panels(0, "any-correct"), panel=None))
