"""Cascades beside exact enumeration."""

import numpy as np
import pytest
from benchmarks.pools.play_cascade import run_cascade

from defero.decide.cascade import Marking, cascade_step, heard_marks, moved

PERFECT = Marking(1.0, 1.0)
ALONE = np.diag([0.2, 0.2])


def step(right, price, *, trade_off, marking=PERFECT, asked=None, covariance=ALONE):
    right, price = np.array([right]), np.array([price])
    heard = np.zeros(right.shape, bool) if asked is None else np.array([asked])
    return cascade_step(
        right, price, heard, np.ones(right.shape, bool), marking=marking, covariance=covariance, error_cost=trade_off
    )


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
    np.testing.assert_allclose(marks, after, atol=1e-5)


def random_marks(seed, *, n_members=4):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_members, n_members)) * 0.2
    right, marks = rng.uniform(0.05, 0.95, (6, n_members)), rng.integers(0, 2, (6, n_members)).astype(float)
    marks[rng.random(marks.shape) < 0.3] = np.nan
    return right, marks, Marking(*rng.uniform(0.6, 1.0, 2)), root @ root.T + 0.05 * np.eye(n_members)


@pytest.mark.parametrize("seed", range(10))
def test_marks_count_in_no_order(seed):
    right, marks, judge, pairs = random_marks(seed)
    order = np.random.default_rng(seed).permutation(4)
    heard = heard_marks(right, marks, judge, pairs)
    swapped = heard_marks(right[:, order], marks[:, order], judge, pairs[np.ix_(order, order)])
    np.testing.assert_allclose(swapped, heard[:, order], atol=1e-9)
    assert ((heard > 0) & (heard < 1)).all()


@pytest.mark.parametrize("seed", range(10))
def test_marks_of_members_who_err_alone_are_bayes_rule_for_each(seed):
    right, marks, judge, pairs = random_marks(seed)
    own = np.where(marks == 1, judge.after(right, 1), np.where(marks == 0, judge.after(right, 0), right))
    np.testing.assert_allclose(heard_marks(right, marks, judge, np.diag(np.diag(pairs))), own, atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_several_marks_are_the_best_linear_prediction(seed):
    """The slow twin writes the covariance of all marks and truths down and solves for one item at a time."""
    right, marks, judge, pairs = random_marks(seed)
    heard, slope = heard_marks(right, marks, judge, pairs), judge.sensitivity + judge.specificity - 1
    for i in range(len(right)):
        given = np.flatnonzero(np.isfinite(marks[i]))
        p, own = right[i, given], np.diag(pairs)[given]
        share = judge.share_right(p)
        noise = own * (share * (1 - share) / (slope**2 * p * (1 - p)) - 1)
        reading = (marks[i, given] - share) / slope
        linear = right[i] + pairs[:, given] @ np.linalg.inv(pairs[np.ix_(given, given)] + np.diag(noise)) @ reading
        np.testing.assert_allclose(heard[i], np.clip(linear, 1e-6, 1 - 1e-6), atol=1e-6)


def test_no_mark_makes_an_answer_certain():
    """A mark of another member once moved this one to exactly 1, where its own mark "wrong" changed nothing."""
    pairs, judge = np.array([[0.2, 0.15], [0.15, 0.2]]), Marking(0.9, 0.8)
    heard = heard_marks(np.array([[0.6, 0.8]]), np.array([[1.0, 0.0]]), judge, pairs)
    assert heard[0, 1] < 0.8
    first, second = (moved(np.array([[0.9, 0.9]]), 0, np.array([p]), np.full((2, 2), 0.2)) for p in (0.0, 1.0))
    assert 0 < first[0, 1] < second[0, 1] < 1


def test_a_question_that_costs_more_than_it_brings_is_worth_less_than_nothing():
    dear = step([0.5], [3.0], trade_off=1.0, covariance=ALONE[:1, :1])
    assert (dear.ask[0], dear.value[0]) == (0, -2.5)
    none = np.zeros((1, 1), dtype=bool)
    nobody = cascade_step(
        np.array([[0.5]]),
        np.array([[3.0]]),
        none,
        none,
        marking=PERFECT,
        covariance=ALONE[:1, :1],
        error_cost=1.0,
    )
    assert (nobody.ask[0], nobody.value[0]) == (-1, 0.0)


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
