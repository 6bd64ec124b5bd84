"""Means over splits that share cases: by hand, beside scipy, and where there is nothing to be found."""

import math

import numpy as np
import pytest
from benchmarks.resampled import ResampledMean, nadeau_bengio
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from defero.core.errors import InputError

some = st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=2, max_size=25)


def test_a_case_by_hand():
    """1, 2, 3: mean 2, variance 1; two thirds to learn from: t = 2 / sqrt(1/3 + 1/2).

    At 2 degrees of freedom P(|T| > t) = 1 - t / sqrt(2 + t^2).
    """
    found = nadeau_bengio([1.0, 2.0, 3.0], n_train=200, n_test=100)
    t = 2 / math.sqrt(5 / 6)
    assert found.t == pytest.approx(t)
    assert found.p_value == pytest.approx(1 - t / math.sqrt(2 + t * t))
    half = 4.302652729911275 * math.sqrt(5 / 6)  # the tabled quantile of 2 degrees of freedom
    assert (found.mean, found.low, found.high) == pytest.approx((2, 2 - half, 2 + half))
    assert (found.n_splits, found.level, found.alternative) == (3, 0.95, "two-sided")


def slow(values, ratio, alternative):
    m = len(values)
    mean = sum(values) / m
    variance = sum((value - mean) ** 2 for value in values) / (m - 1)
    t = mean / math.sqrt((1 / m + ratio) * variance)
    return {"two-sided": 2 * stats.t.sf(abs(t), m - 1), "greater": stats.t.sf(t, m - 1), "less": stats.t.cdf(t, m - 1)}[
        alternative
    ]


@given(some, st.sampled_from(["two-sided", "greater", "less"]))
def test_it_is_the_slow_formula_with_scipys_law(values, alternative):
    if len(set(values)) == 1:
        return
    found = nadeau_bengio(values, n_train=70, n_test=30, alternative=alternative)
    assert found.p_value == pytest.approx(slow(values, 30 / 70, alternative), rel=1e-8)


def test_without_a_test_part_it_is_the_plain_t_test():
    values = np.random.default_rng(0).normal(0.3, 1, 12)
    found = nadeau_bengio(values, n_train=1, n_test=1e-12, level=0.9)
    plain = stats.ttest_1samp(values, 0)
    assert (found.t, found.p_value) == pytest.approx((plain.statistic, plain.pvalue))
    assert (found.low, found.high) == pytest.approx(tuple(plain.confidence_interval(0.9)))


@given(some)
def test_turning_the_sign_turns_the_sides(values):
    sides = [nadeau_bengio(values, n_train=7, n_test=3, alternative=side) for side in ("greater", "less", "two-sided")]
    turned = nadeau_bengio([-value for value in values], n_train=7, n_test=3, alternative="less")
    assert sides[0].p_value == pytest.approx(turned.p_value)
    assert (sides[0].low, sides[0].high) == pytest.approx((-turned.high, -turned.low))
    if len(set(values)) > 1:
        assert sides[0].p_value + sides[1].p_value == pytest.approx(1)
        assert sides[2].p_value == pytest.approx(2 * min(sides[0].p_value, sides[1].p_value))


@pytest.mark.parametrize(
    ("value", "side", "p_value"),
    [
        (0.0, "two-sided", 1),
        (0.0, "greater", 1),
        (0.1, "two-sided", 0),
        (0.1, "greater", 0),
        (0.1, "less", 1),
        (-0.1, "less", 0),
    ],
)
def test_splits_that_all_agree(value, side, p_value):
    """The mean of three times 0.1 is not 0.1 in floats: equal values must not pass for spread."""
    found = nadeau_bengio([value] * 3, n_train=7, n_test=3, alternative=side)
    assert found.p_value == p_value
    assert found.low == found.high == pytest.approx(value)
    assert found.to_dict()["t"] == (0 if value == 0 else None)


def test_the_correction_keeps_its_word_where_the_plain_test_does_not():
    """Two guesses of equal worth on the same 60 cases, judged on 20 random thirds of them; 400 studies."""
    rng, false, plain = np.random.default_rng(1), 0, 0
    for _ in range(400):
        first, second = rng.random((2, 60)) < 0.5
        gains = []
        for _ in range(20):
            test = rng.permutation(60)[42:]
            gains.append(float(first[test].mean() - second[test].mean()))
        false += nadeau_bengio(gains, n_train=42, n_test=18).p_value < 0.05
        plain += stats.ttest_1samp(gains, 0).pvalue < 0.05
    assert 0.01 <= false / 400 <= 0.08
    assert plain / 400 > 0.4


def test_the_value_for_json():
    found = nadeau_bengio([0.1, 0.3], n_train=7, n_test=3).to_dict()
    assert list(found) == ["n_splits", "mean", "low", "high", "level", "t", "p_value", "alternative"]
    assert isinstance(nadeau_bengio([0.1, 0.3], n_train=7, n_test=3), ResampledMean)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([0.1], {}, "values must hold at least 2 splits, got 1; one split has no spread"),
        ([0.1, math.nan], {}, "values must be a number for each item, got nan for item 1"),
        ([0.1, 0.2], {"n_train": 0}, "n_train must be a number of cases above 0, got 0"),
        ([0.1, 0.2], {"n_test": math.inf}, "n_test must be a number of cases above 0, got inf"),
        ([0.1, 0.2], {"alternative": "both"}, "alternative must be one of two-sided, greater, less, got 'both'"),
        ([0.1, 0.2], {"level": 95}, r"level must lie in \(0, 1\), got 95"),
    ],
)
def test_wrong_input_is_told(values, options, message):
    with pytest.raises(InputError, match=message):
        nadeau_bengio(values, **{"n_train": 7, "n_test": 3, **options})
