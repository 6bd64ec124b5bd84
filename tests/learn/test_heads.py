"""One expert's head and all of them: against scikit-learn, scipy, quadrature, numerical derivatives, and themselves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from defero.core.codec import pack, unpack
from defero.core.errors import InputError
from defero.core.scores import sigmoid
from defero.learn.heads import FULL_FEATURES, ExpertLogLoss, Heads, fit_head, fit_heads, modes, root_of
from defero.learn.prior import HeadPrior, fit_prior


def plain_prior(d, *, mean=None, spread=1.0, mean_covariance=None):
    """d weights on features that are left as they are."""
    return HeadPrior(
        np.zeros(d - 1),
        np.ones(d - 1),
        np.zeros(d) if mean is None else np.asarray(mean, dtype=float),
        np.full(d, spread),
        np.zeros((d, d)) if mean_covariance is None else mean_covariance,
    )


def some_answers(seed, *, n=60, d=3):
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(n, d - 1))
    weights = rng.normal(size=d)
    return phi, rng.random(n) < sigmoid(weights[0] + phi @ weights[1:])


def mode(phi, correct, prior):
    design, m = prior.design(phi), len(phi)
    answers = ExpertLogLoss.of(
        design, np.arange(m), np.zeros(m, np.int64), np.asarray(correct), n_experts=1, weight=np.ones(m)
    )
    root = root_of(prior.covariance())
    return prior.mean + root @ modes(answers, prior.mean, root)[0]


def slow_loss(weights, phi, correct, prior):
    """The penalised log loss, written out."""
    total = 0.0
    for row, right in zip(phi, correct, strict=True):
        z = weights[0] + sum(w * x for w, x in zip(weights[1:], row, strict=True))
        total += np.logaddexp(0, -z if right else z)
    away = weights - prior.mean
    return total + away @ np.linalg.solve(prior.covariance(), away) / 2


def test_hand_computed_mode():
    """Three right of four, prior N(0, 1): the mode solves 4 sigmoid(w) - 3 + w = 0."""
    found = mode(np.empty((4, 0)), np.array([True, True, True, False]), plain_prior(1))
    assert 4 * sigmoid(found[0]) - 3 + found[0] == pytest.approx(0, abs=1e-12)
    assert found[0] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_mode_is_that_of_a_slow_twin(seed):
    phi, right = some_answers(seed)
    spread = np.array([[0.5, 0.1, 0.0], [0.1, 0.3, 0.0], [0.0, 0.0, 0.2]])
    prior = plain_prior(3, mean=[1.0, -0.5, 0.2], spread=0.3, mean_covariance=spread)
    slow = minimize(slow_loss, prior.mean, args=(phi, right, prior), tol=1e-12)
    np.testing.assert_allclose(mode(phi, right, prior), slow.x, atol=1e-5)


def test_without_a_prior_it_is_logistic_regression():
    phi, right = some_answers(5, n=400)
    oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(phi, right)
    found = mode(phi, right, plain_prior(3, spread=1e4))
    np.testing.assert_allclose(found, [oracle.intercept_[0], *oracle.coef_[0]], atol=1e-5)


def test_with_a_ridge_it_is_that_of_scikit_learn():
    phi, right = some_answers(6)
    design = np.column_stack([np.ones(60), phi])
    oracle = LogisticRegression(C=0.7**2, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(design, right)
    np.testing.assert_allclose(mode(phi, right, plain_prior(3, spread=0.7)), oracle.coef_[0], atol=1e-5)


def test_covariance_is_the_inverse_of_numerical_second_derivatives():
    phi, right = some_answers(7)
    prior = plain_prior(3, spread=0.8)
    at, step = mode(phi, right, prior), 1e-3
    second = np.empty((3, 3))
    for a in range(3):
        for b in range(3):
            e, f = step * np.eye(3)[a], step * np.eye(3)[b]
            corners = [slow_loss(at + s * e + t * f, phi, right, prior) * s * t for s in (-1, 1) for t in (-1, 1)]
            second[a, b] = sum(corners) / (4 * step**2)
    np.testing.assert_allclose(fit_head(phi, right, prior).covariance[0], np.linalg.inv(second), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_right", [12, 9, 3])
def test_weights_are_the_mean_of_the_posterior(n_right):
    """Against the integral on a fine grid: the mode is off by several times as much."""
    prior, right = plain_prior(1, mean=[1.0]), np.arange(12) < n_right
    grid = np.linspace(-8, 10, 20_001)
    log_post = -np.array([np.logaddexp(0, np.where(right, -w, w)).sum() for w in grid]) - (grid - 1) ** 2 / 2
    weight = np.exp(log_post - log_post.max())
    exact = (grid * weight).sum() / weight.sum()
    head = fit_head(np.empty((12, 0)), right, prior)
    assert abs(head.weights[0, 0] - exact) < 0.02
    assert abs(mode(np.empty((12, 0)), right, prior)[0] - exact) > 2 * abs(head.weights[0, 0] - exact)


def test_the_way_from_mode_to_mean_is_at_most_one_standard_deviation():
    """Nothing but a very wide prior holds somebody always right: a third order would leap."""
    prior, phi, right = plain_prior(1, spread=300.0), np.empty((3, 0)), np.ones(3)
    head = fit_head(phi, right, prior)
    assert 0 < head.weights[0, 0] - mode(phi, right, prior)[0] <= np.sqrt(head.covariance[0, 0, 0]) * (1 + 1e-9)


def test_no_room_no_difference():
    phi, right = some_answers(8)
    head = fit_head(phi, right, plain_prior(3, mean=[1.0, 2.0, 3.0], spread=0.0))
    assert head.weights.tolist() == [[1.0, 2.0, 3.0]]
    assert not head.covariance.any()


@given(st.floats(-8, 8), st.floats(0.0, 6.0))
def test_proba_is_the_mean_over_the_head(mean, spread):
    prior = plain_prior(1, mean=[mean], spread=spread)
    nodes, weights = np.polynomial.hermite_e.hermegauss(201)
    exact = (sigmoid(mean + spread * nodes) * weights).sum() / weights.sum()
    nobody = fit_head(np.empty((0, 0)), [], prior)
    assert nobody.proba(np.empty((1, 0)))[0, 0] == pytest.approx(exact, abs=0.02)
    assert abs(nobody.proba(np.empty((1, 0)))[0, 0] - 0.5) <= abs(sigmoid(np.array(mean)) - 0.5) + 1e-12


def test_an_unknown_expert_is_the_prior():
    prior = plain_prior(2, mean=[1.0, 0.5], spread=0.7, mean_covariance=np.array([[0.2, 0.1], [0.1, 0.3]]))
    head = fit_head(np.empty((0, 1)), [], prior)
    assert head.n_answers == 0
    np.testing.assert_allclose(head.weights[0], prior.mean)
    np.testing.assert_allclose(head.covariance[0], [[0.69, 0.1], [0.1, 0.79]], atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([2, 4]))
def test_logit_sd_is_the_plain_form(seed, n_experts, d):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n_experts, d, d))
    covariance = roots @ np.swapaxes(roots, 1, 2)
    heads = Heads(plain_prior(d), rng.normal(size=(n_experts, d)), covariance, np.zeros(n_experts, np.int64))
    phi = rng.normal(size=(5, d - 1))
    design = np.column_stack([np.ones(5), phi])
    slow = [[np.sqrt(row @ covariance[j] @ row) for j in range(n_experts)] for row in design]
    np.testing.assert_allclose(heads.logit_sd(phi), slow, rtol=1e-9, atol=1e-9)


def test_items_in_pieces(monkeypatch):
    heads, phi, *_ = a_crowd(0)
    whole = heads.logit_sd(phi)
    monkeypatch.setattr("defero.learn.heads._PRODUCTS_AT_ONCE", 40)
    np.testing.assert_allclose(heads.logit_sd(phi), whole, rtol=1e-12)


def a_crowd(seed, *, n=120, n_experts=6, d=3, m=400):
    rng = np.random.default_rng(seed)
    phi, item, expert = rng.normal(size=(n, d - 1)), rng.integers(n, size=m), rng.integers(n_experts, size=m)
    weights = rng.normal(size=(n_experts, d))
    right = rng.random(m) < sigmoid(weights[expert, 0] + (phi[item] * weights[expert, 1:]).sum(axis=1))
    return fit_heads(phi, item, expert, right, n_experts=n_experts), phi, item, expert, right


@pytest.mark.parametrize("seed", range(3))
def test_a_head_does_not_depend_on_who_else_is_fitted(seed):
    heads, phi, item, expert, right = a_crowd(seed)
    for j in range(6):
        alone = fit_head(phi[item[expert == j]], right[expert == j], heads.prior)
        np.testing.assert_allclose(alone.weights[0], heads.weights[j], atol=1e-9)
        np.testing.assert_allclose(alone.covariance[0], heads.covariance[j], atol=1e-9)
        assert alone.n_answers[0] == heads.n_answers[j]


def test_permuting_experts_permutes_their_heads():
    heads, phi, item, expert, right = a_crowd(1)
    order = np.array([3, 0, 5, 1, 4, 2])
    again = fit_heads(phi, item, np.argsort(order)[expert], right, n_experts=6)
    np.testing.assert_allclose(again.proba(phi), heads.take(order).proba(phi), atol=1e-6)
    np.testing.assert_allclose(again.proba(phi), heads.proba(phi)[:, order], atol=1e-6)


def test_permuting_answers_changes_nothing():
    heads, phi, item, expert, right = a_crowd(2)
    order = np.random.default_rng(0).permutation(len(item))
    again = fit_heads(phi, item[order], expert[order], right[order], n_experts=6)
    np.testing.assert_allclose(again.proba(phi), heads.proba(phi), atol=1e-6)


def test_scaling_a_feature_changes_nothing():
    heads, phi, item, expert, right = a_crowd(3)
    other = phi * [10.0, -0.01] + [5.0, 0.3]
    again = fit_heads(other, item, expert, right, n_experts=6)
    np.testing.assert_allclose(again.proba(other), heads.proba(phi), atol=1e-6)


def test_duplicates_of_an_expert_get_equal_heads():
    _, phi, item, expert, right = a_crowd(4)
    copy = expert == 2
    item, right = np.append(item, item[copy]), np.append(right, right[copy])
    heads = fit_heads(phi, item, np.append(expert, np.full(copy.sum(), 6)), right, n_experts=7)
    np.testing.assert_allclose(heads.weights[6], heads.weights[2], atol=1e-9)


def test_weights_count_as_answers():
    _, phi, item, expert, right = a_crowd(5, m=100)
    twice = fit_heads(phi, np.tile(item, 2), np.tile(expert, 2), np.tile(right, 2), n_experts=6)
    weighted = fit_heads(phi, item, expert, right, n_experts=6, weight=np.full(100, 2.0))
    np.testing.assert_allclose(weighted.weights, twice.weights, atol=1e-6)
    none = fit_heads(phi, item, expert, right, n_experts=6, prior=twice.prior, weight=np.zeros(100))
    np.testing.assert_allclose(none.weights, np.tile(twice.prior.mean, (6, 1)), atol=1e-9)


@pytest.mark.parametrize("n", [1, 50, 5_000])
@pytest.mark.parametrize("right", [True, False])
def test_an_expert_always_right_stays_finite(n, right):
    phi = np.random.default_rng(0).normal(size=(n, 2)) * 1e4
    heads = fit_heads(phi, np.arange(n), np.zeros(n, int), np.full(n, right), n_experts=2)
    assert np.isfinite(heads.weights).all()
    share = heads.proba(phi)[:, 0].mean() if right else 1 - heads.proba(phi)[:, 0].mean()
    assert 0.5 < share < 1
    assert (heads.proba(phi)[:, 1] > 0.5).all() == right  # the second has answered nothing
    assert np.abs(heads.proba(phi)[:, 1] - 0.5).max() < np.abs(heads.proba(phi)[:, 0] - 0.5).max()


def test_constant_and_extreme_features():
    phi = np.column_stack([np.full(40, 0.1), np.linspace(0, 1e12, 40), np.zeros(40)])
    heads = fit_heads(phi, np.arange(40), np.arange(40) % 2, np.arange(40) > 25, n_experts=2)
    assert np.isfinite(heads.log_odds(phi)).all()
    assert heads.proba(phi)[0, 0] < 0.3 < 0.7 < heads.proba(phi)[-1, 0]


def test_nobody_answered_anything():
    heads = fit_heads(np.zeros((3, 2)), [], [], [], n_experts=2)
    assert heads.proba(np.zeros((3, 2))).tolist() == [[0.5, 0.5]] * 3
    assert fit_heads(np.zeros((3, 2)), [], [], [], n_experts=0).proba(np.zeros((3, 2))).shape == (3, 0)


def test_adding_and_taking_leaves_the_others():
    heads, phi, *_ = a_crowd(6)
    more = heads.with_heads(fit_head(phi[:30], np.ones(30), heads.prior))
    assert more.n_experts == 7
    assert more.n_answers[-1] == 30
    np.testing.assert_array_equal(more.weights[:6], heads.weights)
    np.testing.assert_allclose(more.proba(phi)[:, :6], heads.proba(phi), rtol=1e-12)
    back = more.take(range(6))
    np.testing.assert_array_equal(back.covariance, heads.covariance)
    assert heads.take([]).proba(phi).shape == (120, 0)


@pytest.mark.parametrize("d", [1, 3, FULL_FEATURES + 1])
def test_arrays_come_back_bit_for_bit(d):
    rng = np.random.default_rng(d)
    phi, expert = rng.normal(size=(200, d - 1)), rng.integers(3, size=200)
    heads = fit_heads(phi, np.arange(200), expert, rng.random(200) < 0.7, n_experts=3)
    packed = pack(heads)
    again = unpack(Heads, replace(packed, arrays=load(save(packed.arrays))))
    for name in ("weights", "covariance", "n_answers"):
        np.testing.assert_array_equal(getattr(again, name), getattr(heads, name))
    for name, value in vars(heads.prior).items():
        np.testing.assert_array_equal(getattr(again.prior, name), value)
    np.testing.assert_array_equal(again.proba(phi), heads.proba(phi))


def test_with_many_features_the_variances_are_kept():
    rng = np.random.default_rng(0)
    d, prior = FULL_FEATURES + 1, plain_prior(FULL_FEATURES + 1)
    phi, right = rng.normal(size=(50, d - 1)), rng.random(50) < 0.7
    head = fit_head(phi, right, prior)
    design = prior.design(phi)
    p = sigmoid(design @ mode(phi, right, prior))
    full = np.linalg.inv(np.eye(d) + design.T @ ((p * (1 - p))[:, None] * design))
    np.testing.assert_allclose(head.covariance[0], np.diag(full), atol=1e-8)
    sd = head.logit_sd(phi)[:, 0]
    np.testing.assert_allclose(sd**2, design**2 @ np.diag(full), atol=1e-7)


def test_values_are_read_only():
    heads, *_ = a_crowd(0)
    with pytest.raises(ValueError, match="read-only"):
        heads.weights[0] = 0.0


GOOD = {"phi": np.zeros((3, 1)), "item_idx": [0, 2], "expert_idx": [0, 1], "correct": [True, False]}


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"phi": [[np.nan]] * 3}, "phi must be finite, got nan at row 0"),
        ({"item_idx": [0, 3]}, r"item_idx must lie in 0\.\.2, got 3 for item 1"),
        ({"item_idx": [0.5, 1.0]}, "item_idx must be whole numbers, got dtype float64"),
        ({"expert_idx": [0]}, "expert_idx must have 2 items .*, got 1"),
        ({"expert_idx": [-1, 0]}, r"expert_idx must lie in 0\.\.1, got -1 for item 0"),
        ({"correct": [0.2, 1.0]}, "correct must be True or False"),
        ({"correct": [True]}, r"correct must have 2 items .*, got 1"),
        ({"weight": [1.0]}, "weight must have 2 items"),
        ({"weight": [1.0, -1.0]}, "weight must be finite and not negative"),
        ({"groups": [0, 1]}, "groups must have 1 entries, one per column of phi"),
    ],
)
def test_bad_input(wrong, match):
    for fit in (fit_prior, fit_heads):
        with pytest.raises(InputError, match=match):
            fit(**{**GOOD, **wrong}, n_experts=2)


def test_bad_values():
    prior = plain_prior(2)
    with pytest.raises(InputError, match="phi must have the 1 columns that the prior was fitted on, got 3"):
        fit_head(np.zeros((1, 3)), [True], prior)
    with pytest.raises(InputError, match=r"spread must have shape \(2,\), got \(3,\)"):
        HeadPrior(prior.centre, prior.scale, prior.mean, np.ones(3), prior.mean_covariance)
    with pytest.raises(InputError, match="scale must be positive and spread not negative"):
        HeadPrior(prior.centre, prior.scale, prior.mean, -prior.spread, prior.mean_covariance)
    with pytest.raises(InputError, match=r"covariance must have shape \(0, 2, 2\)"):
        Heads(prior, np.empty((0, 2)), np.empty((0, 2)), np.empty(0, np.int64))
