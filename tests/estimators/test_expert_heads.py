"""Heads on top of a model: what is dealt to which fold, who has seen what, and what weights mean."""

from dataclasses import replace

import numpy as np
import pytest
from defero.estimators.expert_heads import (
    FEW_ANSWERS,
    answers_are_few,
    check_heads,
    fold_of_items,
    out_of_fold,
    with_population,
    with_shrunk_heads,
)
from defero.heads import fit_class_heads, fit_heads
from defero.scorers.two_stage import TwoStageScorer
from few_answers_crowd import crowd, lesson_of
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from defero import InputError
from defero.core.answers import Answers
from defero.core.scores import sigmoid
from defero.core.splits import sample_rows
from defero.estimators.training_data import TrainingData

X, Y, M = crowd()
LESSON = lesson_of(X, Y, M)


def logistic(part):
    model = LogisticRegression().fit(part.features, part.label_idx, sample_weight=part.weight)
    return model.predict_proba


def base_of(data):
    return TwoStageScorer(LogisticRegression().fit(data.features, data.label_idx), [])


@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 99))
def test_classes_are_dealt_evenly(n, n_classes, seed):
    labels = np.random.default_rng(seed).integers(n_classes, size=n)
    fold = fold_of_items(lesson_of(np.zeros((n, 1)), labels, np.zeros((n, 1), int)), rng=np.random.default_rng(0))
    for one in np.unique(labels):
        counts = np.bincount(fold[labels == one], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert set(fold.tolist()) == set(range(min(n, 5)))


@given(st.integers(2, 40), st.integers(2, 12), st.integers(0, 99))
def test_no_group_is_in_two_folds(n, n_groups, seed):
    rng = np.random.default_rng(seed)
    groups, labels = rng.integers(n_groups, size=n), rng.integers(2, size=n)
    fold = fold_of_items(lesson_of(np.zeros((n, 1)), labels, np.zeros((n, 1), int), groups=groups), rng=rng)
    if len(np.unique(groups)) > 1:
        assert all(len(np.unique(fold[groups == one])) == 1 for one in np.unique(groups))
    assert len(np.unique(fold)) > 1  # of one group alone the items are dealt one by one


@pytest.mark.parametrize("groups", [None, np.arange(150) // 7])
def test_each_item_is_judged_once_by_a_model_that_has_not_seen_it(groups):
    features = np.arange(150.0)[:, None]
    data = lesson_of(features, Y, M, groups=groups)
    judged = []

    def fit(part):
        assert (part.n_experts, len(part.item_idx)) == (0, 0)

        def proba(new):
            assert not np.isin(new, part.features).any()
            assert len(part.features) + len(new) == 150
            judged.extend(new[:, 0].tolist())
            return np.column_stack([new, 1 - new])

        return proba

    assert np.array_equal(out_of_fold(data, fit)[:, :1], features)
    assert sorted(judged) == features[:, 0].tolist()


def test_an_items_own_label_never_changes_its_own_posterior():
    """Exact. Folds of groups are dealt without a look at the labels, so that nothing else changes either."""
    data = lesson_of(X, Y, M, groups=np.arange(150) // 3)
    proba = out_of_fold(data, logistic)
    for item in (0, 77, 149):
        other = Y.copy()
        other[item] = 1 - other[item]
        changed = out_of_fold(lesson_of(X, other, M, groups=np.arange(150) // 3), logistic)
        assert np.array_equal(changed[item], proba[item])
        assert not np.array_equal(changed, proba)


def test_the_folds_by_hand():
    fold = fold_of_items(LESSON, rng=np.random.default_rng(0))
    expected = np.empty((150, 2))
    for out in range(5):
        model = LogisticRegression().fit(X[fold != out], Y[fold != out])
        expected[fold == out] = model.predict_proba(X[fold == out])
    assert np.array_equal(out_of_fold(LESSON, logistic), expected)


@pytest.mark.parametrize("n_that_count", [0, 1])
def test_where_no_other_item_counts_nothing_is_known(n_that_count):
    weight = np.zeros(150)
    weight[:n_that_count] = 1.0
    proba = out_of_fold(lesson_of(X, Y, M, weight=weight), lambda part: lambda new: np.full((len(new), 2), [0.9, 0.1]))
    assert proba[0].tolist() == [0.5, 0.5]
    assert (proba == 0.5).all() == (n_that_count == 0)


def shrunk(data, proba=None):
    return with_shrunk_heads(base_of(data), data, out_of_fold(data, logistic) if proba is None else proba)


def test_the_heads_are_those_of_the_answers():
    proba = out_of_fold(LESSON, logistic)
    team = shrunk(LESSON, proba)
    phi = team.lens.transform(X, proba)
    plain = fit_heads(phi, LESSON.item_idx, LESSON.expert_idx, LESSON.right, n_experts=8, groups=np.arange(6))
    assert np.array_equal(team.heads.weights, plain.weights)
    assert (team.n_own, team.order.tolist()) == (0, list(range(8)))


def test_permuting_experts_permutes_their_heads():
    order = np.random.default_rng(1).permutation(8)
    one, other = shrunk(LESSON).score(X), shrunk(lesson_of(X, Y, M[:, order])).score(X)
    np.testing.assert_allclose(other.expert_proba, one.expert_proba[:, order], atol=1e-6)
    assert np.array_equal(other.class_proba, one.class_proba)


def test_the_order_of_items_does_not_matter_to_the_heads():
    order = np.random.default_rng(1).permutation(150)
    proba = out_of_fold(LESSON, logistic)
    one = shrunk(LESSON, proba).heads
    other = shrunk(lesson_of(X[order], Y[order], M[order]), proba[order]).heads
    np.testing.assert_allclose(other.weights, one.weights, atol=1e-6)


def test_only_the_proportions_of_weights_count():
    rng = np.random.default_rng(0)
    weight, proba = rng.uniform(0.5, 2.0, size=150), out_of_fold(LESSON, logistic)
    one, other = (shrunk(lesson_of(X, Y, M, weight=scale * weight), proba).heads for scale in (1.0, 40.0))
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-9)
    alike = shrunk(lesson_of(X, Y, M, weight=np.full(150, 7.0)), proba).heads
    np.testing.assert_allclose(alike.weights, shrunk(LESSON, proba).heads.weights, atol=1e-9)


def test_an_item_of_weight_0_is_as_good_as_not_answered():
    """A hundred items that do not count must not make the other fifty count three times."""
    proba, counts = out_of_fold(LESSON, logistic), np.arange(150) < 50
    one = shrunk(lesson_of(X, Y, M, weight=counts.astype(float)), proba).heads
    other = shrunk(lesson_of(X, Y, np.where(counts[:, None], M, -1)), proba).heads
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-9)


def test_an_answers_weight_counts_beside_its_items():
    item_weight = np.random.default_rng(2).uniform(0.5, 2.0, size=150)
    proba = out_of_fold(LESSON, logistic)
    by_item = shrunk(lesson_of(X, Y, M, weight=item_weight), proba)
    by_answer = shrunk(replace(LESSON, answer_weight=item_weight[LESSON.item_idx]), proba)
    np.testing.assert_allclose(by_answer.heads.weights, by_item.heads.weights, atol=1e-12)


def test_who_answered_nothing_is_the_population():
    silent = np.column_stack([M, np.full(150, -1)])
    team = shrunk(lesson_of(X, Y, silent))
    prior = team.heads.prior
    design = prior.design(team.lens.transform(X, team.base.score(X).class_proba))
    variance = np.einsum("ia,ab,ib->i", design, prior.covariance(), design)
    expected = sigmoid(design @ prior.mean / np.sqrt(1 + np.pi * variance / 8))
    np.testing.assert_allclose(team.score(X).expert_proba[:, 8], expected)
    np.testing.assert_allclose(team.logit_posterior(X)[1][:, 8], np.sqrt(variance))


@pytest.mark.parametrize("n_experts", [1, 8])
def test_a_population_leaves_the_base_alone(n_experts):
    data = lesson_of(X, Y, M[:, :n_experts])
    base = TwoStageScorer(LogisticRegression().fit(X, Y), [0.7] * n_experts)
    team = with_population(base, data)
    assert np.array_equal(team.score(X).expert_proba, base.score(X).expert_proba)
    assert (team.heads.n_experts, team.lens.reads_classes) == (0, False)


def test_a_population_of_many_answers_is_learned_from_some():
    features, labels, answers = crowd(1_400, 10, rate=0.9)
    data = lesson_of(features, labels, answers)
    assert len(data.item_idx) > 10_000
    base = TwoStageScorer(LogisticRegression().fit(features, labels), [0.7] * 10)
    found = with_population(base, data).heads.prior
    some = sample_rows(len(data.item_idx), 5_000)
    kept = np.full(answers.shape, -1)
    kept[data.item_idx[some], data.expert_idx[some]] = answers[data.item_idx[some], data.expert_idx[some]]
    rest = (kept >= 0).any(axis=1)
    by_hand = with_population(base, lesson_of(features[rest], labels[rest], kept[rest])).heads.prior
    np.testing.assert_allclose(found.mean, by_hand.mean, atol=1e-6)
    np.testing.assert_allclose(found.spread, by_hand.spread, atol=1e-6)


def of_counts(*counts):
    n = sum(counts)
    expert = np.repeat(np.arange(len(counts)), counts)
    nothing = np.zeros(n, int)
    answers = Answers.from_triplets(np.arange(n), expert, nothing, n_items=n, n_experts=len(counts))
    return TrainingData(np.zeros((n, 1)), nothing, nothing, 1, answers, nothing, False)


def test_answers_are_few_where_half_of_the_experts_gave_few():
    assert answers_are_few(of_counts(FEW_ANSWERS - 1))
    assert not answers_are_few(of_counts(FEW_ANSWERS))
    assert answers_are_few(of_counts(1_000, 5, 5))
    assert not answers_are_few(of_counts(1_000, 1_000, 5))
    assert answers_are_few(of_counts(5, 1_000))  # exactly half
    assert not answers_are_few(of_counts(1_000, 0, 0, 0))  # who never answered has no say
    assert not answers_are_few(of_counts())


def test_an_unknown_option_is_refused():
    with pytest.raises(InputError, match="heads must be one of auto, shrunk, separate, got 'big'"):
        check_heads("big")


def test_heads_are_told_the_class_for_votes():
    proba = out_of_fold(LESSON, logistic)
    team = with_shrunk_heads(base_of(LESSON), LESSON, proba)
    seen, groups = team.lens.transform(X, proba), team.lens.groups(X, n_classes=LESSON.n_classes)
    direct = fit_class_heads(
        seen,
        proba,
        LESSON.label_idx,
        LESSON.item_idx,
        LESSON.expert_idx,
        LESSON.right,
        n_experts=LESSON.n_experts,
        groups=groups,
    )
    assert np.array_equal(team.class_heads.heads.weights, direct.heads.weights)
    n_classes = LESSON.n_classes  # nothing is said of the answers here: every wrong class is as likely
    np.testing.assert_allclose(direct.errors, (1 - np.eye(n_classes)) / (n_classes - 1))
    assert with_population(base_of(LESSON), LESSON).class_heads is None


def test_votes_learn_which_wrong_class_is_named():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    answers = np.where(rng.random((300, 4)) < 0.6, labels[:, None], (labels[:, None] + 1) % 3)  # never two further
    data = lesson_of(rng.normal(size=(300, 2)), labels, answers)
    errors = with_shrunk_heads(base_of(data), data, np.full((300, 3), 1 / 3)).class_heads.errors
    assert (errors[[0, 1, 2], [1, 2, 0]] > 0.98).all()
