"""Isotonic steps of the experts: a hand case, scikit-learn's, the order, new scores, and the edges."""

import numpy as np
import pytest
from calibration_problems import draw_experts, raw_scores, sigmoid
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from defero.calibration.isotonic import IsotonicMaps, Steps, fit_isotonic
from defero.core.codec import pack, unpack
from defero.core.errors import InputError


def everyone(correct):
    return np.ones(correct.shape, dtype=bool)


def fit_one(raw, right):
    right = np.array(right, dtype=bool)[:, None]
    return fit_isotonic(np.array(raw, dtype=float)[:, None], right, everyone(right), link="logit")


def test_by_hand():
    """Scores 0, 1, 2, 3 with answers 0, 1, 0, 1: blocks {0}, {1, 2} and {3}, shrunk by half a count."""
    maps = fit_one([0, 1, 2, 3], [0, 1, 0, 1])
    assert maps.steps[0].at == (0.0, 1.0, 2.0, 3.0)
    assert maps.steps[0].value == pytest.approx((0.25, 0.5, 0.5, 0.75))
    found = sigmoid(maps.logits(np.array([[-9.0], [0.5], [1.5], [2.5], [9.0]])))[:, 0]
    np.testing.assert_allclose(found, [0.25, 0.375, 0.5, 0.625, 0.75], atol=1e-6)


def test_shrinking_does_not_turn_blocks_round():
    """None of 2 becomes 1/6, 100 of 1,000 become 0.1004: shrunk alone, the first would pass the second."""
    raw = np.concatenate([np.zeros(2), np.ones(1000)])
    right = np.concatenate([[0, 0], np.arange(1000) < 100])
    value = fit_one(raw, right).steps[0].value
    assert (np.diff(value) >= 0).all()
    assert value[0] < 0.11


def test_scikit_learn_finds_the_same_but_for_half_a_count():
    logits, correct = draw_experts(5_000, n_experts=1)
    maps = fit_isotonic(3 * logits, correct, everyone(correct), link="logit")
    other = IsotonicRegression(out_of_bounds="clip").fit(3 * logits[:, 0], correct[:, 0])
    inner = np.abs(logits) < 3
    gap = np.abs(sigmoid(maps.logits(3 * logits))[inner] - other.predict(3 * logits[inner]))
    assert gap.max() < 0.06
    assert gap.mean() < 0.003


@pytest.mark.parametrize("link", ["logit", "log"])
@given(seed=st.integers(0, 1000), n=st.integers(1, 60))
def test_no_two_scores_change_places_and_nobody_is_certain(link, seed, n):
    logits, correct = draw_experts(n, n_experts=2, seed=seed)
    raw = raw_scores(logits, link).round(1)
    maps = fit_isotonic(raw, correct, everyone(correct), link=link)
    new = np.sort(np.random.default_rng(seed).normal(0, 3, (200, 2)), axis=0)
    logits = maps.logits(new)
    assert (np.diff(logits, axis=0) >= 0).all()
    assert np.isfinite(logits).all()
    assert ((sigmoid(logits) > 0.4 / (n + 1)) & (sigmoid(logits) < 1 - 0.4 / (n + 1))).all()


def test_who_gave_no_answers_gets_the_steps_of_all():
    logits, correct = draw_experts(300, n_experts=3)
    observed = everyone(correct)
    observed[:, 1] = False
    maps = fit_isotonic(logits, correct, observed, link="logit")
    pooled = fit_isotonic(
        logits[:, [0, 2]].reshape(-1, 1), correct[:, [0, 2]].reshape(-1, 1), np.ones((600, 1), bool), link="logit"
    )
    assert maps.steps[1] == pooled.steps[0]
    assert maps.steps[0] != maps.steps[1]


@pytest.mark.parametrize("right", [True, False])
def test_all_right_all_wrong_and_all_equal(right):
    maps = fit_one([1.0] * 7, [right] * 7)
    assert sigmoid(maps.logits(np.array([[5.0]])))[0, 0] == pytest.approx(7.5 / 8 if right else 0.5 / 8)


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        ((), (), "steps must be as many finite scores as probabilities inside"),
        ((0.0, 1.0), (0.5,), "steps must be as many finite scores as probabilities inside"),
        ((0.0,), (1.0,), "steps must be as many finite scores as probabilities inside"),
        ((1.0, 0.0), (0.1, 0.2), "steps must increase"),
        ((0.0, 1.0), (0.2, 0.1), "steps must increase"),
    ],
)
def test_steps_are_checked_when_built(at, value, words):
    with pytest.raises(InputError, match=words):
        Steps(at, value)


def test_maps_survive_packing_exactly():
    logits, correct = draw_experts(200, n_experts=3)
    maps = fit_isotonic(logits, correct, everyone(correct), link="logit")
    assert unpack(IsotonicMaps, pack(maps)) == maps
