"""The parts of shared errors: what items explain, what pools explain, and bounds on what chance explains."""

from itertools import product

import numpy as np
import pytest
from pools_of_experts import pool
from scipy.optimize import minimize

from defero.judge.shared_chance import (
    MOST,
    SPREAD,
    SharedResiduals,
    chance_together,
    common_correlation,
    explained_chance,
)

EVERYBODY = np.ones((6, 6), dtype=bool)


def random_products(seed, n_experts=6):
    rng = np.random.default_rng(seed)
    observed = rng.random((80, n_experts)) < 0.7
    chance = np.where(observed, rng.uniform(0.1, 0.6, observed.shape), 0)
    residual = np.where(observed, (rng.random(observed.shape) < chance + 0.05) - chance, 0)
    return SharedResiduals.of(residual, chance * (1 - chance), observed), residual, chance * (1 - chance), observed


def test_products_are_sums_over_shared_items():
    products, residual, variance, observed = random_products(0)
    for a, b in product(range(6), repeat=2):
        both = [i for i in range(80) if observed[i, a] and observed[i, b] and a != b]
        assert products.total[a, b] == pytest.approx(sum(residual[i, a] * residual[i, b] for i in both))
        norm = np.sqrt(sum(variance[i, a] for i in both) * sum(variance[i, b] for i in both))
        assert products.norm[a, b] == pytest.approx(norm)
        assert products.variance[a, b] == pytest.approx(sum(variance[i, a] * variance[i, b] for i in both))


def slow_common(products, typical, a, b):
    others = [c for c in range(len(typical)) if c not in (a, b)]

    def mean(cells, of="total"):
        kept = [cell for cell in cells if typical[cell]]
        return sum(getattr(products, of)[cell] for cell in kept), sum(products.norm[cell] for cell in kept)

    top, bottom = mean([(c, d) for c in others for d in others if c < d])
    pool_mean = top / bottom
    level = max(pool_mean, 0)
    found = []
    for one in (a, b):
        top, bottom = mean([(one, c) for c in others])
        noise = mean([(one, c) for c in others], "variance")[0] / bottom**2
        prior = (level / 2 + 0.02) ** 2
        drawn = pool_mean + (top / bottom - pool_mean) * prior / (prior + noise)
        found.append((max(drawn, 0), max(drawn + np.sqrt(prior * noise / (prior + noise)), 0)))
    (low_a, high_a), (low_b, high_b) = found
    return [min(x * y / max(level, 0.02), MOST) for x, y in ((low_a, low_b), (high_a, high_b))]


@pytest.mark.parametrize("seed", range(5))
def test_common_correlation_is_that_of_a_loop(seed):
    products = random_products(seed)[0]
    typical = EVERYBODY.copy()
    typical[1, 4] = typical[4, 1] = False
    common = common_correlation(products, typical)
    for a, b in product(range(6), repeat=2):
        if a != b:
            assert [common.value[a, b], common.most[a, b]] == pytest.approx(slow_common(products, typical, a, b))


def test_one_factor_with_equal_loads_is_found_exactly():
    norm = 1e6 * (1 - np.eye(6))
    products = SharedResiduals(0.3 * norm, norm, norm)
    common = common_correlation(products, EVERYBODY)
    off = ~np.eye(6, dtype=bool)
    assert common.value[off] == pytest.approx(0.3, abs=1e-6)
    assert common.most[off] == pytest.approx(0.3, abs=2e-3)


def test_loads_of_one_factor_are_found_to_a_tenth():
    loads = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    norm = 1e6 * (1 - np.eye(6))
    found = common_correlation(SharedResiduals(np.outer(loads, loads) * norm, norm, norm), EVERYBODY).value
    off = ~np.eye(6, dtype=bool)
    assert np.abs(found - np.outer(loads, loads))[off].max() < 0.1


def test_a_pair_says_nothing_about_itself():
    products = random_products(3)[0]
    total = products.total.copy()
    total[0, 1] = total[1, 0] = 1e9
    changed = common_correlation(SharedResiduals(total, products.norm, products.variance), EVERYBODY)
    before = common_correlation(products, EVERYBODY)
    assert changed.value[0, 1] == pytest.approx(before.value[0, 1])
    assert changed.most[0, 1] == pytest.approx(before.most[0, 1])


@pytest.mark.parametrize("n_experts", [2, 3])
def test_among_few_all_may_be_difficulty_up_to_a_half(n_experts):
    norm = 10 * (1 - np.eye(n_experts))
    for seen, passes in ((0.3, 0.3), (0.9, MOST), (-0.2, 0.0)):
        found = common_correlation(SharedResiduals(seen * norm, norm, norm), np.ones(norm.shape, dtype=bool))
        assert found.value[0, 1] == found.most[0, 1] == pytest.approx(passes)


def test_what_the_item_explains_is_the_likeliest_correction():
    answers, labels, stated = pool(1, n=300, n_experts=2, seen=1.0, miscalibrated=0.7, by_class=1.0, answered=0.7)
    observed, correct = answers >= 0, answers == labels[:, None]
    found = explained_chance(correct, observed, labels, stated, n_classes=3)
    assert (found[~observed] == 0).all()
    for j in range(2):
        rows = np.flatnonzero(observed[:, j])
        right = correct[rows, j]
        odds = np.log(stated[rows, j] / (1 - stated[rows, j])).clip(np.log(0.001 / 0.999), np.log(0.999 / 0.001))

        def loss(move, right=right, odds=odds):
            moved = move[0] + (1 + move[1]) * odds
            return (
                np.logaddexp(0, np.where(right, -moved, moved)).sum() + ((move / np.array(SPREAD[:2])) ** 2 / 2).sum()
            )

        shift, tilt = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).x
        odds = shift + (1 + tilt) * odds
        for k in range(3):
            here = labels[rows] == k

            def in_class(move, right=right[here], odds=odds[here]):
                moved = move[0] + odds
                return np.logaddexp(0, np.where(right, -moved, moved)).sum() + (move[0] / SPREAD[2]) ** 2 / 2

            by = minimize(in_class, [0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).x[0]
            assert found[rows[here], j] == pytest.approx(1 / (1 + np.exp(odds[here] + by)), abs=1e-5)


def test_with_many_answers_each_class_has_its_own_share_of_errors():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=40_000)
    correct = (rng.random(40_000) < np.where(labels == 0, 0.9, 0.3))[:, None]
    found = explained_chance(correct, np.ones_like(correct), labels, np.full(correct.shape, 0.5), n_classes=2)
    for k in range(2):
        assert found[labels == k] == pytest.approx(1 - correct[labels == k].mean(), abs=1e-3)


@pytest.mark.parametrize("sure", [0.0, 1.0, 1e-300, 1 - 1e-16])
def test_stated_certainties_that_fail_stay_finite(sure):
    correct = np.arange(60).reshape(30, 2) % 3 == 0
    found = explained_chance(correct, np.ones_like(correct), np.zeros(30, int), np.full((30, 2), sure), n_classes=1)
    assert np.isfinite(found).all()
    # The priors hold back a little from 2 / 3.
    assert found.mean() == pytest.approx(2 / 3, abs=0.05)


def exact_tail(first, second, seen, lift):
    """Return P(sum of e_a e_b >= seen) by going through everything that can happen."""
    tail = 0.0
    for wrongs in product([(0, 0), (0, 1), (1, 0), (1, 1)], repeat=len(first)):
        chance, total = 1.0, 0.0
        for (x, y), a, b, extra in zip(wrongs, first, second, lift, strict=True):
            both = a * b + extra
            chance *= {(1, 1): both, (1, 0): a - both, (0, 1): b - both, (0, 0): 1 - a - b + both}[x, y]
            total += (x - a) * (y - b)
        tail += chance * (total >= seen - 1e-12)
    return tail


@pytest.mark.parametrize("common", [0.0, 0.3])
def test_the_bound_is_above_the_exact_chance_whatever_happens(common):
    first, second = np.array([0.3, 0.5, 0.2, 0.4]), np.array([0.4, 0.4, 0.3, 0.2])
    spread = np.sqrt(first * (1 - first) * second * (1 - second))
    asked = common * np.sqrt((first * (1 - first)).sum() * (second * (1 - second)).sum())
    bounds = []
    for wrongs in product([False, True], repeat=8):
        wrong = np.array(wrongs).reshape(4, 2)
        seen = ((wrong[:, 0] - first) * (wrong[:, 1] - second)).sum()
        exact = exact_tail(first, second, seen, spread * asked / spread.sum())
        bound = chance_together(first, second, wrong, common=common)
        assert exact <= bound + 1e-12
        bounds.append(bound)
    assert max(bounds) == 1.0
    assert min(bounds) < 0.02


def test_copies_by_coin_flips_are_as_unlikely_as_the_flips():
    half = np.full(12, 0.5)
    flips = np.arange(12) % 2 == 0
    assert chance_together(half, half, np.stack([flips, flips], axis=1), common=0.0) == pytest.approx(2.0**-12)
    assert chance_together(half, half, np.stack([flips, ~flips], axis=1), common=0.0) == 1.0


def test_the_more_the_pool_explains_the_less_is_left():
    answers, labels, _ = pool(0, n_experts=2, copy=0.5)
    wrong = answers != labels[:, None]
    chance = np.full(500, 0.25)
    bounds = [chance_together(chance, chance, wrong, common=common) for common in (0.0, 0.1, 0.2, 0.4)]
    assert bounds == sorted(bounds)
    assert bounds[0] < 1e-6 < bounds[-1]
