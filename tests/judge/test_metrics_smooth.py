"""The smooth calibration error beside a sum over items, closed forms and simulated coverage."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from smooth_laws import LAWS, SURE, covered, covered_at, overconfident

from defero.core.errors import InputError
from defero.judge import smooth_calibration_error, smooth_calibration_interval

FORECASTS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def solve(excess, *, halvings=40):
    """Return the place in [0, 1] where a falling function crosses 0."""
    low, high = 0.0, 1.0
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return (low + high) / 2


def slow_smooth_error(confidence, correct, *, weight=None, n_points=1001):
    """Sum the mirrored Gaussians of every item at every point; halve the interval until sigma is its own error."""
    weight = np.full(len(confidence), 1 / len(confidence)) if weight is None else weight
    at = np.linspace(0, 1, n_points)

    turns = 2 * np.arange(-2, 3)
    images = np.concatenate([turns + confidence[:, None], turns - confidence[:, None]], axis=1)
    from_each = at[:, None, None] - images  # (points, items, mirror images)

    def error(sigma):
        kernel = np.exp(-0.5 * (from_each / sigma) ** 2).sum(axis=2) / (sigma * math.sqrt(2 * math.pi))
        return float(np.trapezoid(np.abs(kernel @ (weight * (correct - confidence))), at))

    return solve(lambda sigma: error(sigma) - sigma, halvings=18)


def forecasts(pairs):
    confidence, correct = zip(*pairs, strict=True)
    return np.array(confidence), np.array(correct)


# --- the value


@pytest.mark.parametrize(("n_items", "seed"), [(1, 0), (2, 1), (7, 2), (20, 3), (60, 4)])
@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_equals_the_sum_over_items(n_items, seed, shift):
    rng = np.random.default_rng(seed)
    confidence = rng.random(n_items)
    correct = rng.random(n_items) < confidence - shift
    expected = slow_smooth_error(confidence, correct)
    assert smooth_calibration_error(confidence, correct) == pytest.approx(expected, abs=1e-5)


def test_equals_the_sum_over_items_where_the_width_is_small():
    """Right and wrong alternate within a few thousandths: the case that cells of 1/1024 blur most."""
    confidence = 0.5 + np.arange(30) * 0.0007
    correct = np.arange(30) % 2 == 0
    expected = slow_smooth_error(confidence, correct, n_points=4001)
    assert 0.005 < expected < 0.05
    assert smooth_calibration_error(confidence, correct) == pytest.approx(expected, abs=1e-4)


def test_residuals_of_one_sign_give_the_mean_gap():
    """By hand: nothing cancels, whatever the width."""
    confidence = np.array([0.9, 0.9, 0.8, 0.8])
    assert smooth_calibration_error(confidence, [0, 1, 0, 1]) == pytest.approx(0.35, abs=1e-9)
    assert smooth_calibration_error(confidence, [0, 0, 0, 0]) == pytest.approx(0.85, abs=1e-9)


def test_two_opposite_faults_have_a_closed_form():
    """Masses m and -m at 0.4 and 0.6, far from the ends: smECE_sigma = 2 m (2 Phi(0.1 / sigma) - 1)."""
    confidence = np.repeat([0.4, 0.6], 1000)
    correct = np.concatenate([np.arange(1000) < 450, np.arange(1000) < 550])
    expected = solve(lambda sigma: 2 * 0.025 * (2 * NormalDist().cdf(0.1 / sigma) - 1) - sigma)
    assert smooth_calibration_error(confidence, correct) == pytest.approx(expected, abs=2e-6)


@given(FORECASTS)
def test_lies_between_the_mean_residual_and_the_mean_of_their_sizes(pairs):
    confidence, correct = forecasts(pairs)
    error = smooth_calibration_error(confidence, correct)
    residual = correct - confidence
    assert abs(residual.mean()) - 1e-9 <= error <= np.abs(residual).mean() + 1e-9
    assert 0 <= error <= 1


@given(FORECASTS, st.randoms(use_true_random=False))
def test_order_does_not_matter_nor_does_having_everything_twice(pairs, random):
    confidence, correct = forecasts(pairs)
    error = smooth_calibration_error(confidence, correct)
    shuffled = random.sample(range(len(pairs)), len(pairs))
    assert smooth_calibration_error(confidence[shuffled], correct[shuffled]) == pytest.approx(error, abs=1e-9)
    twice = smooth_calibration_error(np.tile(confidence, 2), np.tile(correct, 2))
    assert twice == pytest.approx(error, abs=1e-9)


@given(FORECASTS)
def test_right_and_wrong_may_change_sides(pairs):
    confidence, correct = forecasts(pairs)
    mirrored = smooth_calibration_error(1 - confidence, ~correct)
    assert mirrored == pytest.approx(smooth_calibration_error(confidence, correct), abs=1e-5)


@given(FORECASTS, st.floats(0, 0.01))
def test_small_moves_of_the_confidences_move_it_little(pairs, move):
    """A binned error can jump by 1 here; each item's mass moves by at most `move`, and sideways by as much."""
    confidence, correct = forecasts(pairs)
    assume(confidence.max() <= 1 - move)
    before, after = (smooth_calibration_error(s, correct) for s in (confidence, confidence + move))
    # Moving a mass by d changes smECE_sigma by at most d sqrt(2 / pi) / sigma; at the larger fixed point sigma this
    # bounds the squares.
    larger, smaller = max(before, after), min(before, after)
    assert larger * (larger - smaller) <= move * (1 + larger) + 1e-4


def test_experts_are_averaged_or_kept_apart():
    rng = np.random.default_rng(3)
    confidence = rng.random((200, 3))
    correct = rng.random((200, 3)) < confidence - 0.1
    observed = rng.random((200, 3)) < 0.6
    observed[:, 2] = False
    alone = [smooth_calibration_error(confidence[observed[:, j], j], correct[observed[:, j], j]) for j in range(2)]
    each = smooth_calibration_error(confidence, correct, observed=observed, average=None)
    np.testing.assert_allclose(each, [*alone, np.nan])
    assert smooth_calibration_error(confidence, correct, observed=observed) == pytest.approx(np.mean(alone))


def test_edges_of_the_value():
    assert math.isnan(smooth_calibration_error([], []))
    assert math.isnan(smooth_calibration_error([0.5], [True], observed=[False]))
    assert smooth_calibration_error([0.0, 1.0], [False, True]) == 0
    assert smooth_calibration_error([0.0, 1.0], [True, False]) == pytest.approx(
        slow_smooth_error(np.array([0.0, 1.0]), np.array([1, 0])), abs=1e-5
    )
    assert smooth_calibration_error([1.0], [False]) == pytest.approx(1)
    assert smooth_calibration_error([0.3], [False]) == pytest.approx(0.3)
    assert smooth_calibration_error([0.75] * 4, [1, 1, 1, 0]) == pytest.approx(0, abs=1e-12)


# --- the interval


@pytest.mark.parametrize(("mean", "factor"), [(0, 2.0122), (1, 1.9478)])
def test_the_over_confident_laws_have_the_error_they_are_used_for(mean, factor):
    _, (confidence, probability) = overconfident(mean, 1, factor)
    place = np.round(confidence * 100).astype(int)  # pool the law's 20,000 points: the twin visits each one
    share = np.bincount(place, minlength=101) / len(place)
    told = np.bincount(place, weights=confidence, minlength=101) / len(place)
    true = np.bincount(place, weights=probability, minlength=101) / len(place)
    there = share > 0
    at, right = told[there] / share[there], true[there] / share[there]
    assert slow_smooth_error(at, right, weight=share[there], n_points=201) == pytest.approx(0.1, abs=5e-4)


@pytest.mark.parametrize("name", ["shifted", "over-confident"])
def test_the_interval_holds_the_truth(name):
    """Forty runs: an interval half as wide would hold it in about two of three. The study has many runs."""
    assert covered(*LAWS[name], n_items=500, n_runs=40, n_resamples=100) >= 0.82


@pytest.mark.parametrize(("n_items", "claim", "truth"), SURE)
def test_the_interval_holds_the_truth_where_nearly_all_are_right(n_items, claim, truth):
    """One claim for all: the number of right answers says it all, so that each is visited once, with its chance."""
    assert covered_at(n_items, claim, truth) >= 0.95


def test_thirty_right_answers_leave_room_for_a_wrong_one():
    found = smooth_calibration_interval(np.full(30, 0.8), np.ones(30), rng=np.random.default_rng(0))
    assert found.value == pytest.approx(0.2)
    assert found.high > 0.23
    assert found.low < 0.17


def test_the_interval_of_a_perfect_forecaster_starts_at_zero():
    assert covered(lambda rng, n: (rng.random(n),) * 2, 0.0, n_items=2000, n_runs=15, n_resamples=100) >= 0.9


def test_its_spread_is_that_of_resampling_items():
    """The slow twin draws whole items, value by value."""
    rng = np.random.default_rng(2)
    confidence = rng.random(300)
    correct = rng.random(300) < confidence - 0.2
    value = smooth_calibration_error(confidence, correct)
    gaps = []
    for _ in range(400):
        row = rng.integers(0, 300, 300)
        gaps.append(abs(smooth_calibration_error(confidence[row], correct[row]) - value))
    found = smooth_calibration_interval(confidence, correct, n_resamples=1000, rng=rng)
    assert found.value == value
    assert found.high - value == pytest.approx(np.quantile(gaps, 0.95), rel=0.15)
    assert value - found.low == pytest.approx(found.high - value)


def test_the_same_generator_gives_the_same_interval_and_a_higher_level_a_wider_one():
    confidence, correct = np.linspace(0.3, 1, 200), np.arange(200) % 2 == 0
    first, second, wider = (
        smooth_calibration_interval(confidence, correct, level=level, n_resamples=50, rng=np.random.default_rng(7))
        for level in (0.8, 0.8, 0.99)
    )
    assert (first.low, first.high) == (second.low, second.high)
    assert wider.low < first.low < first.value < first.high < wider.high


def test_several_forecasters_have_an_interval_each():
    with pytest.raises(InputError, match=r"confidence must be of one forecaster, \(m,\), got shape \(1, 2\)"):
        smooth_calibration_interval([[0.5, 0.4]], [[1, 0]], rng=np.random.default_rng(0))


@given(FORECASTS)
def test_the_interval_holds_the_value_inside_the_unit_interval(pairs):
    found = smooth_calibration_interval(*forecasts(pairs), n_resamples=5, rng=np.random.default_rng(0))
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_edges_of_the_interval():
    rng = np.random.default_rng(0)
    nothing = smooth_calibration_interval([], [], rng=rng)
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()
    sure = smooth_calibration_interval([0.0, 1.0, 1.0], [False, True, True], rng=rng)
    assert (sure.value, sure.low) == (0, 0)
    assert 0.1 < sure.high < 0.8
    one = smooth_calibration_interval([0.4], [True], rng=rng)
    assert (one.value, one.low) == (pytest.approx(0.6), 0)
    all_right = smooth_calibration_interval(np.full(200, 0.9), np.ones(200), rng=rng)
    assert 0.08 < all_right.low < 0.099
    assert 0.101 < all_right.high < 0.12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, r"level must lie in \(0, 1\), got 1.0"),
        ({"n_resamples": 1}, "n_resamples must be a whole number of at least 2, got 1"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        smooth_calibration_interval([0.5], [True], rng=np.random.default_rng(0), **options)


def test_wrong_arrays_are_named():
    with pytest.raises(InputError, match=r"confidence must lie in \[0, 1\], got 2 for item 1"):
        smooth_calibration_error([0.5, 2.0], [True, False])
