import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from torchmetrics.functional.classification import binary_calibration_error

from defero.core import InputError
from defero.judge import expected_calibration_error

forecasts = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def slow_error(confidence, correct, n_bins):
    """Bin by bin, with the borders as exact fractions of the floats k / n_bins."""
    total = 0.0
    for k in range(n_bins):
        low, high = Fraction(k / n_bins), Fraction((k + 1) / n_bins)
        inside = [i for i, c in enumerate(confidence) if low < Fraction(c) <= high or (k == 0 and c == 0)]
        if inside:
            gap = abs(np.mean([confidence[i] for i in inside]) - np.mean([correct[i] for i in inside]))
            total += gap * len(inside) / len(confidence)
    return total


def test_a_case_by_hand():
    # Two bins. (0, 1/2]: confidences .2, .4, one of two right: gap .2. (1/2, 1]: .9, right: gap .1.
    found = expected_calibration_error([0.2, 0.4, 0.9], [False, True, True], n_bins=2)
    assert found == pytest.approx(0.2 * 2 / 3 + 0.1 / 3)


@given(forecasts, st.integers(1, 25))
def test_it_equals_the_obvious_loop(pairs, n_bins):
    confidence, correct = zip(*pairs, strict=True)
    found = expected_calibration_error(confidence, correct, n_bins=n_bins)
    assert found == pytest.approx(slow_error(confidence, correct, n_bins), abs=1e-12)
    assert 0 <= found <= 1


def test_it_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    confidence = np.round(rng.random(5000), 2)  # many confidences on a border
    correct = rng.random(5000) < confidence**2
    mean_correct, mean_confidence = calibration_curve(correct, confidence, n_bins=20, strategy="uniform")
    count = np.histogram(-confidence, bins=-np.linspace(0, 1, 21)[::-1])[0][::-1]  # negated: bins are (low, high]
    expected = np.sum(np.abs(mean_correct - mean_confidence) * count) / 5000
    assert expected_calibration_error(confidence, correct) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_bins", [1, 7, 20])
def test_it_agrees_with_torchmetrics_between_the_borders(n_bins):
    # On a border torchmetrics takes the bin above, and 1 becomes a bin of its own; so none lies there.
    rng = np.random.default_rng(1)
    confidence = (rng.integers(0, n_bins, 3000) + rng.uniform(0.01, 0.99, 3000)) / n_bins
    correct = rng.random(3000) < np.sqrt(confidence)
    told = torch.tensor(confidence), torch.tensor(correct, dtype=torch.int64)
    mean = float(binary_calibration_error(*told, n_bins=n_bins, norm="l1"))
    assert expected_calibration_error(confidence, correct, n_bins=n_bins) == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("n_bins", [*range(2, 60), 100, 1000])
def test_a_border_belongs_to_the_bin_below_it(n_bins):
    # Each border k / B together with a point of the bin below: right and wrong cancel only inside one bin.
    for k in range(1, n_bins + 1):
        border, below = k / n_bins, (k - 0.5) / n_bins
        found = expected_calibration_error([border, below], [True, False], n_bins=n_bins)
        assert found == pytest.approx(abs(border + below - 1) / 2, abs=1e-12)


def test_zero_is_in_the_first_bin():
    assert expected_calibration_error([0.0, 0.04], [True, False], n_bins=20) == pytest.approx(0.48)


@given(st.lists(st.booleans(), min_size=1), st.integers(1, 30))
def test_a_perfect_forecaster_has_no_error_and_an_inverted_one_the_largest(correct, n_bins):
    sure = np.array(correct, float)
    assert expected_calibration_error(sure, correct, n_bins=n_bins) == 0.0
    if n_bins > 1:
        assert expected_calibration_error(1 - sure, correct, n_bins=n_bins) == 1.0


@given(forecasts, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter_nor_does_repeating_them(pairs, random):
    mixed = pairs * 2
    random.shuffle(mixed)
    found = expected_calibration_error(*zip(*mixed, strict=True))
    assert found == pytest.approx(expected_calibration_error(*zip(*pairs, strict=True)), abs=1e-12)


@given(forecasts)
def test_one_bin_compares_the_means_and_finer_nested_bins_never_less(pairs):
    confidence, correct = (np.array(column, float) for column in zip(*pairs, strict=True))
    errors = [expected_calibration_error(confidence, correct, n_bins=n_bins) for n_bins in (1, 2, 4, 8)]
    assert errors[0] == pytest.approx(abs(confidence.mean() - correct.mean()), abs=1e-12)
    assert all(coarse <= fine + 1e-12 for coarse, fine in pairwise(errors))


def test_flags_may_be_numbers_and_nothing_gives_nan():
    assert expected_calibration_error([1.0, 0.0], [1, 0]) == 0.0
    assert math.isnan(expected_calibration_error([], []))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: expected_calibration_error([0.5, 1.5], [1, 0]),
            r"confidence must lie in \[0, 1\], got 1.5 for item 1",
        ),
        (lambda: expected_calibration_error([-0.1], [1]), "got -0.1 for item 0; pass probabilities, not logits"),
        (lambda: expected_calibration_error([np.inf], [1]), "got inf for item 0"),
        (lambda: expected_calibration_error([0.5, np.nan], [1, 0]), "confidence .* got nan for item 1"),
        (lambda: expected_calibration_error([0.5], [2]), "correct must be True or False"),
        (lambda: expected_calibration_error([0.5], ["yes"]), "correct must be True or False"),
        (
            lambda: expected_calibration_error([0.5], [1], n_bins=0),
            "n_bins must be a whole number of at least 1, got 0",
        ),
        (lambda: expected_calibration_error([0.5], [1], n_bins=2.5), "n_bins must be a whole number"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_experts_one_by_one_and_averaged():
    error = expected_calibration_error
    rng = np.random.default_rng(2)
    confidence, correct, observed = rng.random((300, 4)), rng.random((300, 4)) < 0.6, rng.random((300, 4)) < 0.5
    observed[:, 2] = False
    alone = [error(confidence[observed[:, j], j], correct[observed[:, j], j]) for j in range(4)]
    np.testing.assert_array_equal(error(confidence, correct, observed=observed, average=None), alone)
    assert np.isnan(alone).tolist() == [False, False, True, False]
    assert error(confidence, correct, observed=observed) == pytest.approx(np.nanmean(alone), abs=1e-15)


def test_what_means_nothing_is_nan_and_the_rest_is_defined():
    error = expected_calibration_error
    assert math.isnan(error([], []))
    assert math.isnan(error([0.5], [1], observed=[0]))
    assert math.isnan(error(np.zeros((3, 0)), np.zeros((3, 0))))
    assert error(np.zeros((3, 0)), np.zeros((3, 0)), average=None).shape == (0,)
    assert math.isnan(error(np.zeros((0, 2)), np.zeros((0, 2))))
    nobody = error([[0.2, 0.4]] * 3, [[1, 1]] * 3, observed=[[1, 0]] * 3, average=None)
    assert np.isnan(nobody).tolist() == [False, True]
    assert error([0.25] * 4, [1] * 4) == pytest.approx(0.75)
