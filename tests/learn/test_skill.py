"""Skill by class: known laws are found, few answers shrink, newcomers stand as after a refit, memory stays small."""

import time
import tracemalloc

import numpy as np
import pytest
from skill_crowds import answers_of, draw, flat, skill_of
from sklearn.decomposition import PCA

from defero.core.codec import pack, unpack
from defero.core.errors import InputError
from defero.core.scores import sigmoid
from defero.learn.fit_skill import SkillAnswers
from defero.learn.heads import Heads
from defero.learn.skill import MOST_CLASSES, Directions, Skill, blocks, summed, with_class

NOTHING = np.zeros((1, 0))


def a_skill(seed=0, **crowd):
    features, label_idx, item, expert, right, truth = draw(seed, **crowd)
    even = flat(len(features), truth.shape[2])
    answers = answers_of(features, even, label_idx, item, expert, right, truth.shape[1])
    return skill_of(features, answers), features, even, answers, truth


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_known_law_is_found(n_classes):
    skill, features, even, _, truth = a_skill(n=3_000, each=3_000, n_classes=n_classes)
    assert np.abs(skill.right(features, even) - truth).mean() < 0.02
    few, features, even, _, truth = a_skill(n=3_000, each=100, n_experts=40, n_classes=n_classes)
    known = np.abs(few.right(features, even) - truth).mean()
    population = np.abs(few.take([0]).with_unknown().right(features, even)[:, 1:] - truth).mean()
    assert known < 0.6 * population  # a hundred answers tell each from the others


def test_who_is_led_by_what_leads_the_model():
    """Right where the class looks likely: 1 of log-odds for 1 of the model's."""
    rng = np.random.default_rng(3)
    share = rng.uniform(0.05, 0.95, 3_000)
    proba = np.column_stack([1 - share, share])
    label_idx = (rng.random(3_000) < share).astype(int)
    of_label = proba[np.arange(3_000), label_idx]
    right = rng.random(3_000) < sigmoid(0.5 + np.log(of_label / (1 - of_label)))
    nothing = np.zeros((3_000, 0))
    answers = answers_of(nothing, proba, label_idx, np.arange(3_000), np.arange(3_000) % 5, right, 5)
    found = skill_of(nothing, answers).right(NOTHING, np.array([[0.2, 0.8]]))[0]
    assert found == pytest.approx(np.tile(sigmoid(0.5 + np.log([0.25, 4.0])), (5, 1)), abs=0.06)


def test_permuted_experts_permute_the_skill():
    skill, features, even, answers, _ = a_skill()
    order = np.array([3, 0, 5, 1, 4, 2])
    place = np.argsort(order)
    moved = answers_of(features, even, answers.label_idx, answers.item_idx, place[answers.expert_idx], answers.right, 6)
    again = skill_of(features, moved).right(features, even)
    np.testing.assert_allclose(again, skill.right(features, even)[:, order], atol=1e-6)
    np.testing.assert_allclose(skill.take(order).right(features, even), again, atol=1e-6)


def test_permuted_classes_permute_the_skill():
    skill, features, even, answers, _ = a_skill()
    order = np.array([2, 0, 1])
    label_idx = np.argsort(order)[answers.label_idx]
    moved = answers_of(features, even, label_idx, answers.item_idx, answers.expert_idx, answers.right, 6)
    again = skill_of(features, moved).right(features, even)
    np.testing.assert_allclose(again, skill.right(features, even)[:, :, order], atol=1e-6)


@pytest.mark.parametrize("each", [1, 30, 2_000])
def test_one_expert_alone(each):
    skill, features, even, answers, truth = a_skill(n=2_000, each=each, n_experts=1)
    right = skill.right(features, even)
    assert right.shape == (2_000, 1, 3)
    assert ((right > 0) & (right < 1)).all()
    if each == 2_000:
        kept = right[answers.item_idx, 0, answers.label_idx[answers.item_idx]]
        assert kept.mean() == pytest.approx(answers.right.mean(), abs=0.01)
        assert np.abs(right - truth).mean() < 0.04


def test_who_has_not_answered_is_the_population():
    """Their P(right) is the mean over people who may join: neither the mean over answers nor that of one weight."""
    _, features, even, answers, truth = a_skill(n=400, n_experts=300, each=40, spread=1.0)
    told = answers_of(features, even, answers.label_idx, answers.item_idx, answers.expert_idx, answers.right, 301)
    skill = skill_of(features, told)
    unknown = skill.right(features, even)[:, 300]
    np.testing.assert_allclose(unknown, skill.with_unknown().right(features, even)[:, 301], atol=1e-12)
    assert np.abs(unknown - truth.mean(axis=1)).mean() < 0.03
    prior = skill.heads.prior
    draws = np.random.default_rng(0).normal(size=(4_000, len(prior.mean)))
    inputs = skill.directions.of(features[:20])
    phi = prior.design(with_class(inputs, even[:20], np.zeros(20, int)))
    people = prior.mean + draws @ np.linalg.cholesky(prior.covariance() + 1e-12 * np.eye(len(prior.mean))).T
    np.testing.assert_allclose(unknown[:20, 0], sigmoid(phi @ people.T).mean(axis=1), atol=0.02)


def test_few_answers_are_drawn_to_the_population():
    """Somebody always wrong, after 0, 1, 3, 10 and 200 answers: from the population to their own share, by degrees."""
    _, features, even, answers, _ = a_skill(n=400, n_experts=50, each=60)
    population = skill_of(features, answers)
    rows, found = np.arange(200), [summed(population.with_unknown().right(features, even), even)[:, 50].mean()]
    for m in (1, 3, 10, 200):
        some = rows[:m]
        more = population.with_expert(features[some], even[some], answers.label_idx[some], np.zeros(m))
        found.append(summed(more.right(features, even), even)[:, 50].mean())
    assert found == sorted(found, reverse=True)
    assert found[0] - found[1] < 0.1
    assert found[-1] < 0.25 * found[0]


@pytest.mark.parametrize("m", [0, 5, 80])
def test_a_newcomer_s_answers_count_as_in_a_fit_with_the_same_population(m):
    skill, features, even, answers, _ = a_skill()
    rng = np.random.default_rng(1)
    items, right = rng.permutation(len(features))[:m], rng.random(m) < 0.6
    joined = skill.with_expert(features[items], even[items], answers.label_idx[items], right)
    whole = answers_of(
        features,
        even,
        answers.label_idx,
        np.concatenate([answers.item_idx, items]),
        np.concatenate([answers.expert_idx, np.full(m, 6)]),
        np.concatenate([answers.right, right]),
        7,
    )
    refitted = skill_of(features, whole, skill.heads.prior)
    np.testing.assert_allclose(joined.right(features, even), refitted.right(features, even), atol=1e-6)
    np.testing.assert_array_equal(joined.right(features, even)[:, :6], skill.right(features, even))
    learned_anew = skill_of(features, whole).right(features, even)
    assert (
        np.abs(learned_anew - refitted.right(features, even)).mean() < 0.03
    )  # one of seven moves the population little


def test_with_more_than_32_classes_nobody_has_a_skill_in_each():
    n_classes = MOST_CLASSES + 8
    rng = np.random.default_rng(0)
    features, label_idx = rng.normal(size=(500, 1)), rng.integers(n_classes, size=500)
    proba = rng.dirichlet(np.full(n_classes, 0.5), 500)
    item, expert = np.repeat(np.arange(500), 3), np.tile(np.arange(3), 500)
    answers = answers_of(features, proba, label_idx, item, expert, rng.random(1_500) < 0.7, 3)
    skill = skill_of(features, answers)
    assert skill.heads.prior.n_features == 2  # the feature, and how likely the class looked
    right = skill.right(features, proba)
    assert right.shape == (500, 3, n_classes)
    same = skill.right(features[:1], flat(1, n_classes))
    assert np.ptp(same, axis=2).max() == 0
    assert blocks(1, n_classes=n_classes).tolist() == [0, 2]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_an_answer_s_weights_read(n_classes):
    rng = np.random.default_rng(n_classes)
    inputs, proba = rng.normal(size=(4, 2)), rng.dirichlet(np.ones(n_classes), 4)
    label_idx = rng.integers(n_classes, size=4)
    found = with_class(inputs, proba, label_idx)
    is_class = label_idx[:, None] if n_classes == 2 else np.eye(n_classes)[label_idx]
    chosen = proba[np.arange(4), label_idx]
    sign = 2 * is_class - 1 if n_classes == 2 else is_class
    by_class = (inputs[:, :, None] * sign[:, None, :]).reshape(4, -1)
    np.testing.assert_allclose(found, np.column_stack([inputs, is_class, np.log(chosen / (1 - chosen)), by_class]))
    assert len(blocks(2, n_classes=n_classes)) == found.shape[1]
    certain = with_class(NOTHING, np.array([[1.0, 0.0]]), np.array([1]))
    assert certain.tolist() == [[1.0, -7.0]]


def test_answers_alone_have_the_skill_of_the_table():
    skill, features, even, answers, _ = a_skill()
    alone = skill.of_answers(features, even, answers.item_idx, answers.expert_idx)
    table = skill.right(features, even)
    np.testing.assert_allclose(alone, table[answers.item_idx, answers.expert_idx], rtol=0, atol=1e-12)
    assert skill.of_answers(features, even, answers.item_idx[:0], answers.expert_idx[:0]).shape == (0, 3)


def test_a_skill_that_reads_no_belief_is_the_same_whatever_the_model_believes():
    _, features, even, answers, _ = a_skill()
    heads = answers.heads(np.arange(len(answers.item_idx)))
    skill = Skill(Directions.fit(features), heads, 3, reads_belief=False)
    sure = np.tile([0.9, 0.05, 0.05], (len(features), 1))
    np.testing.assert_array_equal(skill.right(features, sure), skill.right(features, even))
    assert np.abs(skill.log_odds(features, sure)).max() < 20
    told = Skill(Directions.fit(features), heads, 3)
    assert told.right(features, sure).tolist() != skill.right(features, sure).tolist()


def test_who_joins_and_leaves_changes_nobody_else_and_the_folder_keeps_all():
    skill, features, even, answers, _ = a_skill()
    before = skill.right(features, even)
    joined = skill.with_expert(features[:9], even[:9], answers.label_idx[:9], np.ones(9)).with_unknown()
    after = joined.right(features, even)
    np.testing.assert_array_equal(after[:, :6], before)
    np.testing.assert_array_equal(joined.take([7, 0, 6]).right(features, even), after[:, [7, 0, 6]])
    again = unpack(Skill, pack(joined))
    np.testing.assert_array_equal(again.right(features, even), after)
    np.testing.assert_array_equal(again.logit_sd(features, even), joined.logit_sd(features, even))


def test_where_the_class_is_certain_the_sd_is_that_of_the_weights():
    skill, features, _, _, _ = a_skill()
    certain = np.eye(3)[np.zeros(len(features), int)]
    label_idx = np.zeros(len(features), int)
    expected = skill.heads.logit_sd(with_class(skill.directions.of(features), certain, label_idx))
    np.testing.assert_allclose(skill.logit_sd(features, certain), expected)
    assert (skill.logit_sd(features, flat(len(features), 3)) > 0).all()


def test_heads_of_a_fold_do_not_know_its_answers():
    features, label_idx, item, expert, right, _ = draw(2)
    even, fold = flat(len(features), 3), np.arange(len(features)) % 3

    def held_out(said_right):
        answers = answers_of(features, even, label_idx, item, expert, said_right, 6)
        of_folds = answers.by_fold(fold)
        return answers.held_out(fold, of_folds), of_folds

    (before, heads), (after, _) = held_out(right), held_out(np.where(fold[item] == 1, ~right, right))
    inside = fold[item] == 1
    np.testing.assert_array_equal(after[inside], before[inside])
    assert np.abs(after[~inside] - before[~inside]).min() > 0
    skill = Skill(Directions.fit(features), heads[1], 3)
    cells = np.flatnonzero(inside)
    expected = skill.log_odds(features, even)[item[cells], expert[cells]]
    np.testing.assert_allclose(before[inside], expected, atol=1e-12)


def test_an_answer_of_weight_0_is_as_if_absent():
    features, label_idx, item, expert, right, _ = draw(4)
    even, fold = flat(len(features), 3), np.arange(len(features)) % 3
    used = np.arange(len(item)) % 4 > 0
    fewer = answers_of(features, even, label_idx, item[used], expert[used], right[used], 6)
    weighted = answers_of(features, even, label_idx, item, expert, right, 6, weight=3.0 * used)
    for one, other in zip(weighted.by_fold(fold), fewer.by_fold(fold), strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)


def test_a_thousand_experts_take_the_memory_of_their_answers():
    """2,000 items, 1,000 experts, 20 answers each: (n, J, K) numbers would be 48 MB, (n, J) 16 MB."""
    features, label_idx, item, expert, right, _ = draw(5, n=2_000, n_experts=1_000, each=20, n_features=1)
    even = flat(2_000, 3)
    answers = answers_of(features, even, label_idx, item, expert, right, 1_000)
    started = time.process_time()
    skill = skill_of(features, answers)
    assert time.process_time() - started < 3.0  # 0.3 seconds
    tracemalloc.start()
    skill_of(features, answers)
    skill.of_answers(features, even, item, expert)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 14e6


def test_few_features_are_read_as_they_are_and_many_by_their_main_directions():
    rng = np.random.default_rng(0)
    few = rng.normal(size=(50, 12))
    np.testing.assert_allclose(Directions.fit(few).of(few), (few - few.mean(axis=0)) / few.std(axis=0))
    for n in (30, 400):  # fewer items than features, and more
        features = rng.normal(size=(n, 40)) @ rng.normal(size=(40, 60)) + rng.normal(size=60)
        directions = Directions.fit(features)
        standard = (features - features.mean(axis=0)) / features.std(axis=0)
        oracle = PCA(12).fit_transform(standard)
        np.testing.assert_allclose(np.abs(directions.of(features)), np.abs(oracle), atol=1e-8)
        again = unpack(Directions, pack(directions))
        np.testing.assert_array_equal(again.of(features), directions.of(features))


def test_directions_without_any_spread_are_left_out():
    features = np.outer(np.arange(20.0), np.ones(50))  # one direction, fifty times
    assert Directions.fit(features).of(features).shape == (20, 1)
    constant = np.column_stack([np.random.default_rng(0).normal(size=(100, 39)), np.full(100, 0.1)])
    assert np.isfinite(Directions.fit(constant).of(constant)).all()


def test_odd_parts_are_refused():
    skill, *_ = a_skill()
    with pytest.raises(InputError, match="axes must be finite numbers"):
        Directions(np.zeros(2), np.ones(2), np.full((2, 1), np.nan))
    with pytest.raises(InputError, match="heads must read 8 features, got 12"):
        Skill(Directions(np.zeros(1), np.ones(1)), skill.heads, 3)
    with pytest.raises(InputError, match="heads must read"):
        Skill(skill.directions, Heads.none(skill.heads.prior), 2)


def test_no_items_are_no_trouble():
    skill, features, even, *_ = a_skill()
    assert skill.right(features[:0], even[:0]).shape == (0, 6, 3)
    assert skill.logit_sd(features[:0], even[:0]).shape == (0, 6)


def test_nobody_has_answered():
    features = np.zeros((5, 2))
    none = np.zeros(0, dtype=np.int64)
    answers = SkillAnswers(features, flat(5, 2), np.zeros(5, int), none, none, none > 0, np.zeros(0), 2)
    right = skill_of(features, answers).right(features, flat(5, 2))
    assert right.shape == (5, 2, 2)
    assert np.abs(right - 0.5).max() < 0.01
