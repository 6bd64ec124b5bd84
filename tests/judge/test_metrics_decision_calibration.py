import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core import Decision, InputError
from defero.judge import clopper_pearson_interval, decision_calibration, wilson_interval


@given(st.integers(0, 40), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_it_equals_the_obvious_loop(n_items, n_experts, seed):
    rng = np.random.default_rng(seed)
    expert = rng.integers(-1, n_experts, n_items)
    proba, correct = rng.random((n_items, n_experts)), rng.random((n_items, n_experts)) < 0.5
    found = decision_calibration(expert, proba, correct, level=0.8)
    for j in range(n_experts):
        asked = [i for i in range(n_items) if expert[i] == j]
        assert found.count[j] == len(asked)
        if asked:
            assert found.promised[j] == pytest.approx(np.mean([proba[i, j] for i in asked]))
            assert found.accuracy[j] == pytest.approx(np.mean([correct[i, j] for i in asked]))
            ends = wilson_interval(sum(correct[i, j] for i in asked), len(asked), level=0.8)
            assert (found.low[j], found.high[j]) == ends
        else:
            assert np.isnan([found.promised[j], found.accuracy[j], found.low[j], found.high[j]]).all()


def test_a_decision_will_do_and_only_cells_of_who_was_asked_are_read():
    zeros = np.zeros(3)
    decision = Decision(np.array([0, -1, 1]), ("ann", "bob"), zeros, zeros, np.array([0, 0, 1]), zeros)
    proba = [[0.9, np.nan], [7.0, np.nan], [-1.0, 0.6]]
    found = decision_calibration(decision, proba, [[1.0, np.nan], [np.nan, 5.0], [-1.0, 0.0]])
    assert found.count.tolist() == [1, 1]
    assert found.promised.tolist() == [0.9, 0.6]
    assert found.accuracy.tolist() == [1.0, 0.0]


def test_permuting_experts_permutes_the_answer():
    rng = np.random.default_rng(0)
    expert, proba, correct = rng.integers(-1, 4, 200), rng.random((200, 4)), rng.random((200, 4)) < 0.7
    order = np.array([2, 0, 3, 1])
    found = decision_calibration(expert, proba, correct)
    place = np.append(np.argsort(order), -1)
    moved = decision_calibration(place[expert], proba[:, order], correct[:, order])
    np.testing.assert_array_equal(moved.promised, found.promised[order])
    np.testing.assert_array_equal(moved.low, found.low[order])


def test_who_is_overrated_is_asked_and_it_shows():
    # Two equally good experts whose estimates err by chance: honest on all items, too high where it decides.
    rng = np.random.default_rng(1)
    truth = rng.uniform(0.3, 0.7, (20_000, 2))
    proba = np.clip(truth + rng.normal(0, 0.1, truth.shape), 0, 1)
    correct = rng.random(truth.shape) < truth
    found = decision_calibration(proba.argmax(axis=1), proba, correct)
    assert abs((proba - correct).mean()) < 0.01
    assert (found.promised > found.high).all()


@pytest.mark.parametrize(("interval", "least", "most"), [("wilson", 0.93, 0.97), ("clopper-pearson", 0.95, 1.0)])
def test_intervals_hold_the_true_share_as_often_as_they_say(interval, least, most):
    # 2,000 runs, n = 200 items deferred to one expert who is right with probability 0.8.
    # Runs with as many right answers have the same interval, so each is computed once.
    right = (np.random.default_rng(0).random((2000, 200)) < 0.8).sum(axis=1)
    held = 0
    for count, runs in zip(*np.unique(right, return_counts=True), strict=True):
        correct = np.arange(200)[:, None] < count
        found = decision_calibration(np.zeros(200, int), np.full((200, 1), 0.8), correct, interval=interval)
        assert found.accuracy[0] == count / 200
        held += runs * (found.low[0] <= 0.8 <= found.high[0])
    assert least <= held / 2000 <= most


def test_the_exact_interval_and_the_edges():
    found = decision_calibration([0, 0, 0], [[1.0], [1.0], [1.0]], [[1], [1], [1]], interval="clopper-pearson")
    assert (found.low[0], found.high[0]) == clopper_pearson_interval(3, 3)
    nothing = decision_calibration([], np.zeros((0, 2)), np.zeros((0, 2)))
    assert nothing.count.tolist() == [0, 0]
    alone = decision_calibration([-1, -1], np.zeros((2, 0)), np.zeros((2, 0)))
    assert alone.count.shape == (0,)
    with pytest.raises(ValueError, match="read-only"):
        found.promised[0] = 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: decision_calibration([0], [0.5], [1]),
            r"expert_proba must have shape \(1, J\), one row per item of expert, got \(1,\)",
        ),
        (lambda: decision_calibration([0], [[0.5]] * 2, [[1]] * 2), r"expert_proba must have shape \(1, J\)"),
        (
            lambda: decision_calibration([-1, 1], [[0.5]] * 2, [[1]] * 2),
            "expert must be below 1, the number of columns of expert_proba, got 1 for item 1",
        ),
        (lambda: decision_calibration([0], [[1.5]], [[1]]), "expert_proba must lie .* got 1.5 at row 0, column 0"),
        (lambda: decision_calibration([0], [[0.5]], [[1, 0]]), r"correct must have shape \(1, 1\)"),
        (lambda: decision_calibration([0], [[0.5]], [[1]], interval="wald"), "interval must be"),
        (lambda: decision_calibration([0], [[0.5]], [[1]], level=95), "level must lie in"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
