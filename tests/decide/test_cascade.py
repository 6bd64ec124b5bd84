"""Cascades beside exact enumeration."""

import numpy as np
import pytest
from benchmarks.pools.play_cascade import run_cascade

from defero.decide.cascade import Cascade, Marking, heard_marks, moved

PERFECT = Marking(1.0, 1.0)
ALONE = np.diag([0.2, 0.2])


def step(right, price, *, trade_off, marking=PERFECT, asked=None, covariance=ALONE):
    right, price = np.array([right]), np.array([price])
    heard = np.zeros(right.shape, bool) if asked is None else np.array([asked])
    return Cascade(right, price, heard, np.ones(right.shape, bool), marking, covariance, trade_off).step()


def test_a_perfect_judge_makes_the_cheap_one_go_first():
    first = step([0.6, 0.9], [0.1, 1.0], trade_off=10.0)
    assert (first.ask[0], first.judged[0], first.answer[0]) == (0, True, -1)
    assert step([1.0, 0.9], [0.1, 1.0], trade_off=10.0, asked=[True, False]).ask.tolist() == [-1]
    assert step([0.0, 0.9], [0.1, 1.0], trade_off=10.0, asked=[True, False]).ask.tolist() == [1]


def test_nobody_is_asked_twice_and_a_dear_one_not_at_all():
    assert step([0.6, 0.9], [0.1, 100.0], trade_off=10.0, asked=[True, False]).ask.tolist() == [-1]
    assert step([0.6, 0.9], [0.1, 0.1], trade_off=10.0, asked=[True, True]).ask.tolist() == [-1]


def test_a_useless_judge_is_not_paid():
    noise = Marking(0.5, 0.5, price=0.01)
    only = step([0.6, 0.9], [0.1, 1.0], trade_off=10.0, marking=noise)
    assert (only.ask[0], only.judged[0]) == (1, False)


@pytest.mark.parametrize("mark", [0, 1])
def test_marks_move_by_bayes_rule(mark):
    judge, p = Marking(0.9, 0.8), np.array([0.3, 0.6])
    sure = judge.after(p, mark)
    joint = p * (0.9 if mark else 0.1)
    other = (1 - p) * (0.2 if mark else 0.8)
    np.testing.assert_allclose(sure, joint / (joint + other))
    np.testing.assert_allclose(judge.share_right(p), p * 0.9 + (1 - p) * 0.2)


def test_a_failure_of_one_lowers_the_others_who_err_together():
    together = np.array([[0.2, 0.1], [0.1, 0.2]])
    after = moved(np.array([[0.5, 0.5]]), 0, np.array([0.0]), together)
    np.testing.assert_allclose(after, [[0.0, 0.25]])
    marks = heard_marks(np.array([[0.5, 0.5]]), np.array([[0.0, np.nan]]), PERFECT, together)
    np.testing.assert_allclose(marks, after)


def test_two_members_are_played_to_the_end_as_enumerated():
    rng = np.random.default_rng(0)
    right = rng.random((4000, 2)) * [0.8, 1.0]
    truth = (rng.random(right.shape) < right).astype(float)
    price = np.array([0.2, 1.0]) * np.ones(right.shape)
    done = run_cascade(right, price, truth, marking=PERFECT, covariance=ALONE, trade_off=4.0)
    score = truth[np.arange(len(truth)), done.answer]
    value = 4.0 * score - done.cost
    single = (4.0 * right - price).max(axis=1).mean()
    assert value.mean() > single + 0.1
    # Cheap first, and the dear one only where the judge refused and it still pays: the best there is for two.
    cheap = 4.0 * (right[:, 0] + (1 - right[:, 0]) * np.maximum(right[:, 1] - 0.25, 0)) - 0.2
    dear = 4.0 * (right[:, 1] + (1 - right[:, 1]) * np.maximum(right[:, 0] - 0.05, 0)) - 1.0
    assert value.mean() == pytest.approx(np.maximum(cheap, dear).mean(), abs=0.1)
    assert (done.n_asked >= 1).all()
