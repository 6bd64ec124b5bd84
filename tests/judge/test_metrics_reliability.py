import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from defero.core import InputError
from defero.judge import expected_calibration_error, reliability_bins, wilson_interval

forecasts = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


@pytest.mark.parametrize("n_bins", [1, 5, 20])
def test_its_curve_is_that_of_scikit_learn(n_bins):
    rng = np.random.default_rng(0)
    confidence = np.round(rng.beta(5, 2, 2000), 3)
    confidence[:20], confidence[20:40] = 0.0, 1.0
    correct = rng.random(2000) < confidence
    accuracy, mean = calibration_curve(correct, confidence, n_bins=n_bins, strategy="uniform")
    bins = reliability_bins(confidence, correct, n_bins=n_bins)
    full = bins.count[0] > 0
    np.testing.assert_allclose(bins.accuracy[0, full], accuracy, atol=1e-12)
    np.testing.assert_allclose(bins.confidence[0, full], mean, atol=1e-12)


@given(forecasts, st.integers(1, 25))
def test_it_equals_the_obvious_loop(pairs, n_bins):
    confidence, correct = (np.array(column, float) for column in zip(*pairs, strict=True))
    bins = reliability_bins(confidence, correct, n_bins=n_bins, level=0.9)
    assert bins.edges.tolist() == [k / n_bins for k in range(n_bins + 1)]
    for k in range(n_bins):
        inside = (confidence > k / n_bins) & (confidence <= (k + 1) / n_bins)
        if k == 0:
            inside |= confidence == 0
        assert bins.count[0, k] == inside.sum()
        if inside.any():
            assert bins.confidence[0, k] == pytest.approx(confidence[inside].mean())
            assert bins.accuracy[0, k] == pytest.approx(correct[inside].mean())
            ends = wilson_interval(correct[inside].sum(), inside.sum(), level=1 - 0.1 / n_bins if n_bins > 1 else 0.9)
            assert (bins.low[0, k], bins.high[0, k]) == pytest.approx(ends)
        else:
            assert np.isnan([bins.confidence[0, k], bins.accuracy[0, k], bins.low[0, k], bins.high[0, k]]).all()


@pytest.mark.parametrize("n_bins", [2, 10, 20, 49])
def test_every_border_belongs_to_the_bin_below_and_zero_to_the_first(n_bins):
    borders = np.arange(n_bins + 1) / n_bins
    assert reliability_bins(borders, borders > 0.5, n_bins=n_bins).count.tolist() == [[2] + [1] * (n_bins - 1)]


def test_each_expert_has_a_row_of_what_they_answered():
    rng = np.random.default_rng(1)
    confidence, correct, observed = rng.random((80, 3)), rng.random((80, 3)) < 0.5, rng.random((80, 3)) < 0.7
    observed[:, 1] = False
    bins = reliability_bins(confidence, correct, observed=observed)
    assert bins.count.sum(axis=1).tolist() == observed.sum(axis=0).tolist()
    assert np.isnan(bins.accuracy[1]).all()
    for j in (0, 2):
        alone = reliability_bins(confidence[observed[:, j], j], correct[observed[:, j], j])
        np.testing.assert_array_equal(bins.accuracy[j], alone.accuracy[0])
        np.testing.assert_array_equal(bins.high[j], alone.high[0])


def test_its_gaps_add_up_to_the_calibration_error():
    rng = np.random.default_rng(2)
    confidence = rng.random(500)
    correct = rng.random(500) < confidence**2
    bins = reliability_bins(confidence, correct, n_bins=20)
    gap = np.nansum(bins.count * np.abs(bins.confidence - bins.accuracy)) / 500
    assert gap == pytest.approx(expected_calibration_error(confidence, correct))


def test_all_intervals_of_an_honest_forecaster_hold_together():
    rng = np.random.default_rng(3)
    confidence = rng.random((500, 1000))
    correct = rng.random((500, 1000)) < confidence
    bins = reliability_bins(confidence, correct)
    kept = ((bins.low <= bins.confidence) & (bins.confidence <= bins.high)).all(axis=1)
    assert kept.mean() >= 0.94  # 0.95 less two standard errors; the bound itself errs on the safe side


def test_one_item_none_and_results_that_cannot_change():
    bins = reliability_bins([1.0], [True], n_bins=2)
    assert bins.count.tolist() == [[0, 1]]
    assert bins.high[0, 1] == 1.0
    assert reliability_bins([], []).count.tolist() == [[0] * 10]
    assert reliability_bins(np.zeros((4, 0)), np.zeros((4, 0))).accuracy.shape == (0, 10)
    with pytest.raises(ValueError, match="read-only"):
        bins.accuracy[0, 0] = 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: reliability_bins([0.5], [1], n_bins=0), "n_bins must be a whole number of at least 1, got 0"),
        (lambda: reliability_bins([0.5], [1], n_bins=np.inf), "n_bins must be a whole number"),
        (lambda: reliability_bins([0.5], [1], level=95), r"level must lie in \(0, 1\), got 95"),
        (lambda: reliability_bins([1.5], [1]), r"confidence must lie in \[0, 1\], got 1.5"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
