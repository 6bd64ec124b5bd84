import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_panels import panels

from defero.core import InputError
from defero.decide.votes import vote_discount


def slow_surprise(answers, labels, experts):
    """The residuals, pulled to mean 0 and variance 1, as a dictionary (item, expert) -> value."""
    cells = [(k, j) for k, j in np.ndindex(*answers.shape) if answers[k, j] >= 0]
    residual = {(k, j): float(answers[k, j] == labels[k]) - experts[k, j] for k, j in cells}
    mean_of_all = sum(residual.values()) / max(len(cells), 1)
    surprise = {}
    for j in range(answers.shape[1]):
        mine = [k for k, other in cells if other == j]
        mean = (sum(residual[k, j] for k in mine) + 10 * mean_of_all) / (len(mine) + 10)
        own = sum((residual[k, j] - mean) ** 2 for k in mine)
        foreseen = sum(experts[k, j] * (1 - experts[k, j]) for k in mine)
        variance = max(own, (own + 10 * foreseen / max(len(mine), 1)) / (len(mine) + 10) * len(mine))
        for k in mine:
            varies = variance > 1e-12 * len(mine)
            surprise[k, j] = (residual[k, j] - mean) / math.sqrt(variance / len(mine)) if varies else 0.0
    return surprise


def weights_of(answers, labels, experts, *, n_heard=None):
    """Return how much the answers count where n are heard, by default all."""
    n_heard = np.shape(answers)[1] if n_heard is None else n_heard
    return 1 / (1 + (n_heard - 1) * vote_discount(answers, labels, experts))


def slow_discount(answers, labels, experts):
    surprise = slow_surprise(answers, labels, experts)
    products = {}
    for i, j in itertools.combinations(range(answers.shape[1]), 2):
        both = [k for k in range(len(answers)) if (k, i) in surprise and (k, j) in surprise]
        if both:
            products[i, j] = [surprise[k, i] * surprise[k, j] for k in both]
    every = [x for pair in products.values() for x in pair]
    if not every:
        return [0.0] * answers.shape[1]
    pooled = sum(every) / len(every)
    variance = max(1.0, sum(x * x for x in every) / len(every) - pooled**2)
    centre = max(0.0, pooled - math.sqrt(variance / len(every)))
    apart = n_twice = 0.0
    for pair in products.values():
        for one, two in itertools.permutations(pair, 2):
            apart, n_twice = apart + (one - centre) * (two - centre), n_twice + 1
    between = max(0.0, apart / max(n_twice, 1))
    total, beside = [0.0] * answers.shape[1], [0] * answers.shape[1]
    for (i, j), pair in products.items():
        r, error = sum(pair) / len(pair), variance / len(pair)
        trust = between / (between + error)
        drawn = centre + trust * (r - centre) - math.sqrt(trust * error)
        rho = min(1.0, max(0.0, drawn, r - math.sqrt(2 * math.log(max(len(products), 2)) * error)))
        for one in (i, j):
            total[one], beside[one] = total[one] + rho * len(pair), beside[one] + len(pair)
    n_answers = (answers >= 0).sum()
    of_all, beside_all = 10 * sum(total) / n_answers, 10 * sum(beside) / n_answers
    return [(one + of_all) / (m + beside_all) for one, m in zip(total, beside, strict=True)]


@given(panels())
def test_the_slow_twin_agrees(panel):
    answers, _, experts, model = panel
    answers, experts = np.tile(answers, (4, 1)), np.tile(experts, (4, 1))
    labels = np.tile(model.argmax(axis=1), 4)
    labels[: len(labels) // 2] = 0
    assert vote_discount(answers, labels, experts) == pytest.approx(slow_discount(answers, labels, experts), abs=1e-9)


@given(panels(fewest_experts=1), st.randoms(use_true_random=False))
def test_permuting_experts_permutes_the_discounts(panel, random):
    answers, _, experts, model = panel
    order = list(range(answers.shape[1]))
    random.shuffle(order)
    labels = model.argmax(axis=1)
    plain = vote_discount(answers, labels, experts)
    assert vote_discount(answers[:, order], labels, experts[:, order]) == pytest.approx(plain[order])
    assert ((plain >= 0) & (plain <= 1)).all()


def draw(rng, labels, accuracy, n_classes):
    wrong = (labels + rng.integers(1, n_classes, size=len(labels))) % n_classes
    return np.where(rng.random(len(labels)) < accuracy, labels, wrong)


def test_independent_experts_keep_their_votes():
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=2_000)
    answers = np.stack([draw(rng, labels, 0.7, 10) for _ in range(10)], axis=1)
    assert weights_of(answers, labels, np.full(10, 0.7)).min() > 0.9


@pytest.mark.parametrize("accuracy", [0.35, 0.6, 0.8])
def test_five_near_clones_count_as_about_one(accuracy):
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=5_000)
    original = draw(rng, labels, accuracy, 10)
    answers = np.stack(
        [np.where(rng.random(5_000) < 0.03, draw(rng, labels, accuracy, 10), original) for _ in range(5)]
        + [draw(rng, labels, 0.8, 10)],
        axis=1,
    )
    weights = weights_of(answers, labels, [*[accuracy] * 5, 0.8])
    assert 1.0 < weights[:5].sum() < 1.3
    assert weights[5] > 0.85  # a chance correlation with one clone counts five times


def test_what_the_probabilities_foresaw_is_no_correlation():
    """Two experts who both know the even items only: alike, but no more than was said of them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=8_000)
    p = np.where(np.arange(8_000) % 2, 0.3, 0.9)
    answers = np.stack([draw(rng, labels, p, 4) for _ in range(2)], axis=1)
    assert vote_discount(answers, labels, np.stack([p, p], axis=1)).max() < 0.03
    assert vote_discount(answers, labels, [0.6, 0.6]).min() > 0.25


def test_by_hand():
    """Half right and p = 1/2: four products of 1, whose mean has the standard error 1/2.

    mu = 1 - 1/2, tau**2 = (1 - mu)**2 = 1/4, t = 1/2: 3/4 less sqrt(1/8). More is above what chance makes of a pair.
    """
    answers, labels = np.array([[0, 0], [0, 0], [1, 1], [1, 1]]), np.zeros(4, int)
    above_chance = 1 - math.sqrt(2 * math.log(2)) / 2
    assert above_chance > 3 / 4 - math.sqrt(1 / 8)
    assert vote_discount(answers, labels, [0.5, 0.5]) == pytest.approx([above_chance] * 2)
    # One shared item is no evidence; two who never meet share no vote.
    assert vote_discount(answers[2:3], labels[2:3], [0.5, 0.5]).tolist() == [0.0, 0.0]
    apart = np.array([[0, -1], [1, -1], [-1, 0], [-1, 1]])
    assert vote_discount(apart, labels, [0.5, 0.5]).tolist() == [0.0, 0.0]


def test_a_discount_is_of_the_answers_that_stand_beside_it():
    """The first gives half of their answers alone: beside one other answer theirs counts as the second's does."""
    answers = np.tile([[0, 0], [0, 0], [1, 1], [1, 1], [0, -1], [0, -1], [1, -1], [1, -1]], (1_000, 1))
    first, second = vote_discount(answers, np.zeros(8_000, int), [0.5, 0.5])
    assert first == pytest.approx(second, rel=0.01)
    assert second > 0.9


@pytest.mark.parametrize("n_experts", [2, 5, 20])
def test_identical_experts_share_one_vote(n_experts):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=3_000)
    answers = np.repeat(draw(rng, labels, 0.8, 3)[:, None], n_experts, axis=1)
    weights = weights_of(answers, labels, np.full(n_experts, 0.8))
    assert weights == pytest.approx(np.full(n_experts, 1 / n_experts), rel=0.03)


def sparse_crowd(rng, *, n_items, n_experts=200, answers_an_item=5, difficulty=0.0):
    """Return answers, labels and each expert's accuracy; errors are independent unless items differ in difficulty."""
    labels = rng.integers(2, size=n_items)
    accuracy = rng.beta(8, 2, size=n_experts)
    answers = np.full((n_items, n_experts), -1)
    for k in range(n_items):
        who = rng.choice(n_experts, size=answers_an_item, replace=False)
        logit = np.log(accuracy[who] / (1 - accuracy[who])) + difficulty * rng.normal()
        wrong = rng.random(answers_an_item) > 1 / (1 + np.exp(-logit))
        answers[k, who] = np.where(wrong, 1 - labels[k], labels[k])
    return answers, labels, accuracy


@pytest.mark.parametrize("n_items", [100, 300, 1_000, 3_000])
def test_a_sparse_crowd_with_independent_errors_keeps_its_votes(n_items):
    rng = np.random.default_rng(0)
    answers, labels, accuracy = sparse_crowd(rng, n_items=n_items)
    roughly = np.clip(accuracy + 0.05 * rng.normal(size=200), 0.05, 0.99)
    weights = weights_of(answers, labels, roughly, n_heard=5)
    assert weights.mean() > 0.95
    assert np.quantile(weights, 0.05) > 0.85


def test_a_sparse_crowd_that_finds_the_same_items_hard_shares_its_votes():
    answers, labels, accuracy = sparse_crowd(np.random.default_rng(0), n_items=3_000, difficulty=1.5)
    assert weights_of(answers, labels, accuracy, n_heard=5).mean() < 0.75


def test_luck_is_no_likeness():
    """All of five answers right: what is left is 1 - p(x), the same for everybody, and no sign of erring together."""
    p = np.repeat(np.array([0.6, 0.95, 0.7, 0.9, 0.99])[:, None], 3, axis=1)
    assert weights_of(np.zeros((5, 3), int), np.zeros(5, int), p).min() > 0.95


def test_five_clones_among_two_hundred():
    rng = np.random.default_rng(1)
    labels = rng.integers(4, size=1_000)
    answers = np.stack([draw(rng, labels, 0.8, 4) for _ in range(200)], axis=1)
    answers[:, 1:5] = answers[:, :1]
    weights = weights_of(answers, labels, np.full(200, 0.8))
    assert 1.0 < weights[:5].sum() < 1.2
    assert weights[5:].mean() > 0.95


def test_edges():
    assert vote_discount(np.zeros((5, 1), int), np.zeros(5, int), [0.5]).tolist() == [0.0]
    assert vote_discount(np.zeros((5, 2), int), np.zeros(5, int), [1.0, 1.0]).tolist() == [0.0, 0.0]
    assert vote_discount(np.full((5, 2), -1), np.zeros(5, int), [0.5, 0.5]).tolist() == [0.0, 0.0]
    assert vote_discount(np.empty((0, 2), int), np.empty(0, int), [0.5, 0.5]).tolist() == [0.0, 0.0]
    assert vote_discount(np.empty((4, 0), int), np.zeros(4, int), []).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1]], [0, 1], [0.5, 0.5]), r"labels must have 1 items"),
        (([["a"]], [0], [0.5]), "answers must be class numbers, -1 where missing, got dtype <U1"),
        (([[-3]], [0], [0.5]), "or -1 where missing, got -3"),
        (([[0]], [0], [2.0]), r"expert_proba must lie in \[0, 1\], got 2"),
    ],
)
def test_what_is_wrong_is_said(arguments, message):
    with pytest.raises(InputError, match=message):
        vote_discount(*arguments)


def test_whoever_has_nothing_on_record_is_not_independent_of_the_others_for_that():
    rng = np.random.default_rng(0)
    labels, hard = rng.integers(2, size=300), rng.random((300, 1)) < 0.4
    answers = np.where(hard & (rng.random((300, 4)) < 0.9), 1 - labels[:, None], labels[:, None])
    answers[:, 3] = -1
    recorded, silent = np.split(vote_discount(answers, labels, np.full((300, 4), 0.6)), [3])
    assert recorded.min() > 0.4
    assert silent[0] == pytest.approx(recorded.mean(), abs=0.02)
