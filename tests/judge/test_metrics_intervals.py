import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from defero.core import InputError
from defero.judge import clopper_pearson_interval, wilson_interval
from defero.judge.intervals import share_intervals, simultaneous_level

counts = st.integers(1, 400).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(counts, st.sampled_from([0.5, 0.8, 0.95, 0.999]))
def test_it_is_the_exact_binomial_interval_of_scipy(count, level):
    exact = binomtest(*count).proportion_ci(level, method="exact")
    assert clopper_pearson_interval(*count, level=level) == pytest.approx((exact.low, exact.high), abs=1e-10)


@pytest.mark.parametrize("count", [(1, 10**6), (500_000, 10**6), (999_999, 10**6), (30, 10**4), (10**6, 10**6)])
def test_large_counts_agree_too(count):
    exact = binomtest(*count).proportion_ci(0.95, method="exact")
    assert clopper_pearson_interval(*count) == pytest.approx((exact.low, exact.high), rel=1e-7)


def test_the_closed_forms_of_none_and_all():
    assert clopper_pearson_interval(0, 10) == (0.0, pytest.approx(1 - 0.025**0.1))
    assert clopper_pearson_interval(10, 10) == (pytest.approx(0.025**0.1), 1.0)
    assert clopper_pearson_interval(1, 1, level=0.5) == (pytest.approx(0.25), 1.0)
    assert all(math.isnan(end) for end in clopper_pearson_interval(0, 0))


@given(counts)
def test_wrong_answers_mirror_right_ones_and_more_right_ones_raise_both_ends(count):
    right, total = count
    low, high = clopper_pearson_interval(right, total)
    assert 0 <= low <= right / total <= high <= 1
    assert clopper_pearson_interval(total - right, total) == pytest.approx((1 - high, 1 - low), abs=1e-12)
    if right < total:
        assert clopper_pearson_interval(right + 1, total)[0] > low


def test_exact_coverage_is_never_below_the_level():
    # Summed over the binomial law: no sampling noise.
    right = np.arange(31)
    low, high = share_intervals(right, np.full(31, 30), level=0.9, interval="clopper-pearson")
    for share in np.linspace(0.01, 0.99, 99):
        assert binom.pmf(right, 30, share)[(low <= share) & (share <= high)].sum() >= 0.9


def test_arrays_of_counts_keep_their_shape():
    right, total = np.array([[1, 0, 3]]), np.array([[2, 0, 3]])
    for interval, one in (("wilson", wilson_interval), ("clopper-pearson", clopper_pearson_interval)):
        low, high = share_intervals(right, total, level=0.9, interval=interval)
        assert low.shape == high.shape == (1, 3)
        for k in range(3):
            np.testing.assert_array_equal((low[0, k], high[0, k]), one(right[0, k], total[0, k], level=0.9))
    assert share_intervals(np.zeros((2, 0), int), np.zeros((2, 0), int), level=0.9)[0].shape == (2, 0)


def test_a_level_for_many_stays_below_one():
    assert simultaneous_level(0.95, 1) == 0.95
    assert simultaneous_level(0.9, 20) == pytest.approx(0.995)
    assert simultaneous_level(1 - 2**-53, 1000) < 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: clopper_pearson_interval(3, 2), r"successes must lie in 0\.\.total, got 3 of 2"),
        (lambda: clopper_pearson_interval(1, 2, level=0), r"level must lie in \(0, 1\), got 0; for a 95% interval"),
        (
            lambda: share_intervals(np.zeros(1, int), np.zeros(1, int), level=0.9, interval="wald"),
            "interval must be one of wilson, clopper-pearson, got 'wald'",
        ),
        (lambda: share_intervals(np.zeros(0, int), np.zeros(0, int), level=95), "level must lie in"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
