"""Learning one answer after the other: against integrals, against the refitted head, and exact properties."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from defero.core.scores import sigmoid
from defero.learn.heads import FULL_FEATURES, Heads, fit_head
from defero.learn.online import _moments, after_answers
from defero.learn.prior import HeadPrior


def newcomers(d, *, n_experts=1, constant=1.0, spread=0.5, doubt=0.02):
    """Heads of experts of whom nothing but the population is known."""
    prior = HeadPrior(
        np.zeros(d - 1),
        np.ones(d - 1),
        np.array([constant] + [0.0] * (d - 1)),
        np.array([0.8] + [spread] * (d - 1)),
        doubt * np.eye(d),
    )
    heads = Heads.none(prior)
    for _ in range(n_experts):
        heads = heads.with_heads(fit_head(np.empty((0, d - 1)), [], prior))
    return heads


def learn(heads, phi, right, *, expert=None, added=None):
    """Learn from one answer to each item."""
    m = len(right)
    who = np.zeros(m, np.int64) if expert is None else np.asarray(expert)
    by_trees = np.zeros(m) if added is None else np.asarray(added)
    return after_answers(heads, phi, np.arange(m), who, np.asarray(right, np.bool_), added=by_trees)


def simulated(heads, m, seed):
    """Features, and answers of somebody drawn from the population."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(m, heads.prior.n_features))
    weights = rng.multivariate_normal(heads.prior.mean, heads.prior.covariance())
    return phi, rng.random(m) < sigmoid(heads.prior.design(phi) @ weights)


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize(("constant", "added"), [(0.0, 0.0), (1.0, -2.0), (-3.0, 0.5)])
def test_one_answer_is_exact(right, constant, added):
    """Mean and covariance of the posterior, by integrals over the one direction that the answer speaks of."""
    heads = newcomers(3, constant=constant)
    phi = np.array([[0.7, -1.2]])
    after = learn(heads, phi, [right], added=[added])
    row, prior = np.array([1.0, 0.7, -1.2]), heads.prior.covariance()
    middle, sd = row @ heads.prior.mean, np.sqrt(row @ prior @ row)

    def moment(power):
        def value(z):
            likely = sigmoid(np.array((z + added) if right else -(z + added)))
            return z**power * likely * np.exp(-(((z - middle) / sd) ** 2) / 2)

        return quad(value, middle - 12 * sd, middle + 12 * sd, epsabs=1e-13)[0]

    mean = moment(1) / moment(0)
    variance = moment(2) / moment(0) - mean**2
    assert row @ after.weights[0] == pytest.approx(mean, abs=1e-6)
    assert row @ after.covariance[0] @ row == pytest.approx(variance, abs=1e-6)
    slope = prior @ row / sd**2  # E[w | z] is linear in z, and the rest of w is as it was
    np.testing.assert_allclose(after.weights[0], heads.prior.mean + slope * (mean - middle), atol=1e-6)
    np.testing.assert_allclose(after.covariance[0], prior - np.outer(slope, slope) * (sd**2 - variance), atol=1e-6)


@pytest.mark.parametrize("d", [1, 6, 20])
@pytest.mark.parametrize("m", [5, 20, 100])
def test_a_newcomer_ends_where_the_refitted_head_ends(d, m):
    """P(right) by answers one after the other, and by one fit to all, of the same population."""
    gaps = []
    for seed in range(8):
        heads = newcomers(d, spread=0.3)
        phi, right = simulated(heads, m, seed)
        refitted = fit_head(phi, right, heads.prior)
        fresh = np.random.default_rng(seed + 100).normal(size=(200, d - 1))
        gaps.append(np.abs(learn(heads, phi, right).proba(fresh) - refitted.proba(fresh)).mean())
    assert np.mean(gaps) < 0.01


def test_it_is_nearer_to_the_refitted_head_than_steps_to_the_mode():
    heads = newcomers(6, constant=3.0, spread=0.3)
    phi, right = simulated(heads, 100, 0)
    refitted = fit_head(phi, right, heads.prior)
    weights, covariance = heads.prior.mean.copy(), heads.prior.covariance()
    for row, correct in zip(heads.prior.design(phi), right, strict=True):  # one step of Newton's method for each answer
        p = sigmoid(row @ weights)
        along = covariance @ row
        covariance = covariance - np.outer(along, along) * p * (1 - p) / (1 + p * (1 - p) * (row @ along))
        weights = weights + covariance @ row * (correct - p)
    stepped = replace(heads, weights=weights[None], covariance=covariance[None])
    fresh = np.random.default_rng(1).normal(size=(500, 5))
    online, newton = (
        np.abs(one.proba(fresh) - refitted.proba(fresh)).mean() for one in (learn(heads, phi, right), stepped)
    )
    assert online < newton / 2


@given(st.integers(0, 10_000), st.lists(st.integers(0, 30), max_size=4))
def test_cuts_change_no_bit(seed, cuts):
    heads = newcomers(4, n_experts=3)
    rng = np.random.default_rng(seed)
    phi, right, who = rng.normal(size=(30, 3)), rng.random(30) < 0.8, rng.integers(3, size=30)
    at_once, in_parts = learn(heads, phi, right, expert=who), heads
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 30], strict=True):
        in_parts = learn(in_parts, phi[start:stop], right[start:stop], expert=who[start:stop])
    assert np.array_equal(at_once.weights, in_parts.weights)
    assert np.array_equal(at_once.covariance, in_parts.covariance)
    assert at_once.n_answers.tolist() == np.bincount(who, minlength=3).tolist()


@given(st.integers(0, 10_000))
def test_another_order_ends_near_by(seed):
    heads = newcomers(4)
    phi, right = simulated(heads, 50, seed)
    turned = learn(heads, phi[::-1], right[::-1])
    fresh = np.random.default_rng(seed + 1).normal(size=(100, 3))
    assert np.abs(turned.proba(fresh) - learn(heads, phi, right).proba(fresh)).mean() < 0.02


@given(st.integers(0, 10_000))
def test_only_who_answered_moves(seed):
    heads = newcomers(4, n_experts=3)
    phi, right = simulated(heads, 20, seed)
    after = learn(heads, phi, right, expert=[1] * 20)
    for j in (0, 2):
        assert np.array_equal(after.weights[j], heads.weights[j])
        assert np.array_equal(after.covariance[j], heads.covariance[j])
    assert np.array_equal(learn(heads, phi, right, expert=[2] * 20).weights[2], after.weights[1])
    assert after.prior is heads.prior


@given(st.integers(0, 10_000))
def test_an_answer_moves_its_way_and_leaves_less_doubt(seed):
    heads = newcomers(4)
    phi, right = simulated(heads, 12, seed)
    for i in range(12):
        after = learn(heads, phi[i : i + 1], right[i : i + 1])
        moved = (heads.prior.design(phi[i : i + 1]) @ (after.weights - heads.weights)[0])[0]
        assert moved > 0 if right[i] else moved < 0
        assert np.linalg.eigvalsh(heads.covariance[0] - after.covariance[0]).min() > -1e-12
        assert np.linalg.eigvalsh(after.covariance[0]).min() > 0
        heads = after


@given(st.integers(0, 10_000), st.floats(-3, 3))
def test_trees_are_as_a_larger_constant(seed, added):
    """What trees add to the log-odds is not learned a second time."""
    heads = newcomers(4)
    phi, right = simulated(heads, 10, seed)
    raised = replace(heads, weights=heads.weights + np.array([added, 0, 0, 0]))
    with_trees, as_constant = learn(heads, phi, right, added=[added] * 10), learn(raised, phi, right)
    np.testing.assert_allclose(with_trees.weights + np.array([added, 0, 0, 0]), as_constant.weights, atol=1e-9)
    np.testing.assert_allclose(with_trees.covariance, as_constant.covariance, atol=1e-9)


def test_of_many_features_the_variances_are_those_of_the_whole_covariance():
    d = FULL_FEATURES + 1
    few = newcomers(d)
    assert few.covariance.shape == (1, d)
    phi, right = simulated(few, 1, 0)
    after, row = learn(few, phi, right), few.prior.design(phi)[0]
    whole = few.prior.covariance()
    k = (few.covariance[0] - after.covariance[0])[0] / (whole @ row)[0] ** 2
    np.testing.assert_allclose(after.covariance[0], np.diag(whole - k * np.outer(whole @ row, whole @ row)), atol=1e-12)


def test_where_nothing_is_left_to_learn_nothing_moves():
    heads = newcomers(2)
    known = replace(heads, covariance=np.zeros_like(heads.covariance))
    after = learn(known, np.ones((3, 1)), [True, False, False])
    assert np.array_equal(after.weights, known.weights)
    assert after.n_answers.tolist() == [3]


@pytest.mark.parametrize("right", [True, False])
def test_thousands_of_equal_answers_stay_finite(right):
    heads = newcomers(3, constant=6.0, spread=3.0)
    after = learn(heads, np.tile([[7.0, -7.0]], (5_000, 1)), [right] * 5_000)
    assert np.isfinite(after.weights).all()
    assert np.linalg.eigvalsh(after.covariance[0]).min() > -1e-12
    proba = after.proba([[7.0, -7.0]])[0, 0]
    assert proba > 0.99 if right else proba < 0.01


@pytest.mark.parametrize(("middle", "right"), [(-900.0, True), (900.0, False)])
def test_an_answer_that_nobody_expected_moves_by_one_standard_deviation_squared(middle, right):
    """So far out the log-likelihood is linear with slope 1, and a normal distribution moves by its variance."""
    mean, variance = _moments(middle, 1.0, shift=0.0, right=right)
    assert mean == pytest.approx(middle + (1.0 if right else -1.0))
    assert variance == pytest.approx(1.0)
