"""Slopes and intercepts of the experts: the identity, a slow twin, who has few answers, and the edges."""

import numpy as np
import pytest
from calibration_problems import draw_experts, raw_scores, sigmoid
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from defero.calibration.maps import log_odds
from defero.calibration.platt import POOLED_SPREAD, Columns, PlattMaps, fit_platt
from defero.core.errors import InputError

LINKS = ["logit", "log"]


def everyone(correct):
    return np.ones(correct.shape, dtype=bool)


def slow_fit(u, correct, *, centre, spread):
    """The penalised objective of one column as written, by scipy: (slope, intercept)."""

    def objective(theta):
        log_a, b = theta
        loss = sum(np.logaddexp(0, -(2 * y - 1) * (np.exp(log_a) * x + b)) for x, y in zip(u, correct, strict=True))
        return loss + ((log_a - np.log(centre[0])) ** 2 + (b - centre[1]) ** 2) / (2 * spread**2)

    start = (np.log(centre[0]), centre[1])
    found = minimize(objective, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})
    return np.exp(found.x[0]), found.x[1]


@pytest.mark.parametrize("link", LINKS)
def test_honest_scores_keep_their_meaning(link):
    logits, correct = draw_experts(50_000, n_experts=4)
    raw = raw_scores(logits, link)
    maps = fit_platt(raw, correct, everyone(correct), link=link)
    np.testing.assert_allclose(maps.slope, 1, atol=0.06)
    np.testing.assert_allclose(maps.shift, 0, atol=0.03)
    assert np.abs(sigmoid(maps.logits(raw)) - sigmoid(logits)).max() < 0.02


def test_a_factor_is_undone_by_the_shift():
    """Estimates 1.5 and 2.5 times too large: the same maps, moved by the logarithm of the factor."""
    logits, correct = draw_experts(2_000, n_experts=5)
    raw = raw_scores(logits, "log")
    for factor in (1.5, 2.5):
        maps = fit_platt(raw + np.log(factor), correct, everyone(correct), link="log")
        assert maps.shift == pytest.approx(np.log(factor), abs=0.06)
        assert np.abs(sigmoid(maps.logits(raw + np.log(factor))) - sigmoid(logits)).mean() < 0.015


def test_the_answers_choose_how_much_experts_may_differ():
    logits, correct = draw_experts(400, n_experts=10)
    alike = fit_platt(2 * logits, correct, everyone(correct), link="logit")
    apart = fit_platt(2 * logits + np.linspace(-4, 4, 10), correct, everyone(correct), link="logit")
    assert alike.spread <= 0.1
    assert apart.spread >= 0.8


def test_the_evidence_against_a_sum_over_a_grid():
    """Laplace's log marginal likelihood beside the integral over (log a, b), for one column."""
    logits, correct = draw_experts(60, n_experts=1)
    for spread in (0.1, 0.4):
        columns = Columns.of(logits, correct, everyone(correct), centre=np.zeros(2), spread=spread)
        axis = np.linspace(-6, 6, 241) * spread
        log_a, b = (grid.ravel() for grid in np.meshgrid(axis, axis))
        wide = Columns.of(
            np.repeat(logits, len(b), 1),
            np.repeat(correct, len(b), 1),
            np.ones((60, len(b)), bool),
            centre=np.zeros(2),
            spread=spread,
        )
        density = np.exp(-wide.loss(np.stack([log_a, b], axis=1))) / (2 * np.pi * spread**2)
        exact = np.log(density.sum() * (axis[1] - axis[0]) ** 2)
        assert columns.evidence(columns.minimum()) == pytest.approx(exact, abs=0.05)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n", [3, 60])
def test_scipy_finds_the_same(link, n):
    logits, correct = draw_experts(n, n_experts=3, seed=5)
    observed = np.random.default_rng(6).random(correct.shape) < 0.7
    raw = raw_scores(2.5 * logits, link)
    maps = fit_platt(raw, correct, observed, link=link)
    u = log_odds(raw - maps.shift, link)
    pooled = slow_fit(u[observed], correct[observed], centre=(1.0, 0.0), spread=POOLED_SPREAD)
    np.testing.assert_allclose(maps.pooled, pooled, rtol=0, atol=1e-6)
    for j in range(3):
        seen = observed[:, j]
        one = slow_fit(u[seen, j], correct[seen, j], centre=maps.pooled, spread=maps.spread)
        np.testing.assert_allclose((maps.slope[j], maps.intercept[j]), one, rtol=0, atol=1e-6)


@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(0.1, 10), st.sampled_from(LINKS))
def test_the_gradient_vanishes(seed, n, boast, link):
    """At the minimum sum (p - y) a u = -(log a_j - log a) / tau^2, and the same of b."""
    logits, correct = draw_experts(n, n_experts=3, seed=seed)
    raw = raw_scores(boast * logits, link)
    maps = fit_platt(raw, correct, everyone(correct), link=link)
    gap = 1 / (1 + np.exp(-maps.logits(raw))) - correct
    pull_a = (np.log(maps.slope) - np.log(maps.pooled[0])) / maps.spread**2
    pull_b = (np.array(maps.intercept) - maps.pooled[1]) / maps.spread**2
    np.testing.assert_allclose((gap * log_odds(raw - maps.shift, link)).sum(0) * maps.slope + pull_a, 0, atol=1e-6)
    np.testing.assert_allclose(gap.sum(0) + pull_b, 0, atol=1e-6)


def test_an_expert_without_answers_gets_the_pooled_fit():
    logits, correct = draw_experts(300, n_experts=3)
    observed = everyone(correct)
    observed[:, 1] = False
    maps = fit_platt(2 * logits, correct, observed, link="logit")
    assert (maps.slope[1], maps.intercept[1]) == maps.pooled
    assert (maps.slope[0], maps.intercept[0]) != maps.pooled


def test_what_was_not_observed_does_not_count():
    logits, correct = draw_experts(200, n_experts=3)
    observed = np.random.default_rng(1).random(correct.shape) < 0.5
    other_logits = np.where(observed, logits, -99.0)
    plain = fit_platt(logits, correct, observed, link="logit")
    np.testing.assert_allclose(
        fit_platt(other_logits, correct & observed, observed, link="logit").slope, plain.slope, rtol=1e-8
    )


def test_no_answers_at_all_is_the_identity():
    maps = fit_platt(np.ones((5, 2)), np.zeros((5, 2), bool), np.zeros((5, 2), bool), link="logit")
    assert maps == PlattMaps("logit", (1.0, 1.0), (0.0, 0.0), (1.0, 0.0))
    assert fit_platt(np.ones((5, 0)), np.ones((5, 0), bool), np.ones((5, 0), bool), link="log").n_experts == 0


def test_more_answers_leave_the_pooled_fit_behind():
    """One expert is worse than claimed, their own intercept about -1; the others are honest. Means of five runs."""
    distances = []
    for n in (3, 30, 300, 2000):
        found = []
        for seed in range(5):
            logits, correct = draw_experts(2000, n_experts=5, seed=seed)
            observed = everyone(correct)
            observed[n:, 0] = False
            logits[:, 0] += 1
            found.append(fit_platt(logits, correct, observed, link="logit").intercept[0])
        distances.append(abs(np.mean(found) + 1))
    assert distances == sorted(distances, reverse=True)
    assert distances[0] > 0.6 > 0.1 > distances[-1]


@pytest.mark.parametrize("link", LINKS)
@settings(max_examples=25)
@given(order=st.permutations(range(4)), seed=st.integers(0, 1000))
def test_permuting_experts_permutes_the_maps(link, order, seed):
    logits, correct = draw_experts(40, n_experts=4, seed=seed)
    raw = raw_scores(2 * logits, link)
    plain = fit_platt(raw, correct, everyone(correct), link=link)
    permuted = fit_platt(raw[:, order], correct[:, order], everyone(correct), link=link)
    np.testing.assert_allclose(permuted.slope, np.array(plain.slope)[order], rtol=1e-7)
    np.testing.assert_allclose(permuted.intercept, np.array(plain.intercept)[order], rtol=0, atol=1e-7)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("size", [0.0, 1.0, 1e4])
def test_all_right_and_all_wrong_stay_finite(link, right, size):
    raw = size * np.random.default_rng(0).choice([-1.0, 1.0], (500, 3))
    correct = np.full(raw.shape, right)
    maps = fit_platt(raw, correct, everyone(correct), link=link)
    logits = maps.logits(raw)
    assert np.isfinite(logits).all()
    assert min(maps.slope) > 0
    assert ((logits > 0) == right).mean() > 0.9


@pytest.mark.parametrize("link", LINKS)
def test_a_few_absurd_scores_do_not_carry_the_fit_away(link):
    logits, correct = draw_experts(500, n_experts=3)
    logits[:3] = np.where(correct[:3], -1e4, 1e4)
    maps = fit_platt(raw_scores(logits, link), correct, everyone(correct), link=link)
    assert min(maps.slope) > 0.3


def test_scores_that_rank_backwards_are_flattened_not_turned():
    logits, correct = draw_experts(2000, n_experts=2)
    maps = fit_platt(-logits, correct, everyone(correct), link="logit")
    assert 0 < max(maps.slope) < 0.1


@pytest.mark.parametrize(
    ("link", "slope", "intercept", "words"),
    [
        ("logit", (1.0,), (), "slope, intercept and pooled must be J, J and 2 finite numbers"),
        ("logit", (np.nan,), (0.0,), "slope, intercept and pooled must be J, J and 2 finite numbers"),
        ("logit", (-1.0,), (0.0,), r"slope must be positive for each expert, got \[-1.0\]"),
        ("weight", (1.0,), (0.0,), "a mixture of experts' weights are no probabilities and cannot be calibrated"),
        ("odds", (1.0,), (0.0,), "link must be 'logit' or 'log', got 'odds'"),
    ],
)
def test_maps_are_checked_when_built(link, slope, intercept, words):
    with pytest.raises(InputError, match=words):
        PlattMaps(link, slope, intercept, (1.0, 0.0))


def test_the_order_of_a_table_does_not_choose_whose_answers_set_the_shift():
    """Rows handed out in turn to five experts, the softmax estimate too large for all but the first."""
    logits, correct = draw_experts(25_000, n_experts=5)
    raw = raw_scores(logits, "log") + np.log(1.5) * (np.arange(5) > 0)
    observed = np.arange(25_000)[:, None] % 5 == np.arange(5)
    order = np.random.default_rng(1).permutation(25_000)
    in_turn = fit_platt(raw, correct, observed, link="log")
    shuffled = fit_platt(raw[order], correct[order], observed[order], link="log")
    assert in_turn.shift == pytest.approx(shuffled.shift, abs=0.06)
    assert in_turn.shift > 0.2
