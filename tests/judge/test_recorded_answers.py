"""Labels that were made from the answers, and codes that are swapped."""

import numpy as np
import pytest
from test_metrics_team import trial_of

from defero.judge import team_record
from defero.judge.record.cautions import below_chance, labels_from_answers


def team(seed=0, *, n=300, n_experts=5, n_classes=2, accuracy=0.75, answered=1.0, hard=0.0, from_answers=False):
    """Draw cases with independent errors; `hard` of the cases are harder for everybody."""
    rng = np.random.default_rng(seed)
    label = rng.integers(n_classes, size=n)
    chance = np.where(rng.random(n) < hard, accuracy - 0.3, accuracy)[:, None]
    step = rng.integers(1, n_classes, size=(n, n_experts))
    answers = np.where(rng.random((n, n_experts)) < chance, label[:, None], (label[:, None] + step) % n_classes)
    answers[rng.random(answers.shape) >= answered] = -1
    if from_answers:
        votes = np.stack([(answers == k).sum(axis=1) for k in range(n_classes)], axis=1)
        label = votes.argmax(axis=1)
    proba = np.full((n, n_classes), 1 / n_classes)
    return trial_of(label, proba, np.full((n, n_experts), accuracy), answers)


def said(trial):
    return labels_from_answers(trial, rng=np.random.default_rng(0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_majority_for_a_label_is_told_with_its_share(n_classes):
    trial = team(from_answers=True, n_classes=n_classes)
    sentence = said(trial)
    assert "300 cases with 3 answers or more" in sentence
    assert "every expert looks better" in sentence
    record = team_record(trial, rng=np.random.default_rng(0))
    assert sentence in record.cautions


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"accuracy": 0.95},
        {"accuracy": 0.99},
        {"hard": 0.3},
        {"answered": 0.5},
        {"n_experts": 2},
        {"n": 12},
        {"n_classes": 4, "accuracy": 0.6},
    ],
)
def test_a_truth_of_its_own_is_not_accused(options):
    assert [said(team(seed, **options)) for seed in range(15)] == [None] * 15


def test_few_answers_a_case_are_nothing_to_go_by():
    assert said(team(n_experts=2, from_answers=True)) is None
    assert said(team(n_experts=5, answered=0.0)) is None


def test_swapped_codes_are_suspected():
    trial = team(accuracy=0.2)
    assert "Every expert is right less often than a guess among 2 classes (50.0 %)" in below_chance(trial)
    assert "codes" in below_chance(trial)
    assert below_chance(team(n_experts=1, accuracy=0.2)).startswith("Every expert is")
    assert below_chance(trial) in team_record(trial, rng=np.random.default_rng(0)).cautions


def test_poor_experts_are_not_swapped_ones():
    assert [below_chance(team(seed, accuracy=0.5)) for seed in range(20)] == [None] * 20
    assert [below_chance(team(seed, accuracy=0.4, n=10)) for seed in range(5)] == [None] * 5
    assert below_chance(team(accuracy=0.4, n_classes=3)) is None
    assert below_chance(team(answered=0.0)) is None
