"""What the answers say of the population: against exact marginal likelihoods, joint modes by scipy, and pooled fits."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import roots_hermitenorm
from sklearn.linear_model import LogisticRegression

from defero.core.scores import sigmoid
from defero.datasets import wedge
from defero.learn.heads import ExpertLogLoss, fit_head, fit_heads
from defero.learn.prior import MOST_SPREAD, USUAL_SPREAD, _settle, category_groups, fit_prior, scaling, usual_spread


def drawn(seed, *, mean, spread, n=1_000, n_experts=200, each=100):
    """Answers of a population that is known."""
    rng = np.random.default_rng(seed)
    mean, spread = np.array(mean), np.array(spread)
    phi = rng.normal(size=(n, len(mean) - 1))
    heads = mean + spread * rng.normal(size=(n_experts, len(mean)))
    item, expert = rng.integers(n, size=n_experts * each), np.repeat(np.arange(n_experts), each)
    right = rng.random(len(item)) < sigmoid(heads[expert, 0] + (phi[item] * heads[expert, 1:]).sum(axis=1))
    return phi, item, expert, right, heads


def test_a_known_population_is_found():
    phi, item, expert, right, heads = drawn(0, mean=[1.2, 0.5, 0.0], spread=[0.8, 0.5, 0.0])
    prior = fit_prior(phi, item, expert, right, n_experts=200)
    scale = np.array([1.0, *scaling(phi)[1]])
    np.testing.assert_allclose(prior.spread / scale, [0.8, 0.5, 0.0], atol=0.1)
    np.testing.assert_allclose(prior.mean[1:] / scale[1:], [0.5, 0.0], atol=0.12)
    far = np.abs(prior.mean - np.array([1.2, 0.5, 0.0])) / np.sqrt(np.diag(prior.mean_covariance))
    assert far.max() < 4
    fitted = fit_heads(phi, item, expert, right, n_experts=200)
    truth = sigmoid(np.column_stack([np.ones(1_000), phi]) @ heads.T)
    p = fitted.proba(phi)
    sure = np.abs(p - truth) < 1.96 * p * (1 - p) * fitted.logit_sd(phi)  # the delta method
    assert 0.92 < sure.mean() < 0.98  # what it claims of its own errors is so


def test_experts_who_do_not_differ_get_the_common_head():
    phi, item, expert, right, _ = drawn(1, mean=[1.0, 0.8], spread=[0.0, 0.0])
    heads = fit_heads(phi, item, expert, right, n_experts=200)
    assert heads.prior.spread.max() < 0.13
    pooled = LogisticRegression(C=np.inf).fit(phi[item], right)
    assert np.abs(heads.proba(phi) - pooled.predict_proba(phi)[:, 1:]).mean() < 0.01


def test_many_answers_speak_for_themselves():
    cases = wedge(10_000, random_state=0)
    item, expert = np.nonzero(np.ones((10_000, 4), dtype=bool))
    right = (cases.answers == cases.labels[:, None])[item, expert]
    heads = fit_heads(cases.features, item, expert, right, n_experts=4)
    fresh = wedge(2_000, random_state=1)
    assert np.abs(heads.proba(fresh.features) - fresh.expert_proba).mean() < 0.02
    for j in range(4):
        alone = LogisticRegression(C=100, max_iter=5_000).fit(cases.features, right[expert == j])
        gap = heads.proba(fresh.features)[:, j] - alone.predict_proba(fresh.features)[:, 1]
        assert np.abs(gap).mean() < 0.006


def test_spread_is_that_of_the_exact_marginal_likelihood():
    """Constants alone: each expert's answers integrate out by quadrature, and scipy finds the best mean and spread."""
    rng = np.random.default_rng(2)
    expert = np.repeat(np.arange(300), 30)
    right = rng.random(9_000) < sigmoid(1.0 + 0.7 * rng.normal(size=300))[expert]
    good = np.bincount(expert, right)
    nodes, weights = roots_hermitenorm(61)

    def unlikely(at):
        z = at[0] + np.exp(at[1]) * nodes
        each = good[:, None] * -np.logaddexp(0, -z) + (30 - good)[:, None] * -np.logaddexp(0, z)
        return -np.log(np.exp(each) @ weights).sum()

    best = minimize(unlikely, [0.5, -1.0], method="Nelder-Mead").x
    prior = fit_prior(np.zeros((9_000, 0)), np.arange(9_000), expert, right, n_experts=300)
    assert prior.mean[0] == pytest.approx(best[0], abs=0.004)
    assert prior.spread[0] == pytest.approx(np.exp(best[1]), rel=0.02)


def test_a_slow_twin_finds_nothing_better():
    """Effects are the mode given the mean, the mean maximises Laplace's evidence, the covariances are those there."""
    phi, item, expert, right, _ = drawn(3, mean=[1.0, 0.5], spread=[0.7, 0.4], n=50, n_experts=4, each=25)
    design = np.column_stack([np.ones(50), phi])
    answers = ExpertLogLoss.of(design, item, expert, right, n_experts=4, weight=np.ones(100))
    fit = _settle(answers, np.arange(2), np.array([USUAL_SPREAD**2, 0.25]))
    spread = np.sqrt(fit.spread2)

    def slow(at):
        mean, away = at[:2], at[2:].reshape(4, 2)
        z = ((mean + spread * away)[expert] * design[item]).sum(axis=1)
        penalty = (away**2).sum() + (mean**2 / fit.room2).sum()
        return np.logaddexp(0, np.where(right, -z, z)).sum() + penalty / 2

    def unlikely(mean):
        away = minimize(lambda v: slow(np.append(mean, v)), fit.away.ravel(), tol=1e-9).x.reshape(4, 2)
        p = sigmoid(((mean + spread * away)[expert] * design[item]).sum(axis=1))
        bend = [
            np.eye(2) + spread[:, None] * (design[item[own]].T * (p * (1 - p))[own]) @ design[item[own]] * spread
            for own in (expert == j for j in range(4))
        ]
        return slow(np.append(mean, away)) + np.linalg.slogdet(bend)[1].sum() / 2

    best = minimize(unlikely, fit.mean + 0.2, method="Nelder-Mead").x
    np.testing.assert_allclose(fit.mean, best, atol=3e-3)
    away = minimize(lambda v: slow(np.append(fit.mean, v)), np.zeros(8), tol=1e-9).x
    np.testing.assert_allclose(fit.away.ravel(), away, atol=3e-3)
    here, steps = np.append(fit.mean, fit.away), 1e-3 * np.eye(10)
    second = [
        [(slow(here + a + b) - slow(here + a - b) - slow(here - a + b) + slow(here - a - b)) / 4e-6 for a in steps]
        for b in steps
    ]
    inverse = np.linalg.inv(second)
    np.testing.assert_allclose(fit.mean_covariance, inverse[:2, :2], rtol=0.01, atol=1e-3)
    np.testing.assert_allclose(fit.away_variance.ravel(), np.diag(inverse)[2:], rtol=0.01)


def test_one_expert_says_nothing_of_how_experts_differ():
    phi, item, expert, right, _ = drawn(4, mean=[2.0, 1.0], spread=[0.0, 0.0], n_experts=1, each=1_000)
    heads = fit_heads(phi, item, expert, right, n_experts=2)
    np.testing.assert_allclose(heads.prior.spread, [USUAL_SPREAD, *usual_spread(np.zeros(1, int))], rtol=0.1)
    known, unknown = heads.logit_sd(phi).mean(axis=0)
    assert unknown > 4 * known


def test_the_spread_of_people_always_right_or_always_wrong_is_bounded():
    item, expert = np.arange(2_000), np.repeat(np.arange(4), 500)
    prior = fit_prior(np.zeros((2_000, 0)), item, expert, expert % 2 == 0, n_experts=4)
    assert prior.spread[0] == MOST_SPREAD
    alone = fit_prior(np.zeros((500, 0)), item[:500], np.zeros(500, int), np.ones(500), n_experts=1)
    assert alone.spread[0] <= MOST_SPREAD


def test_useless_features_are_drawn_to_nothing():
    rng = np.random.default_rng(7)
    phi, right, expert = rng.normal(size=(300, 40)), rng.random(300) < 0.7, rng.integers(10, size=300)
    prior = fit_prior(phi, np.arange(300), expert, right, n_experts=10, groups=np.zeros(40, int))
    free = LogisticRegression(C=np.inf, max_iter=1_000).fit((phi - prior.centre) / prior.scale, right).coef_[0]
    assert np.linalg.norm(prior.mean[1:]) < 0.5 * np.linalg.norm(free)


def test_columns_of_a_category_share_their_spread():
    rng = np.random.default_rng(5)
    kind = rng.integers(3, size=600)
    phi = np.column_stack([rng.normal(size=600), np.eye(3)[kind], rng.normal(size=600)])
    item, expert = np.tile(np.arange(600), 8), np.repeat(np.arange(8), 600)
    right = rng.random(4_800) < np.where(kind[item] == expert % 2, 0.9, 0.3)  # nobody is good at kind 2
    raw = fit_prior(phi, item, expert, right, n_experts=8).spread
    assert len(set(raw[2:5].tolist())) == 1
    assert raw[2] > 2 * max(raw[1], raw[5])
    own = fit_prior(phi, item, expert, right, n_experts=8, groups=range(5)).spread
    assert own[4] < own[2:4].min()


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (np.empty((2, 0)), []),
        (np.empty((0, 2)), [0, 1]),
        ([[1, 0, 0, 1], [0, 1, 1, 0]], [0, 0, 1, 1]),
        ([[1, 0, 1], [0, 0, 1], [0, 1, 0]], [0, 1, 1]),  # the first is no part of a category
        ([[1, 1], [0, 1]], [0, 1]),  # a column of ones is its own
        ([[0, 0], [0, 0]], [0, 1]),
        ([[1, 0], [0, 0]], [0, 1]),  # the second row is of no category
        ([[1, 1, 0], [1, 0, 1]], [0, 1, 1]),
        ([[0.5, 0.5], [0.2, 0.8]], [0, 1]),
    ],
)
def test_category_groups(columns, expected):
    assert category_groups(np.array(columns, dtype=float)).tolist() == expected


def test_hundreds_of_experts_with_few_answers():
    """10,000 items, 800 experts, 5 answers each item; how long it takes is in benchmarks/few_answers.py."""
    phi, item, expert, right, _ = drawn(
        6, mean=[1.0, *[0.2] * 8], spread=[0.7, *[0.2] * 8], n=10_000, n_experts=800, each=62
    )
    heads = fit_heads(phi, item, expert, right, n_experts=1_000)  # 200 have said nothing yet
    more = heads.with_heads(fit_head(phi[:50], right[:50], heads.prior))
    assert more.n_experts == 1_001


def test_memory_grows_with_the_answers():
    """Of 50,000 items and 500 experts an (n, J) array of numbers would take 200 MB."""
    phi, item, expert, right, _ = drawn(8, mean=[1.0, 0.2], spread=[0.7, 0.2], n=50_000, n_experts=50, each=40)
    tracemalloc.start()
    fit_heads(phi, item, expert * 10, right, n_experts=500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6
