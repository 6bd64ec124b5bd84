"""The map from a raw score to log-odds: increasing, finite, and what the raw score claims."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.calibration.maps import CORNER, SHARP_CORNER, compress, log_odds
from defero.core.errors import InputError
from defero.core.scores import sigmoid

EXTREMES = np.array([-1e300, -1e4, -800.0, -20.0, -1e-9, 0.0, 1e-9, 20.0, 800.0, 1e4, 1e300])
LINKS = ["logit", "log"]


@pytest.mark.parametrize("link", LINKS)
def test_it_increases_strictly(link):
    near = np.linspace(-40, 40, 80_001)
    far = np.sort(np.concatenate([near, EXTREMES, np.linspace(-1e4, 1e4, 20_001)]))
    assert (np.diff(log_odds(np.unique(far), link)) > 0).all()


@pytest.mark.parametrize("link", LINKS)
@given(first=st.floats(-1e4, 1e4), second=st.floats(-1e4, 1e4))
def test_no_two_scores_change_places(link, first, second):
    low, high = log_odds(np.array([min(first, second), max(first, second)]), link)
    assert low <= high


@pytest.mark.parametrize("link", LINKS)
def test_extremes_stay_finite(link):
    u = log_odds(EXTREMES, link)
    assert np.isfinite(u).all()
    assert np.abs(u).max() < 1500


def test_the_logit_link_is_the_identity():
    raw = np.linspace(-20, 20, 999)
    assert np.array_equal(log_odds(raw, "logit"), raw)


def test_the_log_link_claims_the_probability_itself_up_to_the_corner():
    raw = np.concatenate([np.linspace(-30, 5, 7_001), EXTREMES])
    claimed = sigmoid(log_odds(raw, "log"))
    short = np.exp(np.minimum(raw, 0)) - claimed
    assert short.min() > -1e-8
    assert short.max() <= CORNER
    honest = raw < np.log(0.8)
    assert np.abs(short[honest]).max() < 2e-3


def test_the_log_link_against_its_formula():
    raw = np.linspace(-5, 1, 601)
    t = 1 - np.exp(raw)
    slow = raw - np.log(t / 2 + np.sqrt(t**2 / 4 + CORNER**2))
    np.testing.assert_allclose(log_odds(raw, "log"), slow, rtol=0, atol=1e-9)


def test_a_sharp_corner_passes_scores_on():
    raw = np.concatenate([np.linspace(-30, 5, 7_001), EXTREMES])
    claimed = sigmoid(log_odds(raw, "log", corner=SHARP_CORNER))
    assert np.abs(np.exp(np.minimum(raw, 0)) - claimed).max() <= 2e-6
    assert (np.diff(log_odds(np.unique(raw), "log", corner=SHARP_CORNER)) > 0).all()


def test_compressing_is_odd_and_moves_no_probability():
    raw = np.linspace(-1e4, 1e4, 100_001)
    assert np.array_equal(compress(-raw), -compress(raw))
    assert np.abs(sigmoid(compress(raw)) - sigmoid(raw)).max() < 3e-9


def test_weights_are_no_probabilities():
    with pytest.raises(InputError, match="a mixture of experts' weights are no probabilities and cannot be calibrated"):
        log_odds(np.zeros((2, 1)), "weight")
