"""Venn-Abers: a slow twin that fits anew for each score, its validity, the order, and the edges."""

import json

import numpy as np
import pytest
from calibration_problems import draw_experts, sigmoid
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from defero.calibration.venn_abers import Interval, VennAbersMaps, fit_venn_abers, with_one_more
from defero.core.errors import InputError


def everyone(correct):
    return np.ones(correct.shape, dtype=bool)


def slow_bound(u, right, score, hit):
    """The isotonic fit with one more answer at the score, by scikit-learn, read at the score."""
    model = IsotonicRegression().fit(np.append(u, score), np.append(right, hit))
    return model.predict([score])[0]


@given(seed=st.integers(0, 10_000), n=st.integers(1, 25), ties=st.booleans())
def test_a_fit_for_each_score_finds_the_same(seed, n, ties):
    rng = np.random.default_rng(seed)
    u = rng.integers(-2, 3, n).astype(float) if ties else rng.normal(size=n)
    right = rng.random(n) < sigmoid(u)
    maps = fit_venn_abers(u[:, None], right[:, None], np.ones((n, 1), bool), link="logit")
    new = np.concatenate([u[:3], [-9.0, 9.0], rng.normal(size=4)])
    low, high = maps.bounds(new[:, None])
    np.testing.assert_allclose(low[:, 0], [slow_bound(u, right, s, 0.0) for s in new], rtol=0, atol=1e-9)
    np.testing.assert_allclose(high[:, 0], [slow_bound(u, right, s, 1.0) for s in new], rtol=0, atol=1e-9)


@given(seed=st.integers(0, 1000), n=st.integers(1, 60))
def test_the_pair_is_in_order_and_its_point_between(seed, n):
    logits, correct = draw_experts(n, n_experts=2, seed=seed)
    maps = fit_venn_abers(logits, correct, everyone(correct), link="logit")
    new = np.sort(np.random.default_rng(seed).normal(0, 3, (200, 2)), axis=0)
    low, high = maps.bounds(new)
    point = sigmoid(maps.logits(new))
    assert (low < high).all()
    assert ((point > low - 1e-12) & (point < high + 1e-12)).all()
    assert (np.diff(maps.logits(new), axis=0) >= 0).all()
    np.testing.assert_array_equal(maps.width(new), high - low)


def test_one_of_the_two_is_calibrated():
    """The bound that the truth picks, p1 where right and p0 where wrong, is right on average: validity by hand."""
    gaps = []
    for seed in range(200):
        logits, correct = draw_experts(41, n_experts=1, seed=seed)
        maps = fit_venn_abers(2 * logits[:40], correct[:40], everyone(correct[:40]), link="logit")
        low, high = maps.bounds(2 * logits[40:])
        gaps.append((high if correct[40, 0] else low)[0, 0] - correct[40, 0])
    assert abs(np.mean(gaps)) < 3 * np.std(gaps) / np.sqrt(200)


def test_more_answers_narrow_the_pair():
    widths = []
    for n in (10, 100, 1000):
        logits, correct = draw_experts(n, n_experts=3)
        maps = fit_venn_abers(logits, correct, everyone(correct), link="logit")
        widths.append(maps.width(np.full((1, 3), 1.0)).mean())
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.03


def test_of_many_answers_few_numbers_are_kept():
    logits, correct = draw_experts(20_000, n_experts=1)
    maps = fit_venn_abers(logits, correct, everyone(correct), link="logit")
    assert len(maps.intervals[0].at_0) < 2_000


def test_who_gave_no_answers_gets_the_pair_of_all():
    logits, correct = draw_experts(50, n_experts=2)
    observed = everyone(correct)
    observed[:, 1] = False
    maps = fit_venn_abers(logits, correct, observed, link="logit")
    assert maps.intervals[1] == maps.intervals[0]


def test_one_answer():
    assert with_one_more(np.array([1.0]), np.array([1.0]), hit=0.0).tolist() == [0.5]
    assert with_one_more(np.array([1.0]), np.array([1.0]), hit=1.0).tolist() == [1.0]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (((0.0,), (), (), ()), "an interval must be as many finite scores as probabilities"),
        (((1.0, 0.0), (0.1, 0.2), (), ()), "an interval's steps must increase"),
        (((0.0,), (1.0,), (), ()), "an interval must have p0 below 1 and p1 above 0"),
    ],
)
def test_intervals_are_checked_when_built(parts, words):
    with pytest.raises(InputError, match=words):
        Interval(*parts)


def test_settings_survive_json_exactly():
    logits, correct = draw_experts(200, n_experts=3)
    maps = fit_venn_abers(logits, correct, everyone(correct), link="logit")
    assert VennAbersMaps.from_settings(json.loads(json.dumps(maps.settings()))) == maps
