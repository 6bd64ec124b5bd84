"""Pool adjacent violators, beside scikit-learn's and its own optimality conditions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from defero.core.isotonic import increasing_steps

PAIRS = st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 5)), min_size=1, max_size=60)


@given(PAIRS)
def test_equals_scikit_learn(pairs):
    values, weights = np.array(pairs).T
    expected = isotonic_regression(values, sample_weight=weights)
    np.testing.assert_allclose(increasing_steps(values, weights), expected, rtol=0, atol=1e-9)


@given(PAIRS)
def test_never_falls_keeps_the_sum_and_stays_when_repeated(pairs):
    values, weights = np.array(pairs).T
    steps = increasing_steps(values, weights)
    assert (np.diff(steps) >= 0).all()
    np.testing.assert_allclose(steps @ weights, values @ weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(increasing_steps(steps, weights), steps, rtol=0, atol=1e-12)


def test_the_worst_orders_are_quick_and_right():
    falling = np.arange(100_000.0)[::-1]
    np.testing.assert_allclose(increasing_steps(falling, np.ones(100_000)), falling.mean(), rtol=1e-12)
    saw = np.tile([1.0, 0.0], 50_000)
    np.testing.assert_allclose(increasing_steps(saw, np.ones(100_000)), 0.5)


def test_no_values():
    assert increasing_steps(np.empty(0), np.empty(0)).shape == (0,)


def test_one_block_that_swallows_the_others_one_at_a_time():
    """The order that costs a pass per block: it must not take a minute."""
    values = np.concatenate([np.arange(20_000.0) ** 2, -np.arange(20_000.0) * 10])
    expected = isotonic_regression(values)
    np.testing.assert_allclose(increasing_steps(values, np.ones(40_000)), expected, rtol=1e-9)
