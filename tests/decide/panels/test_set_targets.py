"""The three thresholds: exact on every array, not only on average."""

import math
from fractions import Fraction

import numpy as np
import pytest
from conformal_problems import problems
from hypothesis import given
from hypothesis import strategies as st

from defero.core.registry import TARGETS as REGISTRY
from defero.decide.panels.thresholds import rows_needed
from defero.judge import missed_share, set_coverage

TARGETS = ["all-correct", "missed-share", "any-correct"]
THRESHOLDS = {target: REGISTRY[target].threshold for target in TARGETS}
fortieths = st.integers(1, 39).map(lambda k: Fraction(k, 40))


def loss(target, inside, right):
    """What a set loses on one item: 0 or 1, or the missed share."""
    if target == "missed-share":
        return Fraction(int((right & ~inside).sum()), int(right.sum()))
    kept = (right & inside).any() if target == "any-correct" else not (right & ~inside).any()
    return Fraction(int(not kept))


def brute_force(target, scores, right, alpha):
    """The largest of all thresholds with (total loss + 1) / (n + 1) <= alpha, by trying each one."""
    best = -math.inf
    for tau in [*np.unique(scores), math.inf]:
        total = sum(loss(target, s >= tau, r) for s, r in zip(scores, right, strict=True))
        if (total + 1) / (len(scores) + 1) <= alpha:
            best = max(best, float(tau))
    return best


@pytest.mark.parametrize("target", TARGETS)
@given(problems(), fortieths)
def test_the_threshold_is_that_of_brute_force(target, problem, alpha):
    scores, right = problem
    assert THRESHOLDS[target](scores, right, alpha=float(alpha)) == brute_force(target, scores, right, alpha)


@pytest.mark.parametrize("target", TARGETS)
@given(problems(min_items=2), fortieths)
def test_leave_one_out_loss_is_at_most_alpha(target, problem, alpha):
    scores, right = problem
    total = 0
    for i in range(len(scores)):
        rest = np.arange(len(scores)) != i
        tau = THRESHOLDS[target](scores[rest], right[rest], alpha=float(alpha))
        total += loss(target, scores[i] >= tau, right[i])
    assert total / len(scores) <= alpha


@pytest.mark.parametrize("target", TARGETS)
@given(problems(), fortieths, fortieths)
def test_sets_grow_as_alpha_falls(target, problem, one, other):
    low, high = sorted([float(one), float(other)])
    assert THRESHOLDS[target](*problem, alpha=low) <= THRESHOLDS[target](*problem, alpha=high)


@given(problems(), fortieths)
def test_the_targets_are_ordered(problem, alpha):
    """Whoever holds every right expert misses none; whoever misses few holds one."""
    every, share, one = (THRESHOLDS[target](*problem, alpha=float(alpha)) for target in TARGETS)
    assert every <= share <= one


@pytest.mark.parametrize("target", TARGETS)
@given(problems(), fortieths, st.randoms(use_true_random=False))
def test_the_threshold_does_not_know_the_order_of_experts_or_items(target, problem, alpha, random):
    items, experts = (list(range(size)) for size in problem[0].shape)
    random.shuffle(items)
    random.shuffle(experts)
    shuffled = [array[items][:, experts] for array in problem]
    found = [THRESHOLDS[target](*p, alpha=float(alpha)) for p in (problem, shuffled)]
    assert found[0] == found[1]


@pytest.mark.parametrize("target", TARGETS)
@given(problems(), fortieths)
def test_rows_without_a_right_expert_change_nothing(target, problem, alpha):
    scores, right = problem
    more = np.concatenate([scores, scores]), np.concatenate([right, np.zeros_like(right)])
    assert THRESHOLDS[target](*more, alpha=float(alpha)) == THRESHOLDS[target](*problem, alpha=float(alpha))


@pytest.mark.parametrize("target", TARGETS)
@given(fortieths)
def test_too_few_rows_exclude_nobody(target, alpha):
    needed = rows_needed(float(alpha))
    for n, limit in ((needed, 0.5), (needed - 1, -math.inf)):
        assert THRESHOLDS[target](np.full((n, 2), 0.5), np.ones((n, 2), bool), alpha=float(alpha)) == limit


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_to_calibrate_on(target):
    assert THRESHOLDS[target](np.empty((0, 3)), np.empty((0, 3), bool), alpha=0.1) == -math.inf
    assert THRESHOLDS[target](np.empty((4, 0)), np.empty((4, 0), bool), alpha=0.1) == -math.inf
    assert THRESHOLDS[target](np.ones((40, 2)), np.zeros((40, 2), bool), alpha=0.1) == -math.inf


def test_by_hand():
    # Four items, alpha 0.4: budget 0.4 * 5 - 1 = 1. Shares from below: .1 (1/2), .2 (1/2, sum 1), .3 (1): tau .3.
    scores = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.6, 0.95]])
    right = np.array([[True, True], [True, True], [True, False], [True, False]])
    found = {target: THRESHOLDS[target](scores, right, alpha=0.4) for target in TARGETS}
    assert found == {"all-correct": 0.2, "missed-share": 0.3, "any-correct": 0.6}
    assert missed_share(scores >= 0.3, right) == 0.25
    assert set_coverage(scores >= 0.2, right, target="all-correct") == 0.75
    assert set_coverage(scores >= 0.6, right) == 0.75


def test_leaving_out_the_highest_scores_from_the_sort_changes_nothing():
    rng = np.random.default_rng(0)
    scores = np.round(rng.random((2000, 10)), 3)
    right = rng.random((2000, 10)) < scores
    n_right = right.sum(axis=1)
    n_right = n_right[n_right > 0]
    values, shares = scores[right], np.repeat(1 / n_right, n_right)
    for alpha in (0.01, 0.1, 0.5, 0.9):
        below = [shares[values < tau].sum() for tau in np.unique(values)]
        expected = np.unique(values)[np.flatnonzero(np.array(below) <= alpha * (len(n_right) + 1) - 1 + 1e-9)[-1]]
        assert THRESHOLDS["missed-share"](scores, right, alpha=alpha) == expected


def test_rounding_does_not_cost_a_rank():
    # 0.29 * 100 is 28.999999999999996: one right expert on each of 99 items, of whom 28 may be missed.
    scores = np.arange(1, 100)[:, None] / 100
    for target in TARGETS:
        assert THRESHOLDS[target](scores, np.ones((99, 1), bool), alpha=0.29) == 0.29
