"""Skill on top of a model: what is dealt to which fold, who has seen what, and what weights mean."""

from dataclasses import replace

import numpy as np
import pytest
from few_answers_crowd import crowd, lesson_of
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from defero.core.splits import sample_rows
from defero.estimators.skilled import fold_of_items, learn_table, n_folds, with_population, with_skill
from defero.estimators.two_stage import team_scorer
from defero.learn.fit_classes import out_of_fold
from defero.learn.skill import Directions, with_class

X, Y, M = crowd()
LESSON = lesson_of(X, Y, M)


def logistic(part):
    model = LogisticRegression().fit(part.features, part.label_idx, sample_weight=part.weight)
    return model.predict_proba


def base_of(data):
    return team_scorer(LogisticRegression().fit(data.features, data.label_idx), [], data)


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


def of_models(data, fit, fold):
    """Return P(y = k | x) of each item by `fit`, which takes the other folds and returns a function of features."""

    def of_items(rest, inside):
        return fit(data.without_experts(rest))(data.features[inside])

    return out_of_fold(of_items, fold, data.weight, data.n_classes)


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

    fold = fold_of_items(data, rng=np.random.default_rng(0))
    assert np.array_equal(of_models(data, fit, fold)[:, :1], features)
    assert sorted(judged) == features[:, 0].tolist()


def test_an_items_own_label_never_changes_its_own_posterior():
    """Exact. Folds of groups are dealt without a look at the labels, so that nothing else changes either."""
    data = lesson_of(X, Y, M, groups=np.arange(150) // 3)
    fold = fold_of_items(data, rng=np.random.default_rng(0))
    proba = of_models(data, logistic, fold)
    for item in (0, 77, 149):
        other = Y.copy()
        other[item] = 1 - other[item]
        changed = of_models(lesson_of(X, other, M, groups=np.arange(150) // 3), logistic, fold)
        assert np.array_equal(changed[item], proba[item])
        assert not np.array_equal(changed, proba)


def test_the_folds_by_hand():
    fold = fold_of_items(LESSON, rng=np.random.default_rng(0))
    expected = np.empty((150, 2))
    for out in range(5):
        model = LogisticRegression().fit(X[fold != out], Y[fold != out])
        expected[fold == out] = model.predict_proba(X[fold == out])
    assert np.array_equal(of_models(LESSON, logistic, fold), expected)


@pytest.mark.parametrize("n_that_count", [0, 1])
def test_where_no_other_item_counts_nothing_is_known(n_that_count):
    weight = np.zeros(150)
    weight[:n_that_count] = 1.0
    fold = fold_of_items(LESSON, rng=np.random.default_rng(0))
    data = lesson_of(X, Y, M, weight=weight)
    proba = of_models(data, lambda part: lambda new: np.full((len(new), 2), [0.9, 0.1]), fold)
    assert proba[0].tolist() == [0.5, 0.5]
    assert (proba == 0.5).all() == (n_that_count == 0)


FOLD = fold_of_items(LESSON, rng=np.random.default_rng(0))
PROBA = of_models(LESSON, logistic, FOLD)


def skilled(data, proba=PROBA, fold=FOLD):
    return with_skill(base_of(data), proba, data, fold)


def test_permuting_experts_permutes_their_skill():
    order = np.random.default_rng(1).permutation(8)
    one, other = skilled(LESSON), skilled(lesson_of(X, Y, M[:, order]))
    np.testing.assert_allclose(
        other.scorer.score(X).expert_proba, one.scorer.score(X).expert_proba[:, order], atol=1e-6
    )
    assert np.array_equal(other.scorer.score(X).class_proba, one.scorer.score(X).class_proba)
    held = [team.held_out.scores.expert_proba for team in (one, other)]
    np.testing.assert_allclose(held[1], held[0][:, order], atol=1e-6)


def test_the_order_of_items_does_not_matter_to_the_skill():
    order = np.random.default_rng(1).permutation(150)
    one = skilled(LESSON).scorer.skill.heads
    other = skilled(lesson_of(X[order], Y[order], M[order]), PROBA[order], FOLD[order]).scorer.skill.heads
    np.testing.assert_allclose(other.weights, one.weights, atol=1e-6)


def test_only_the_proportions_of_weights_count():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
    one, other = (skilled(lesson_of(X, Y, M, weight=scale * weight)).scorer.skill.heads for scale in (1.0, 40.0))
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-9)
    alike = skilled(lesson_of(X, Y, M, weight=np.full(150, 7.0))).scorer.skill.heads
    np.testing.assert_allclose(alike.weights, skilled(LESSON).scorer.skill.heads.weights, atol=1e-9)


def test_an_item_of_weight_0_is_as_good_as_not_answered():
    """A hundred items that do not count must not make the other fifty count three times."""
    counts = np.arange(150) < 50
    one = skilled(lesson_of(X, Y, M, weight=counts.astype(float)))
    other = skilled(lesson_of(X, Y, np.where(counts[:, None], M, -1))).scorer.skill.heads
    np.testing.assert_allclose(one.scorer.skill.heads.weights, other.weights, atol=1e-9)
    np.testing.assert_allclose(one.scorer.skill.heads.covariance, other.covariance, atol=1e-9)
    assert sorted(one.rows.tolist()) == list(range(50))  # nothing is settled by the others either


def test_an_answers_weight_counts_beside_its_items():
    item_weight = np.random.default_rng(2).uniform(0.5, 2.0, size=150)
    by_item = skilled(lesson_of(X, Y, M, weight=item_weight)).scorer.skill
    by_answer = skilled(replace(LESSON, answer_weight=item_weight[LESSON.item_idx])).scorer.skill
    np.testing.assert_allclose(by_answer.heads.weights, by_item.heads.weights, atol=1e-12)


def test_held_out_scores_are_those_of_the_other_folds():
    """Other answers in one fold: what is said of that fold's experts does not change."""
    other = np.where((FOLD == 2)[:, None] & (M >= 0), 1 - M, M)
    found = []
    for answers in (M, other):
        team = skilled(lesson_of(X, Y, answers))
        raw = np.empty((150, 8))
        raw[team.rows] = team.held_out.scores.expert_raw
        found.append(raw)
    np.testing.assert_array_equal(found[0][FOLD == 2], found[1][FOLD == 2])
    assert (found[0][FOLD != 2] != found[1][FOLD != 2]).all()


def test_without_experts_there_is_the_model_alone():
    alone = skilled(LESSON.without_experts())
    assert alone.scorer.score(X).expert_proba.shape == (150, 0)
    assert (alone.law.difficulty, alone.law.temper) == (0, 0)
    assert alone.held_out.several is None


@pytest.mark.parametrize("n_experts", [1, 8])
def test_a_population_leaves_the_base_alone(n_experts):
    data = lesson_of(X, Y, M[:, :n_experts])
    base = team_scorer(LogisticRegression().fit(X, Y), [0.7] * n_experts, data)
    team = with_population(base, data)
    assert np.array_equal(team.score(X).expert_proba, base.score(X).expert_proba)
    assert (team.skill.n_experts, team.skill.reads_belief) == (0, False)


def test_a_population_of_many_answers_is_learned_from_some():
    features, labels, answers = crowd(1_400, 10, rate=0.9)
    data = lesson_of(features, labels, answers)
    assert len(data.item_idx) > 10_000
    base = team_scorer(LogisticRegression().fit(features, labels), [0.7] * 10, data)
    found = with_population(base, data).skill.heads.prior
    some = sample_rows(len(data.item_idx), 5_000)
    kept = np.full(answers.shape, -1)
    kept[data.item_idx[some], data.expert_idx[some]] = answers[data.item_idx[some], data.expert_idx[some]]
    rest = (kept >= 0).any(axis=1)
    by_hand = with_population(base, lesson_of(features[rest], labels[rest], kept[rest])).skill.heads.prior
    np.testing.assert_allclose(found.mean, by_hand.mean, atol=1e-6)
    np.testing.assert_allclose(found.spread, by_hand.spread, atol=1e-6)


def test_skill_reads_the_class_and_what_models_that_did_not_see_the_item_believe():
    prior = skilled(LESSON).scorer.skill.heads.prior
    np.testing.assert_allclose(prior.centre, with_class(Directions.fit(X).of(X), PROBA, Y).mean(axis=0))


def test_a_table_is_learned_at_once_and_a_sample_is_said(monkeypatch):
    learned = learn_table(LESSON)
    assert set(learned.net.split("+")) <= {"trees", "linear"}
    assert "drawn at random" not in learned.sentence()
    monkeypatch.setattr("defero.estimators.skilled.MOST_ITEMS", 100)
    some = learn_table(LESSON)
    assert "Learned from 100 of 150 cases, drawn at random." in some.sentence()
    assert len(some.rows) == len(some.held_out.label_idx) == 100


def test_fewer_folds_for_more_cases():
    assert [n_folds(600, 3_600), n_folds(10_000, 0), n_folds(15_000, 18_000), n_folds(600, 80_000)] == [5, 5, 3, 3]
