import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_panels import panels

from defero.aggregation import vote_discount
from defero.core import InputError


def slow_discount(answers, labels, experts):
    n_experts = answers.shape[1]
    weights = []
    for j in range(n_experts):
        total = 0.0
        for i in range(n_experts):
            both = [row for row in range(len(answers)) if min(answers[row, i], answers[row, j]) >= 0]
            if i == j or not both:
                continue
            pair = [[float(answers[row, e] == labels[row]) - experts[row, e] for row in both] for e in (i, j)]
            if min(np.std(one) for one in pair) > 1e-6:
                total += max(0.0, np.corrcoef(pair)[0, 1] - 1 / math.sqrt(len(both)))
        weights.append(1 / (1 + total))
    return weights


@given(panels())
def test_the_slow_twin_agrees(panel):
    answers, _, experts, model = panel
    answers, experts = np.tile(answers, (4, 1)), np.tile(experts, (4, 1))
    labels = np.tile(model.argmax(axis=1), 4)
    labels[: len(labels) // 2] = 0
    assert vote_discount(answers, labels, experts) == pytest.approx(slow_discount(answers, labels, experts), abs=1e-9)


@given(panels(fewest_experts=1), st.randoms(use_true_random=False))
def test_permuting_experts_permutes_the_weights(panel, random):
    answers, _, experts, model = panel
    order = list(range(answers.shape[1]))
    random.shuffle(order)
    labels = model.argmax(axis=1)
    plain = vote_discount(answers, labels, experts)
    assert vote_discount(answers[:, order], labels, experts[:, order]) == pytest.approx(plain[order])
    assert ((plain > 0) & (plain <= 1)).all()


def draw(rng, labels, accuracy, n_classes):
    wrong = (labels + rng.integers(1, n_classes, size=len(labels))) % n_classes
    return np.where(rng.random(len(labels)) < accuracy, labels, wrong)


def test_independent_experts_keep_their_votes():
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=2_000)
    answers = np.stack([draw(rng, labels, 0.7, 10) for _ in range(10)], axis=1)
    assert vote_discount(answers, labels, np.full(10, 0.7)).min() > 0.9


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
    weights = vote_discount(answers, labels, [*[accuracy] * 5, 0.8])
    assert 1.0 < weights[:5].sum() < 1.3
    assert weights[5] > 0.85  # a chance correlation with one clone counts five times


def test_what_the_probabilities_foresaw_is_no_correlation():
    """Two experts who both know the even items only: alike, but no more than was said of them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=8_000)
    p = np.where(np.arange(8_000) % 2, 0.3, 0.9)
    answers = np.stack([draw(rng, labels, p, 4) for _ in range(2)], axis=1)
    assert vote_discount(answers, labels, np.stack([p, p], axis=1)).min() > 0.97
    assert vote_discount(answers, labels, [0.6, 0.6]).max() < 0.8


def test_few_shared_items_pass_for_independent():
    answers = np.array([[0, 0], [1, 1], [0, -1], [-1, 1]])
    labels = np.array([0, 0, 0, 0])
    # Two shared items: r = 1, less one standard error of 1 / sqrt(2).
    assert vote_discount(answers, labels, [0.5, 0.5]) == pytest.approx([1 / (2 - 1 / math.sqrt(2))] * 2)
    assert vote_discount(answers[1:], labels[1:], [0.5, 0.5]).tolist() == [1.0, 1.0]


def test_edges():
    assert vote_discount(np.zeros((5, 1), int), np.zeros(5, int), [0.5]).tolist() == [1.0]
    assert vote_discount(np.zeros((5, 2), int), np.zeros(5, int), [1.0, 1.0]).tolist() == [1.0, 1.0]
    assert vote_discount(np.full((5, 2), -1), np.zeros(5, int), [0.5, 0.5]).tolist() == [1.0, 1.0]
    assert vote_discount(np.empty((0, 2), int), np.empty(0, int), [0.5, 0.5]).tolist() == [1.0, 1.0]
    assert vote_discount(np.empty((4, 0), int), np.zeros(4, int), []).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1]], [0, 1], [0.5, 0.5]), r"labels must have shape \(1,\), one per row of answers"),
        (([["a"]], [0], [0.5]), "answers must be class numbers, -1 where missing, got dtype <U1"),
        (([[-3]], [0], [0.5]), "or -1 where missing, got -3"),
        (([[0]], [0], [2.0]), r"expert_proba must lie in \[0, 1\], got 2"),
    ],
)
def test_what_is_wrong_is_said(arguments, message):
    with pytest.raises(InputError, match=message):
        vote_discount(*arguments)
