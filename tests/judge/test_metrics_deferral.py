import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core import InputError
from defero.judge import deferral_curve


@st.composite
def outcomes(draw, *, most=15):
    n = draw(st.integers(1, most))
    right = st.lists(st.booleans(), min_size=n, max_size=n)
    gain = st.lists(st.sampled_from([-np.inf, -1.0, -0.25, 0.0, 0.25, 0.5, 1.0]), min_size=n, max_size=n)
    return np.array(draw(right)), np.array(draw(right)), np.array(draw(gain))


def test_a_curve_by_hand():
    model, expert = [True, False, True, False], [False, True, True, False]
    curve = deferral_curve(model, expert, [0.9, 0.5, 0.1, 0.7])
    # Order 0, 3, 1, 2: the count of right answers goes 2, 1, 1, 2, 2.
    assert curve.rate.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert curve.accuracy.tolist() == [0.5, 0.25, 0.25, 0.5, 0.5]
    assert curve.random.tolist() == [0.5] * 5
    assert curve.oracle.tolist() == [0.5, 0.75, 0.75, 0.75, 0.5]


@given(outcomes())
def test_the_curve_equals_the_obvious_loop(case):
    model, expert, gain = case
    order = sorted(range(len(gain)), key=lambda i: (-gain[i], i))
    for b, found in enumerate(deferral_curve(model, expert, gain).accuracy):
        deferred = set(order[:b])
        slow = np.mean([expert[i] if i in deferred else model[i] for i in range(len(gain))])
        assert found == pytest.approx(slow, abs=1e-12)


@given(outcomes())
def test_the_ends_are_the_two_accuracies_and_the_oracle_is_never_below(case):
    model, expert, gain = case
    curve = deferral_curve(model, expert, gain)
    for line in (curve.accuracy, curve.random, curve.oracle):
        assert line[0] == model.mean()
        assert line[-1] == expert.mean()
    assert np.all(curve.oracle >= curve.accuracy)
    assert np.all(curve.oracle >= curve.random)


@given(outcomes(most=5))
def test_the_oracle_is_the_best_and_random_the_mean_over_all_orders(case):
    model, expert, _ = case
    every = [deferral_curve(model, expert, np.array(order)) for order in itertools.permutations(range(len(model)))]
    curves = np.array([curve.accuracy for curve in every])
    np.testing.assert_allclose(every[0].oracle, curves.max(axis=0))
    np.testing.assert_allclose(every[0].random, curves.mean(axis=0))


@given(outcomes(), st.randoms(use_true_random=False))
def test_without_ties_the_order_of_items_does_not_matter(case, random):
    model, expert, _ = case
    rows = list(range(len(model)))
    gain = np.array(rows, float)
    random.shuffle(rows)
    mixed = deferral_curve(model[rows], expert[rows], gain[rows])
    np.testing.assert_array_equal(mixed.accuracy, deferral_curve(model, expert, gain).accuracy)


def test_of_equal_gains_the_earlier_item_goes_first():
    assert deferral_curve([False, True], [True, False], [0.0, 0.0]).accuracy.tolist() == [0.5, 1.0, 0.5]
    assert deferral_curve([True, False], [False, True], [0.0, 0.0]).accuracy.tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("n_items", [1, 3, 7, 49, 1001])
@pytest.mark.parametrize(("model", "expert"), [(True, False), (False, True), (True, True), (False, False)])
def test_where_every_order_is_equally_good_the_best_is_no_better(n_items, model, expert):
    curve = deferral_curve([model] * n_items, [expert] * n_items, np.arange(n_items))
    np.testing.assert_array_equal(curve.oracle, curve.random)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: deferral_curve([], [], []), "must hold at least one item, got none"),
        (lambda: deferral_curve([True], [True, False], [0.0]), "expert_correct must have 1 items like the other"),
        (lambda: deferral_curve([True], [True], [0.0, 1.0]), "gain must have 1 items"),
        (lambda: deferral_curve([True, True], [True, True], [0.0, np.nan]), "gain .* got nan for item 1"),
        (lambda: deferral_curve([0.3], [True], [0.0]), "model_correct must be True or False"),
        (lambda: deferral_curve([[True]], [True], [0.0]), r"model_correct must have one axis \(n,\)"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
