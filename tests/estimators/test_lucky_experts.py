"""Of many equal experts the luckiest is chosen: their luck must not pass for skill."""

from dataclasses import replace

import numpy as np
import pytest

from defero import DeferralClassifier
from defero.core.answers import Answers
from defero.estimators.expert_stack import _choose_stages, answer_log_loss, held_out_sums, share_by_gain, with_share
from defero.estimators.training_data import TrainingData

N, J, SKILL = 200, 3, 0.7


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    label_idx = rng.integers(0, 2, N)
    answers = np.where(rng.random((N, J)) < SKILL, label_idx[:, None], 1 - label_idx[:, None])
    answers[rng.random((N, J)) < 0.3] = -1
    return TrainingData(np.zeros((N, 1)), label_idx, label_idx, 2, Answers.from_cells(answers), np.ones(N), False)


def flipped(data, items):
    """Return the data with the opposite labels of some items: whoever was right there is wrong."""
    label_idx = np.where(items, 1 - data.label_idx, data.label_idx)
    return replace(data, labels=label_idx, label_idx=label_idx)


def test_held_out_log_odds_do_not_know_the_answers_that_they_are_judged_by(data):
    rng = np.random.default_rng(1)
    head, trees, fold = rng.normal(size=(N, J)), rng.normal(size=(N, J)), np.arange(N) % 5
    before = held_out_sums(head, trees, data, np.arange(J), fold)
    for k in range(5):
        after = held_out_sums(head, trees, flipped(data, fold == k), np.arange(J), fold)
        for was, now in zip(before, after, strict=True):
            np.testing.assert_array_equal(now[fold == k], was[fold == k])
            assert np.abs(now[fold != k] - was[fold != k]).min() > 0


def test_the_share_of_an_item_is_that_of_the_other_folds(data):
    rng = np.random.default_rng(1)
    first, second, fold = rng.normal(size=(N, J)), rng.normal(size=(N, J)) / 4, np.arange(N) % 5
    mixed, share = with_share(first, second, data, fold)
    gain = answer_log_loss(first, data) - answer_log_loss(second, data)
    by_item = {item: gain[data.item_idx == item].sum() for item in np.unique(data.item_idx)}
    assert share == pytest.approx(share_by_gain(np.array(list(by_item.values()))))
    for item in range(10):
        others = np.array([value for other, value in by_item.items() if fold[other] != fold[item]])
        of_item = share_by_gain(others)
        np.testing.assert_allclose(mixed[item], (1 - of_item) * first[item] + of_item * second[item])


def test_neither_do_the_stages_of_the_trees(data):
    rng = np.random.default_rng(2)
    held_out, fold = [rng.normal(size=(6, N)) for _ in range(J)], np.arange(N) % 2
    used = (fold == 0)[data.item_idx]
    before = _choose_stages(held_out, [0, 1, 2], data, used)
    assert _choose_stages(held_out, [0, 1, 2], flipped(data, fold == 1), used) == before
    assert _choose_stages(held_out, [0, 1, 2], flipped(data, fold == 0), used) != before


@pytest.mark.slow
def test_the_luckiest_of_thirty_equal_experts_promises_what_they_keep():
    """Six tables of 3,000 cases, each answered by 5 % of 30 experts, who are all right on 70 %."""
    gaps = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(4_000, 3))
        y = (X[:, 0] + rng.logistic(size=4_000) > 0).astype(int)
        answers = np.where(rng.random((3_000, 30)) < SKILL, y[:3_000, None], 1 - y[:3_000, None]).astype(float)
        answers[rng.random(answers.shape) > 0.05] = np.nan
        team = DeferralClassifier(random_state=0).fit(X[:3_000], y[:3_000], experts=answers)
        decision = team.decide(X[3_000:])
        gaps.append(decision.p_right[decision.deferred].mean() - SKILL)
    assert abs(np.mean(gaps)) < 0.03, gaps
