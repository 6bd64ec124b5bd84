"""The parts of the check against slow twins, exact enumeration and scipy."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from defero.answering import chances
from defero.answering.chances import _PENALTIES, LeftOver, _smoothed, expert_chances, label_left_over
from defero.answering.inputs import basis, directions, standardised, who_answered
from defero.answering.learned import _products, learned_columns


def test_sums_equal_a_loop():
    rng = np.random.default_rng(0)
    observed = rng.random((30, 5)) < 0.4
    label, values = rng.integers(3, size=30), rng.normal(size=(30, 2))
    who = who_answered(*np.nonzero(observed), label, n_classes=3, n_experts=5)
    np.testing.assert_allclose(who.sums(values), observed.T @ values, atol=1e-12)
    assert who.by_class.tolist() == [[int((observed[:, j] & (label == k)).sum()) for k in range(3)] for j in range(5)]
    assert who.per_item.tolist() == observed.sum(axis=1).tolist()


def test_smoothing_twice_equals_matrices():
    rng = np.random.default_rng(1)
    columns = standardised(rng.normal(size=(80, 6)))
    target = (rng.random((80, 1)) < 1 / (1 + np.exp(-2 * columns[:, :1]))).astype(float)
    target -= target.mean(axis=0)
    best, least = None, np.inf
    for penalty in _PENALTIES[:-1]:
        smoother = columns @ np.linalg.inv(columns.T @ columns + 80 * penalty * np.eye(6)) @ columns.T
        fitted = 2 * smoother @ target - smoother @ smoother @ target
        freedom = 1 - (1 + np.trace(2 * smoother - smoother @ smoother)) / 80
        score = ((target - fitted) ** 2).mean() / freedom**2
        if score < least:
            best, least = fitted, score
    np.testing.assert_allclose(_smoothed(columns, target), best, atol=1e-9)


@given(st.integers(0, 10_000), st.integers(2, 15))
def test_what_is_left_has_mean_0_and_known_labels_leave_nothing(seed, n_classes):
    rng = np.random.default_rng(seed)
    label = rng.integers(n_classes, size=200)
    left = label_left_over(label, rng.normal(size=(200, 3)))
    np.testing.assert_allclose(left.residual.mean(axis=0), 0, atol=1e-9)
    assert (left.variance > 0).all()
    assert len(left.classes) == (1 if n_classes == 2 else min(12, len(np.unique(label))))
    known = label_left_over(label, np.eye(n_classes)[label])
    assert np.abs(known.residual).max() < 0.01


def test_a_curved_dependence_is_foretold():
    x = np.random.default_rng(0).uniform(-1, 1, size=(4_000, 1))
    label = (np.abs(x[:, 0]) > 0.5).astype(int)
    left = label_left_over(label, x)
    assert (left.residual**2).mean() < 0.05  # 0.25 without the feature


def test_bennett_is_above_the_exact_chance_and_not_by_much():
    label = np.repeat([0, 1], [700, 300])
    left = label_left_over(label, np.empty((1_000, 0)))
    for collect_answers, of_class in [(5, 5), (40, 25), (40, 3), (200, 90), (200, 30), (12, 0)]:
        item = np.concatenate([np.arange(700, 700 + of_class), np.arange(collect_answers - of_class)])
        who = who_answered(item, np.zeros(len(item), int), label, n_classes=2, n_experts=1)
        law = hypergeom(1_000, 300, collect_answers)
        expected = 0.3 * collect_answers
        exact = law.sf(of_class - 1) if of_class > expected else law.cdf(of_class)
        bound = expert_chances(who, left)[0, 0]
        assert exact <= bound
        assert bound <= 1 or bound < 100 * exact
        assert bound < 60 * exact**0.8


def test_bennett_by_hand():
    residual = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    left = LeftOver(np.array([1]), residual, np.full((4, 1), 0.25), np.zeros((4, 1)))
    who = who_answered([0, 1], [0, 0], [1, 1, 0, 0], n_classes=2, n_experts=1)
    # s = 1, v = 4 * 0.25 * 0.25 = 0.25, u = 4: 2 exp(-0.25 (5 log 5 - 4))
    np.testing.assert_allclose(expert_chances(who, left), [[min(1.0, 2 * np.exp(-0.25 * (5 * np.log(5) - 4)))]])
    # Trees explain 2 of it: nothing is left of s = 1 - 2 / 2.
    learned = replace(left, by_trees=2 * residual)
    assert expert_chances(who, learned).tolist() == [[1.0]]


def test_products_that_say_something_are_picked_and_no_others():
    rng = np.random.default_rng(4)
    sign = rng.choice([-1.0, 1.0], size=(800, 7))
    noise = rng.normal(size=(800, 2))
    strong = np.column_stack([sign[:, [1, 4, 6]].prod(axis=1), sign[:, [0, 2]].prod(axis=1)]) + noise
    chosen = {tuple(sorted(members.tolist())) for members in _products(sign, standardised(strong))}
    assert chosen == {(1, 4, 6), (0, 2)}
    assert _products(sign, standardised(noise)) == []
    assert len(_products(sign[:, :2], standardised(strong))) <= 1


def test_learned_columns_are_made_of_other_items():
    """A pure-noise label is not predicted, whatever the trees fit; a ring is."""
    rng = np.random.default_rng(5)
    x, items = rng.normal(size=(600, 20)), np.arange(600)
    for label, low, high in ((rng.integers(2, size=600), -0.15, 0.15), ((x[:, :2] ** 2).sum(axis=1) > 1.4, 0.6, 1.0)):
        who = who_answered(items[:300], items[:300] * 0, label.astype(int), n_classes=2, n_experts=1)
        first = learned_columns(who, x, rng=rng)[:, 0]
        assert low <= abs(np.corrcoef(first, label)[0, 1]) <= high
    same = who_answered(items, items * 0, items * 0, n_classes=2, n_experts=1)
    assert learned_columns(same, x, rng=rng).shape == (600, 0)
    few = who_answered([0], [0], [0, 1], n_classes=2, n_experts=1)
    assert learned_columns(few, x[:2], rng=rng).shape == (2, 0)


@pytest.fixture
def many_shuffles(monkeypatch):
    monkeypatch.setattr(chances, "N_SHUFFLES", 4_000)
    monkeypatch.setattr(chances, "ENOUGH", 10**9)


def test_shuffling_the_pool_equals_all_permutations(many_shuffles):
    per_item = np.array([3, 0, 2, 2, 1, 0])
    values = np.array([0.7, -0.3, 0.7, -0.3, -0.5, -0.3])[:, None]

    def distance(order):
        a = (per_item - per_item.mean())[list(order)]
        return (a @ values).item() ** 2 / (a**2 @ values**2).item()

    every = np.array([distance(order) for order in permutations(range(6))])
    exact = (every >= every[0] * (1 - 1e-9)).mean()
    found = chances.pool_chance(per_item, values, rng=np.random.default_rng(0))
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4_000))


def test_shuffling_from_expert_to_expert_equals_all_permutations(many_shuffles):
    observed = np.array([[1, 1, 1, 1, 0, 1], [0, 0, 1, 0, 1, 0], [1, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0]], dtype=bool).T
    values = np.array([-0.1, 0.0, 0.7, 0.1, -0.5, -0.2])[:, None]

    def statistic(order):
        z = values[list(order), 0]
        told = [observed[:, j] for j in (0, 1)]  # who answered one item, or all, says nothing
        return sum(z[mine].sum() ** 2 / ((1 - mine.mean()) * (z[mine] ** 2).sum()) for mine in told)

    every = np.array([statistic(order) for order in permutations(range(6))])
    exact = (every >= every[0] * (1 - 1e-9)).mean()
    who = who_answered(*np.nonzero(observed), [1, 1, 0, 1, 0, 0], n_classes=2, n_experts=4)
    found, nothing = chances.spread_chances(who, [values, np.empty((6, 0))], rng=np.random.default_rng(0))
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4_000))
    assert np.isnan(nothing)


def test_stopping_early_keeps_the_level():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 1))
    values -= values.mean()
    found = np.array([chances.pool_chance(rng.integers(4, size=60), values, rng=rng) for _ in range(600)])
    for level in (0.02, 0.1, 0.5):
        assert (found <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / 600)


def test_many_answers_are_thinned(monkeypatch):
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=2_000)
    item, expert = np.nonzero(rng.random((2_000, 6)) < np.where(label[:, None] == np.arange(6) % 2, 0.6, 0.4))
    who = who_answered(item, expert, label, n_classes=2, n_experts=6)
    monkeypatch.setattr(chances, "MOST_ANSWERS", 1_000)
    kept = chances.some_items(2_000, 300, rng=rng)
    part = who.part(kept)
    assert len(kept) == 300
    assert part.label_idx.tolist() == label[kept].tolist()
    assert part.per_item.tolist() == who.per_item[kept].tolist()
    left = label_left_over(label, np.empty((2_000, 0)))
    assert chances.spread_chances(who, [left.residual], rng=rng)[0] < 0.01


def test_directions_are_level_and_few():
    rng = np.random.default_rng(0)
    for d in (1, 4, 40, 600):
        found = directions(rng.normal(size=(300, d)) * 7 + 3)
        assert found.shape == (300, 2 * min(d, 6))
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(found.std(axis=0), 1)
    assert directions(np.ones((5, 3))).shape == (5, 0)
    assert basis(np.ones((5, 0))).shape == (5, 0)
    assert basis(rng.normal(size=(300, 600))).shape == (300, 128)
    assert basis(rng.normal(size=(300, 2))).shape == (300, 2 * 8 + 1)
    assert basis(rng.normal(size=(100, 2))).shape == (100, 2)  # too few items to bend by
