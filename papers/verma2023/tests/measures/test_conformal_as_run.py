"""The fast replicas against plain loops that say what was run, step by step. No stored data needed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero import InputError
from defero_verma2023.measures.conformal_as_run import (
    BETA_GRID,
    LAMBDA_GRID,
    NaiveAsRun,
    RegularizedAsRun,
    critical_score,
    fit_naive,
    fit_regularized,
    grid_lambda,
    naive_voters_as_run,
    outputs_as_run,
    vote_as_run,
)
from defero_verma2023.measures.set_quality import SetQuality, mean_quality, set_quality
from defero_verma2023.measures.team_outputs import TeamOutputs


@st.composite
def recorded(draw, *, least=10, most=40):
    """Scores with ties, and who was right; some items without a right expert."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_items, n_experts = draw(st.integers(least, most)), draw(st.integers(2, 5))
    scores = rng.integers(0, 33, (n_items, n_experts)) / np.float32(32)
    correct = rng.random((n_items, n_experts)) < draw(st.sampled_from([0.15, 0.5, 0.9]))
    correct[0, 0] = True
    return scores.astype(np.float32), correct


def slow_lambda(scores, correct, beta, kappa, alpha):
    last = None
    for lam in LAMBDA_GRID:
        losses = []
        for row, right in zip(scores.astype(float), correct, strict=True):
            inside = (1 + beta) * row - beta * kappa >= lam
            losses.append(1 - (inside & right).sum() / (right.sum() + 1e-5))
        n = len(scores)
        if n / (n + 1) * np.mean(losses) + 1 / (n + 1) >= alpha:
            return 0.0 if last is None else last
        last = lam
    return 0.0


@given(recorded(most=15), st.sampled_from([0.0, 0.5, 3.5]), st.sampled_from([0.3, 0.9]), st.sampled_from([0.11, 0.3]))
def test_lambda_is_the_one_a_walk_along_the_grid_finds(data, beta, kappa, alpha):
    scores, correct = data
    found = grid_lambda(critical_score(scores, correct, alpha=alpha), beta=beta, kappa=kappa)
    assert found == slow_lambda(scores, correct, beta, kappa, alpha)


@given(recorded())
def test_naive_is_the_loop_over_items(data):
    scores, correct = data
    sums = []
    for row, right in zip(scores, correct, strict=True):
        order = sorted(range(len(row)), key=lambda j: -row[j])
        running = np.cumsum(row[order])
        where = [rank for rank, j in enumerate(order) if right[j]]
        sums.append(running[where[-1] if where else order.index(len(row) - 1)])
    n, k = len(scores), math.ceil((len(scores) + 1) * (1 - 0.1))
    fitted = fit_naive(scores, correct, alpha=0.1)
    assert fitted.limit == np.sort(sums)[min(k, n - 1)]  # 0-based: the (k + 1)-th smallest
    for row, inside in zip(scores, fitted.predict(scores), strict=True):
        total, expected = np.float32(0), set()
        for j in sorted(range(len(row)), key=lambda j: -row[j]):
            total += row[j]
            if total > fitted.limit:
                break
            expected.add(j)
        assert set(np.flatnonzero(inside)) == expected


@given(recorded(least=30, most=60))
def test_regularized_takes_the_beta_with_the_smallest_tuning_sets(data):
    scores, correct = data
    n_tuning = math.ceil(0.3 * len(scores))
    tuning, right = scores[:n_tuning], correct[:n_tuning]
    kappa = float(np.quantile(tuning[right], 0.9, method="higher"))
    best, best_size = None, scores.shape[1]
    for beta in BETA_GRID:
        lam = grid_lambda(critical_score(tuning, right, alpha=0.1), beta=beta, kappa=kappa)
        size = RegularizedAsRun(kappa, beta, lam).predict(tuning).sum(axis=1).mean()
        if size < best_size:
            best, best_size = beta, size
    if best is None:
        with pytest.raises(InputError, match="no beta of the grid"):
            fit_regularized(scores, correct, alpha=0.1)
        return
    fitted = fit_regularized(scores, correct, alpha=0.1)
    assert (fitted.kappa, fitted.beta) == (kappa, best)
    rest = critical_score(scores[n_tuning:], correct[n_tuning:], alpha=0.1)
    assert fitted.lam == grid_lambda(rest, beta=best, kappa=kappa)


def test_regularized_is_a_threshold_on_the_score():
    fitted = RegularizedAsRun(kappa=0.9, beta=3.5, lam=0.0)
    assert fitted.threshold == pytest.approx(0.7)
    assert fitted.predict(np.float32([[0.69, 0.71]])).tolist() == [[False, True]]


def test_items_without_a_right_expert_alone_can_exhaust_alpha():
    scores = np.full((10, 2), 0.5, dtype=np.float32)
    correct = np.zeros((10, 2), dtype=bool)
    correct[1:, 0] = True
    assert critical_score(scores, correct, alpha=0.1) == -math.inf
    assert critical_score(scores[1:], correct[1:], alpha=0.3) == 0.5


def test_one_expert_is_always_asked():
    assert NaiveAsRun(limit=0.1).predict(np.float32([[0.9]])).tolist() == [[True]]


def test_too_few_items_stop_both():
    scores, correct = np.full((8, 2), 0.5, dtype=np.float32), np.ones((8, 2), dtype=bool)
    with pytest.raises(InputError, match=r"needs more deferred items than 8"):
        fit_naive(scores, correct, alpha=0.1)
    with pytest.raises(InputError, match=r"1 deferred items are too few"):
        fit_regularized(scores[:1], correct[:1], alpha=0.1)


@given(recorded())
def test_vote_is_the_smallest_of_the_most_frequent(data):
    scores, mask = data
    answers = (scores * 32).astype(np.int64) % 3
    mask = mask.copy()
    mask[-1] = False
    said = vote_as_run(answers, mask, scores, n_classes=3)
    for i, label in enumerate(said):
        heard = answers[i, mask[i]].tolist()
        expected = min(heard, key=lambda one: (-heard.count(one), one)) if heard else answers[i, scores[i].argmax()]
        assert label == expected


def test_naive_voters_are_counted_from_the_first_expert():
    mask = np.array([[False, False, True], [True, False, True]])
    assert naive_voters_as_run(mask).tolist() == [[True, False, False], [True, True, False]]


def stored(method, logits):
    logits = np.array(logits)
    zeros = np.zeros(len(logits), dtype=np.int64)
    return TeamOutputs(method, logits[:, :2], logits[:, 2:], np.zeros((len(logits), logits.shape[1] - 2), int), zeros)


def test_single_precision_sigmoids_saturate_and_the_class_wins_the_tie():
    scores, deferred = outputs_as_run(stored("ova", [[30.0, 0.0, 40.0], [-200.0, 0.0, 1.0]]))
    assert scores.dtype == np.float32
    assert scores[0, 0] == 1
    assert deferred.tolist() == [False, True]


def test_softmax_scores_are_the_raw_outputs():
    scores, deferred = outputs_as_run(stored("softmax", [[0.0, 0.0, 0.0, math.log(2)]]))
    np.testing.assert_allclose(scores, [[0.2, 0.4]], rtol=1e-6)
    assert deferred.tolist() == [True]


def test_other_methods_have_no_such_outputs():
    with pytest.raises(InputError, match=r"method must be 'ova' or 'softmax', got 'moe'"):
        outputs_as_run(stored("moe", [[0.0, 0.0, 0.0]]))


def test_quality_counts_empty_sets_as_nobody_and_leaves_out_items_without_a_right_expert():
    mask = np.array([[True, True], [False, False], [True, False], [True, True]])
    correct = np.array([[True, False], [True, False], [True, True], [False, False]])
    one = set_quality(mask, correct)
    assert one == SetQuality(size=1.25, empty=0.25, missed_share=0.5, all_correct=1 / 3, any_correct=2 / 3)
    assert mean_quality([one, one]) == one
    nothing = set_quality(mask[:0], correct[:0])
    assert math.isnan(nothing.size)
    assert math.isnan(nothing.missed_share)
