"""Two systems on the same items: beside scipy, slow loops and simulations in which nothing is to be found."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from defero.core.errors import InputError
from defero.metrics import Comparison, compare, holm, mcnemar, paired_bootstrap

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


def fresh():
    return np.random.default_rng(5)


def sides(items):
    return [first for first, _ in items], [second for _, second in items]


def of_counts(both, only_first, only_second, neither):
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    return sides(
        [k for k, times in zip(kinds, (both, only_first, only_second, neither), strict=True) for _ in range(times)]
    )


def test_a_case_by_hand():
    """3 against 1: P(at most 1 of 4) = 5 / 16, doubled."""
    found = compare(*of_counts(5, 3, 1, 1), rng=fresh())
    assert found.p_value == pytest.approx(10 / 16)
    assert (found.n, found.first, found.second, found.only_first, found.only_second) == (10, 0.8, 0.6, 3, 1)
    assert found.difference == pytest.approx(0.2)
    assert found.low <= found.difference <= found.high
    assert found.level == 0.95


@pytest.mark.parametrize(
    ("first", "second"),
    [(0, 0), (1, 0), (0, 7), (4, 4), (5, 4), (30, 10), (500, 520), (3, 900), (40_000, 40_700), (90_000, 1)],
)
def test_mcnemar_is_the_binomial_test(first, second):
    found = mcnemar(*of_counts(3, first, second, 2))
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert found == pytest.approx(expected, rel=1e-7)


@given(pairs)
def test_swapping_the_two_turns_everything_around(items):
    first, second = sides(items)
    one, other = compare(first, second, rng=fresh()), compare(second, first, rng=fresh())
    assert one.p_value == other.p_value
    assert (one.only_first, one.only_second) == (other.only_second, other.only_first)
    for ours, theirs in [(one.difference, other.difference), (one.low, other.high), (one.high, other.low)]:
        assert ours == -theirs or (math.isnan(ours) and math.isnan(theirs))


@given(pairs)
def test_the_counts_are_those_of_a_loop(items):
    found = compare(*sides(items), rng=fresh())
    assert found.only_first == sum(first and not second for first, second in items)
    assert found.only_second == sum(second and not first for first, second in items)
    assert 0 < found.p_value <= 1
    if items:
        assert found.difference == pytest.approx(found.first - found.second)
        fixed = max(found.only_first, found.only_second, len(items) - found.only_first - found.only_second)
        assert math.isnan(found.low) == math.isnan(found.high) == (fixed == len(items))
        assert fixed == len(items) or -1 <= found.low <= found.high <= 1
    assert found.clear == (found.p_value <= 0.05)


def test_the_bootstrap_is_that_of_drawn_items():
    """The slow way draws item after item; both have the same law, here to a tenth of the interval."""
    first, second = map(np.array, of_counts(120, 50, 25, 55))
    rng, n = np.random.default_rng(0), len(first)
    rows = rng.integers(0, n, (20_000, n))
    slow = np.quantile(first[rows].mean(axis=1) - second[rows].mean(axis=1), [0.05, 0.95])
    fast = paired_bootstrap(first, second, level=0.9, n_resamples=20_000, rng=rng)
    assert fast == pytest.approx(slow, abs=0.005)


def test_the_level_widens_the_interval():
    wide = [paired_bootstrap(*of_counts(50, 30, 20, 20), level=level, rng=fresh()) for level in (0.5, 0.9, 0.99)]
    assert wide[2][0] < wide[1][0] < wide[0][0] < wide[0][1] < wide[1][1] < wide[2][1]


def test_where_nothing_is_to_be_found_little_is_found():
    """2,000 studies of two equal systems: the exact test errs in at most 5 %, the interval in about 5 %."""
    rng, n = np.random.default_rng(11), 500
    rejected = missed = 0
    for _ in range(2_000):
        right, apart, heads = rng.random((3, n)) < np.array([[0.7], [0.2], [0.5]])
        found = compare(np.where(apart, heads, right), np.where(apart, ~heads, right), n_resamples=1_000, rng=rng)
        rejected += found.p_value <= 0.05
        missed += not found.low <= 0 <= found.high
    assert rejected / 2_000 <= 0.05
    assert 0.04 <= missed / 2_000 <= 0.06


def test_a_difference_is_found_at_the_right_place():
    """Coverage of a real difference of 10 points, in 1,000 studies of 400 items."""
    rng, kept = np.random.default_rng(3), 0
    for _ in range(1_000):
        both, one, two, none = rng.multinomial(400, [0.6, 0.2, 0.1, 0.1])
        low, high = paired_bootstrap(*of_counts(both, one, two, none), n_resamples=500, rng=rng)
        kept += low <= 0.1 <= high
    assert 0.93 <= kept / 1_000 <= 0.97


def test_nothing_to_compare():
    none = compare([], [], rng=fresh())
    assert none.to_dict() == {
        "n": 0, "first": None, "second": None, "difference": None, "low": None, "high": None,
        "level": 0.95, "p_value": 1.0, "only_first": 0, "only_second": 0, "clear": False,
    }  # fmt: skip
    same = compare([True, False], [True, False], rng=fresh())
    assert (same.difference, same.p_value, same.clear) == (0, 1, False)
    one = compare([True], [False], rng=fresh())
    assert (one.difference, one.p_value, one.clear) == (1, 1, False)
    assert np.isnan([same.low, same.high, one.low, one.high]).all()


def test_better_is_said_by_the_exact_test():
    """Five cases of one kind are p = 1/16 and six are 1/32, whatever the bootstrap says."""
    five, six = (compare(*of_counts(90 - won, won, 0, 10), rng=fresh()) for won in (5, 6))
    assert five.low > 0
    assert (five.p_value, five.clear) == (pytest.approx(1 / 16), False)
    assert (six.p_value, six.clear) == (pytest.approx(1 / 32), True)
    assert not compare(*of_counts(84, 6, 0, 10), level=0.99, rng=fresh()).clear
    one = compare([True], [False], rng=fresh())
    assert isinstance(one, Comparison)


def slow_holm(p_values):
    adjusted, running, left = {}, 0.0, len(p_values)
    for place in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        running = max(running, min(1.0, left * p_values[place]))
        adjusted[place], left = running, left - 1
    return [adjusted[place] for place in range(len(p_values))]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_the_slow_loop(p_values):
    found = holm(p_values)
    assert found.tolist() == pytest.approx(slow_holm(p_values))
    assert (found >= np.array(p_values)).all()
    assert (found <= np.minimum(1, len(p_values) * np.array(p_values)) + 1e-12).all()


def test_holm_errs_in_few_studies():
    rng = np.random.default_rng(2)
    assert np.mean([holm(rng.random(10)).min() < 0.05 for _ in range(4_000)]) == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mcnemar([True], [True, False]), "second_correct must have 1 items like the other arguments, got 2"),
        (lambda: mcnemar([0.5], [1]), "first_correct must be True or False"),
        (
            lambda: compare([1], [1], level=95, rng=fresh()),
            r"level must lie in \(0, 1\), got 95; for a 95% interval pass",
        ),
        (
            lambda: paired_bootstrap([1], [1], n_resamples=0, rng=fresh()),
            "n_resamples must be a whole number of at least",
        ),
        (lambda: holm([0.5, 1.5]), r"p_values must lie in \[0, 1\], got 1.5 at 1"),
    ],
)
def test_wrong_input_is_told(call, message):
    with pytest.raises(InputError, match=message):
        call()
