"""A judge's errors, corrected: by hand, by exact sums, by simulation, and at the edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_study import coverage, learned_by_task, marks_of, one_sample
from scipy.stats import binom

from defero.core.errors import InputError
from defero.judge import Judge
from defero.judge.intervals import wilson_interval

rates = st.tuples(st.floats(0, 1), st.floats(0, 1)).filter(lambda pair: sum(pair) > 1.05)


@given(rates, st.floats(0, 1))
def test_a_judge_marks_what_the_correction_takes_back(pair, mean):
    judge = Judge(*pair)
    marked = mean * judge.sensitivity + (1 - mean) * (1 - judge.specificity)
    assert judge.correct([marked])[0] == pytest.approx(mean, abs=1e-9)


@given(rates, st.sampled_from([0, 1]))
def test_targets_have_the_true_score_as_their_mean(pair, truth):
    judge = Judge(*pair)
    right, wrong = judge.unbiased([1, 0])
    p_marked = judge.sensitivity if truth else 1 - judge.specificity
    assert p_marked * right + (1 - p_marked) * wrong == pytest.approx(truth, abs=1e-9)


@given(rates, st.integers(0, 40))
def test_with_known_rates_the_interval_is_wilsons_stretched(pair, marked):
    judge = Judge(*pair)
    estimate = judge.mean([1] * marked + [0] * (40 - marked))
    assert (estimate.low, estimate.high) == pytest.approx(judge.correct(wilson_interval(marked, 40)), abs=1e-9)
    assert estimate.low <= estimate.value <= estimate.high


def test_a_perfect_judge_changes_nothing():
    estimate = Judge(1, 1).mean([1, 1, 1, 0])
    assert estimate.value == estimate.raw == 0.75
    assert (estimate.low, estimate.high) == pytest.approx(wilson_interval(3, 4))


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.5, 0.95])
def test_the_interval_covers_where_sensitivity_and_specificity_are_estimated(mean):
    """Exact: the sum over all outcomes of 25 marks and of 20 right and 20 wrong answers with a known truth."""
    n, checked, s, t = 25, 20, 0.9, 0.8
    p_marks = binom.pmf(np.arange(n + 1), n, mean * s + (1 - mean) * (1 - t))
    p_right, p_wrong = (binom.pmf(np.arange(checked + 1), checked, rate) for rate in (s, t))
    covered = total = 0.0
    for right in np.flatnonzero(p_right > 1e-4).tolist():
        for wrong in np.flatnonzero(p_wrong > 1e-4).tolist():
            judge = Judge(right / checked, wrong / checked, n_right=checked, n_wrong=checked)
            for marked in np.flatnonzero(p_marks > 1e-4).tolist():
                p = p_right[right] * p_wrong[wrong] * p_marks[marked]
                low, high = judge._interval(marked / n, n, 0.95)
                covered, total = covered + p * (low <= mean <= high), total + p
    assert total > 0.99
    assert covered / total >= 0.945


def test_a_judge_that_may_be_a_coin_says_nothing():
    judge = Judge(0.6, 0.5, n_right=10, n_wrong=10)
    estimate = judge.mean([1] * 500 + [0] * 500)
    assert (estimate.low, estimate.high) == (0, 1)
    lucky = Judge(1.0, 0.1, n_right=1, n_wrong=1000).mean([1, 0])  # shrunk, the two sum to less than 1
    assert (lucky.low, lucky.high) == (0, 1)


def test_more_checked_answers_make_the_interval_narrower():
    marks = [1] * 60 + [0] * 40
    widths = [e.high - e.low for e in (Judge(0.9, 0.8, n_right=k, n_wrong=k).mean(marks) for k in (20, 200, math.inf))]
    assert widths == sorted(widths, reverse=True)


def test_gaps_stay_gaps():
    judge = Judge(0.9, 0.8)
    assert np.isnan(judge.unbiased([[1, np.nan]])[0, 1])
    assert np.isnan(judge.correct([np.nan])[0])
    assert judge.mean([1, np.nan, 0]).n == 2
    assert math.isnan(judge.mean([np.nan]).value)
    estimated = Judge.from_marks([[1, np.nan], [0, 1], [0, 0]], [[1, 1], [0, np.nan], [0, 1]])
    assert (estimated.sensitivity, estimated.specificity, estimated.n_right, estimated.n_wrong) == (0.5, 1.0, 2, 2)


@pytest.mark.parametrize(
    ("call", "argument", "facts"),
    [
        (lambda: Judge(0.5, 0.5), "sensitivity", ["0.5", "specificity", "above 1"]),
        (lambda: Judge(0.3, 0.2), "sensitivity", ["0.3", "0.2"]),
        (lambda: Judge(1.2, 0.9), "sensitivity", ["1.2", "[0, 1]"]),
        (lambda: Judge(math.nan, 0.9), "sensitivity", ["nan"]),
        (lambda: Judge(0.9, 0.9, n_right=0), "n_right", ["0"]),
        (lambda: Judge.from_marks([0, 1], [1, 0]), "sensitivity", ["above 1"]),
        (lambda: Judge.from_marks([1, 1], [1, 1]), "truth", ["no wrong answer", "specificity"]),
        (lambda: Judge.from_marks([1, 0, 1], [1, 0]), "marks", ["(3,)", "(2,)"]),
        (lambda: Judge.from_marks(["yes"], [1]), "marks", ["numbers"]),
        (lambda: Judge(0.9, 0.8).unbiased([0.7]), "marks", ["0.7", "threshold"]),
        (lambda: Judge(0.9, 0.8).correct([1.5]), "raw", ["1.5"]),
        (lambda: Judge(0.9, 0.8).mean([1, 0], level=95), "level", ["95"]),
    ],
)
def test_bad_input_is_named(call, argument, facts):
    with pytest.raises(InputError) as error:
        call()
    assert error.value.argument == argument
    assert all(fact in str(error.value) for fact in facts), str(error.value)


def synthetic_scores(n=4000):
    rng = np.random.default_rng(5)
    return (rng.random((n, 4)) < [0.1, 0.35, 0.5, 0.95]).astype(float)


def test_corrected_intervals_hold_the_truth_and_raw_ones_do_not():
    corrected, raw = coverage(synthetic_scores(), n_items=1500, n_checked=300, repetitions=150)
    assert corrected.min() >= 0.9
    assert raw.max() <= 0.1


def test_one_sample_of_a_pool():
    _, rows = one_sample(synthetic_scores(), n_checked=500)
    for row in rows:
        assert row["low"] <= row["truth"] <= row["high"]
        assert abs(row["raw"] - row["truth"]) > 0.04


def test_learning_from_corrected_targets_keeps_its_promise():
    rng = np.random.default_rng(1)
    task = rng.integers(0, 5, 6000)
    skill = rng.uniform(0, 0.4, (5, 3))
    outcome = learned_by_task((rng.random((6000, 3)) < skill[task]).astype(float), task, n_checked=1000)
    corrected, marks = outcome["corrected"], outcome["marks"]
    assert abs(corrected["promised"] - corrected["kept"]) < 0.04 < abs(marks["promised"] - marks["kept"])
    assert corrected["rmse"] < marks["rmse"] / 2


def test_marks_of_a_perfect_judge_are_the_scores():
    scores = synthetic_scores(50)
    assert (marks_of(scores, np.random.default_rng(0), sensitivity=1, specificity=1) == scores).all()
