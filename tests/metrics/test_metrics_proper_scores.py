"""Brier's score, its parts and the log loss beside scikit-learn's and their own laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.isotonic import IsotonicRegression

from defero.core.errors import InputError
from defero.metrics import brier_parts, brier_score, log_loss

# Few distinct confidences beside many: ties are what the pooling must get right.
CONFIDENCE = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
FORECASTS = st.lists(st.tuples(CONFIDENCE, st.booleans()), min_size=1, max_size=50)
SCORES = [brier_score, log_loss]


def forecasts(pairs):
    confidence, correct = zip(*pairs, strict=True)
    return np.array(confidence), np.array(correct)


def drawn(n_items, seed):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(2, 1, n_items).round(2).clip(0.01, 0.99)
    return confidence, rng.random(n_items) < confidence**2


# --- the two scores


def test_by_hand():
    assert brier_score([0.5, 1.0, 0.2], [True, True, False]) == pytest.approx((0.25 + 0 + 0.04) / 3)
    assert log_loss([0.5, 1.0, 0.2], [True, True, False]) == pytest.approx(-(math.log(0.5) + math.log(0.8)) / 3)


@pytest.mark.parametrize("seed", range(3))
def test_both_equal_scikit_learn(seed):
    confidence, correct = drawn(500, seed)
    assert brier_score(confidence, correct) == pytest.approx(sk.brier_score_loss(correct, confidence), abs=1e-14)
    assert log_loss(confidence, correct) == pytest.approx(sk.log_loss(correct, confidence), abs=1e-13)


@pytest.mark.parametrize("score", SCORES)
def test_experts_are_averaged_pooled_or_kept_apart(score):
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.05, 0.95, (60, 3))
    correct = rng.random((60, 3)) < confidence
    observed = rng.random((60, 3)) < 0.5
    observed[:, 1] = False
    alone = [score(confidence[observed[:, j], j], correct[observed[:, j], j]) for j in (0, 2)]
    each = score(confidence, correct, observed=observed, average=None)
    np.testing.assert_allclose(each, [alone[0], np.nan, alone[1]])
    assert score(confidence, correct, observed=observed) == pytest.approx(np.mean(alone))
    pooled = score(confidence, correct, observed=observed, average="pooled")
    assert pooled == pytest.approx(score(confidence[observed], correct[observed]))


@pytest.mark.parametrize("score", SCORES)
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_the_truth_is_the_best_claim(score, truth, claim):
    """Proper: of 1,000 items of which a share is right, that share scores best."""
    correct = np.arange(1000) < round(1000 * truth)
    honest = score(np.full(1000, correct.mean()), correct)
    assert honest <= score(np.full(1000, claim), correct) + 1e-12


@pytest.mark.parametrize("score", SCORES)
@given(FORECASTS)
def test_right_and_wrong_may_change_sides(score, pairs):
    confidence, correct = forecasts([(round(s * 64) / 64, y) for s, y in pairs])  # 1 - s is exact
    assert score(1 - confidence, ~correct) == pytest.approx(score(confidence, correct), abs=1e-12)


def test_certain_and_wrong_costs_infinity_unless_clipped():
    assert log_loss([1.0, 0.5], [False, True]) == math.inf
    assert log_loss([0.0], [True]) == math.inf
    assert log_loss([0.0, 1.0], [False, True]) == 0
    assert math.copysign(1, log_loss([0.0, 1.0], [False, True])) == 1
    assert log_loss([1.0, 0.0], [False, True], clip=0.01) == pytest.approx(-math.log(0.01))
    np.testing.assert_array_equal(log_loss([[1.0, 1.0]], [[False, True]], average=None), [math.inf, 0])


def test_log_loss_keeps_tiny_chances():
    assert log_loss([1e-300], [True]) == pytest.approx(300 * math.log(10))
    assert log_loss([1e-20], [False]) == pytest.approx(1e-20, rel=1e-9, abs=0)


@pytest.mark.parametrize("score", SCORES)
def test_nothing_observed_is_nan(score):
    assert math.isnan(score([], []))
    assert math.isnan(score([0.5], [True], observed=[False]))
    assert math.isnan(score(np.empty((3, 0)), np.empty((3, 0))))


@pytest.mark.parametrize("clip", [-0.1, 0.5, math.nan])
def test_a_strange_clip_is_named(clip):
    with pytest.raises(InputError, match=r"clip must lie in \[0, 0.5\)"):
        log_loss([0.5], [True], clip=clip)


# --- the parts of Brier's score


def slow_parts(confidence, correct):
    """Score three forecasts of every item: the confidence, scikit-learn's recalibration, the share of right answers."""
    again = IsotonicRegression(y_min=0, y_max=1).fit(confidence, correct).predict(confidence)
    base = np.full(len(correct), correct.mean())
    told, recalibrated, constant = (float(np.mean((s - correct) ** 2)) for s in (confidence, again, base))
    return told - recalibrated, constant - recalibrated, constant


@pytest.mark.parametrize(("n_items", "seed"), [(1, 0), (2, 1), (30, 2), (1000, 3), (20_000, 4)])
def test_the_parts_equal_scikit_learns_recalibration(n_items, seed):
    confidence, correct = drawn(n_items, seed)
    parts = brier_parts(confidence, correct)
    found = (parts.reliability, parts.resolution, parts.uncertainty)
    assert found == pytest.approx(slow_parts(confidence, correct), abs=1e-12)


@given(FORECASTS)
def test_the_parts_make_the_score_and_none_is_negative(pairs):
    confidence, correct = forecasts(pairs)
    parts = brier_parts(confidence, correct)
    assert min(parts.reliability, parts.resolution, parts.uncertainty) >= 0
    assert parts.brier == pytest.approx(brier_score(confidence, correct), abs=1e-14)
    assert parts.resolution <= parts.uncertainty + 1e-14


@given(FORECASTS, st.randoms(use_true_random=False))
def test_order_and_repetition_change_no_part(pairs, random):
    confidence, correct = forecasts(pairs)
    parts = brier_parts(confidence, correct)
    shuffled = random.sample(range(len(pairs)), len(pairs))
    for again in (
        brier_parts(confidence[shuffled], correct[shuffled]),
        brier_parts(np.repeat(confidence, 3), np.repeat(correct, 3)),
    ):
        assert again.reliability == pytest.approx(parts.reliability, abs=1e-14)
        assert again.resolution == pytest.approx(parts.resolution, abs=1e-14)
        assert again.uncertainty == pytest.approx(parts.uncertainty, abs=1e-14)


@given(FORECASTS)
def test_an_increasing_change_of_the_confidences_leaves_the_resolution(pairs):
    confidence, correct = forecasts([(round(s * 64) / 64, y) for s, y in pairs])
    squashed = brier_parts(confidence / 2 + 0.125, correct)
    assert squashed.resolution == pytest.approx(brier_parts(confidence, correct).resolution, abs=1e-14)


@given(FORECASTS)
def test_recalibrating_leaves_nothing_to_recalibrate(pairs):
    confidence, correct = forecasts(pairs)
    again = IsotonicRegression(y_min=0, y_max=1).fit(confidence, correct).predict(confidence)
    reliability = brier_parts(again, correct).reliability
    assert 0 <= reliability <= 1e-12


def test_edges_of_the_parts():
    def values(*arguments, **options):
        parts = brier_parts(*arguments, **options)
        return parts.reliability, parts.resolution, parts.uncertainty

    assert np.isnan(values([], [])).all()
    assert np.isnan(values([0.3], [True], observed=[False])).all()
    assert values([0.9] * 10, [True] * 10) == pytest.approx((0.01, 0, 0))  # all right, all confidences equal
    assert values([0.5] * 4, [True, True, False, False]) == (0, 0, 0.25)
    assert values([0.0, 1.0], [False, True]) == (0, 0.25, 0.25)
    assert values([0.0, 1.0], [True, False]) == (0.75, 0, 0.25)
    assert values([0.2], [True]) == pytest.approx((0.64, 0, 0))


def test_the_parts_of_experts():
    confidence = np.column_stack([drawn(80, seed)[0] for seed in range(3)])
    correct = np.column_stack([drawn(80, seed)[1] for seed in range(3)])
    observed = np.ones((80, 3), dtype=bool)
    observed[:, 1] = False
    each, mean, pooled = (
        brier_parts(confidence, correct, observed=observed, average=average) for average in (None, "experts", "pooled")
    )
    for part in ("reliability", "resolution", "uncertainty", "brier"):
        assert np.isnan(getattr(each, part)).tolist() == [False, True, False]
        assert getattr(mean, part) == pytest.approx(np.nanmean(getattr(each, part)))
    assert pooled.brier == pytest.approx(brier_score(confidence, correct, observed=observed, average="pooled"))


def test_a_strange_average_is_named():
    with pytest.raises(InputError, match="average must be one of experts, pooled, None, got 'items'"):
        brier_parts([0.5], [True], average="items")
