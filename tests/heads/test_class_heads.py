import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core.codec import pack, unpack
from defero.core.scores import sigmoid
from defero.heads import ClassHeads, Heads, fit_class_heads, fit_heads
from defero.heads.class_heads import errors_on_record, groups_with_class, with_class

NO_GROUPS = np.zeros(0, dtype=np.int64)


def crowd(n_experts, per_expert, skill, *, seed=0):
    """Return labels, a posterior that knows nothing, items, experts and rightness; skill (J, K)."""
    rng = np.random.default_rng(seed)
    m, n_classes = n_experts * per_expert, skill.shape[1]
    label, expert = rng.integers(n_classes, size=m), np.repeat(np.arange(n_experts), per_expert)
    return label, np.full((m, n_classes), 1 / n_classes), np.arange(m), expert, rng.random(m) < skill[expert, label]


def fitted(n_experts, label, flat, item, expert, right, **more):
    nothing = np.zeros((len(label), 0))
    return fit_class_heads(nothing, flat, label, item, expert, right, n_experts=n_experts, groups=NO_GROUPS, **more)


def skill_of(heads, n_classes):
    return heads.skill(np.zeros((1, 0)), np.full((1, n_classes), 1 / n_classes)).right[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_answers_give_how_often_each_is_right_on_each_class(n_classes):
    skill = np.random.default_rng(1).uniform(0.5, 0.95, (4, n_classes))
    label, flat, item, expert, right = crowd(4, 4_000, skill)
    found = skill_of(fitted(4, label, flat, item, expert, right), n_classes)
    counted = [[right[(expert == j) & (label == k)].mean() for k in range(n_classes)] for j in range(4)]
    assert np.abs(found - counted).max() < 0.01


def test_few_answers_are_drawn_to_the_population_of_each_class():
    skill = np.tile([0.95, 0.6], (30, 1))
    label, flat, item, expert, right = crowd(30, 40, skill)
    few = fitted(31, label, flat, item, expert, right)  # the last has answered nothing
    found = skill_of(few, 2)
    assert np.abs(found[:30] - [0.95, 0.6]).max() < 0.12
    assert np.abs(found[30] - [0.95, 0.6]).max() < 0.05
    assert found[:30].std(axis=0).max() < 0.06  # counted shares would spread by 0.05 and 0.11
    assert np.array_equal(few.heads.n_answers, [40] * 30 + [0])


def test_told_the_class_answers_are_foreseen_better_than_without():
    rng = np.random.default_rng(2)
    skill = np.column_stack([rng.uniform(0.8, 0.98, 40), rng.uniform(0.4, 0.8, 40)])
    label, flat, item, expert, right = crowd(40, 60, skill)
    told_apart = skill_of(fitted(40, label, flat, item, expert, right), 2)
    one_number = fit_heads(np.zeros((len(label), 0)), item, expert, right, n_experts=40).proba(np.zeros((1, 0)))[0]
    new = crowd(40, 200, skill, seed=5)
    label, _, _, expert, right = new

    def loss(proba):
        return -np.mean(np.log(np.where(right, proba, 1 - proba)))

    assert loss(told_apart[expert, label]) < loss(one_number[expert]) - 0.03
    best = loss(skill[expert, label])
    assert loss(told_apart[expert, label]) < best + 0.02


def test_who_is_led_by_what_leads_the_model():
    # Right where the class looks likely: 1 of log-odds for 1 of the model's.
    rng = np.random.default_rng(3)
    share = rng.uniform(0.05, 0.95, 3_000)
    proba = np.column_stack([1 - share, share])
    label = (rng.random(3_000) < share).astype(int)
    own = np.log(proba[np.arange(3_000), label] / (1 - proba[np.arange(3_000), label]))
    right = rng.random(3_000) < sigmoid(0.5 + own)
    nothing = np.zeros((3_000, 0))
    heads = fit_class_heads(
        nothing, proba, label, np.arange(3_000), np.arange(3_000) % 5, right, n_experts=5, groups=NO_GROUPS
    )
    found = heads.skill(np.zeros((1, 0)), np.array([[0.2, 0.8]])).right[0]
    assert found == pytest.approx(np.tile(sigmoid(0.5 + np.log([0.25, 4.0])), (5, 1)), abs=0.06)


@given(st.integers(2, 6), st.integers(0, 99))
def test_what_a_head_is_told(n_classes, seed):
    rng = np.random.default_rng(seed)
    seen, proba, label = rng.normal(size=(4, 2)), rng.dirichlet(np.ones(n_classes), 4), rng.integers(n_classes, size=4)
    found = with_class(seen, proba, label)
    assert np.array_equal(found[:, :2], seen)
    if n_classes == 2:
        assert np.array_equal(found[:, 2], label)
    else:
        assert np.array_equal(found[:, 2:-1], np.eye(n_classes)[label])
    chosen = np.clip(proba[np.arange(4), label], 1e-300, None)
    assert found[:, -1] == pytest.approx(np.clip(np.log(chosen / (1 - chosen)), -7, 7))
    assert len(groups_with_class(np.array([0, 0]), n_classes=n_classes)) == found.shape[1]


def test_certain_posteriors_and_many_classes():
    certain = with_class(np.zeros((2, 0)), np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1]))
    assert certain.tolist() == [[0.0, 7.0], [1.0, -7.0]]
    many = with_class(np.zeros((1, 1)), np.full((1, 33), 1 / 33), np.array([4]))
    assert many.shape == (1, 2)  # nobody has a constant for each of 33 classes
    assert len(groups_with_class(np.array([0]), n_classes=33)) == 2
    assert groups_with_class(NO_GROUPS, n_classes=2).tolist() == [0, 1]


def test_errors_on_record_by_hand():
    label, said = np.array([0, 0, 0, 1, 2]), np.array([1, 1, 0, 1, 0])
    found = errors_on_record(label, said, n_classes=3)
    assert found == pytest.approx(np.array([[0, 3 / 4, 1 / 4], [1 / 2, 0, 1 / 2], [2 / 3, 1 / 3, 0]]))
    assert errors_on_record(label % 2, said, n_classes=2).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_what_was_said_by_who_was_wrong_is_kept():
    skill = np.full((2, 3), 0.6)
    label, flat, item, expert, right = crowd(2, 300, skill)
    said = np.where(right, label, (label + 1) % 3)
    heads = fitted(2, label, flat, item, expert, right, answer_idx=said)
    assert (heads.errors[np.arange(3), (np.arange(3) + 1) % 3] > 0.95).all()
    alike = fitted(2, label, flat, item, expert, right)
    assert alike.errors == pytest.approx((1 - np.eye(3)) / 2)
    assert np.array_equal(skill_of(heads, 3), skill_of(alike, 3))


def test_who_joins_and_leaves_changes_nobody_else_and_the_folder_keeps_all():
    skill = np.random.default_rng(4).uniform(0.5, 0.95, (5, 2))
    label, flat, item, expert, right = crowd(5, 100, skill)
    known = expert < 4
    heads = fitted(4, label, flat, item[known], expert[known], right[known])
    nothing = np.zeros((100, 0))
    joined = heads.with_expert(nothing, flat[~known], label[~known], right[~known])
    assert np.array_equal(skill_of(joined, 2)[:4], skill_of(heads, 2))
    direct = fit_heads(
        with_class(np.zeros((500, 0)), flat, label), item, expert, right, n_experts=5, prior=heads.heads.prior
    )
    assert np.array_equal(joined.heads.weights, direct.weights)
    assert np.array_equal(skill_of(joined.take([4, 0]), 2), skill_of(joined, 2)[[4, 0]])
    unknown = heads.with_unknown()
    empty = heads.with_expert(nothing[:0], flat[:0], label[:0], right[:0])
    assert np.array_equal(skill_of(unknown, 2), skill_of(empty, 2))
    again = unpack(ClassHeads, pack(joined))
    assert np.array_equal(skill_of(again, 2), skill_of(joined, 2))
    assert np.array_equal(again.errors, joined.errors)


@pytest.mark.parametrize("reads_belief", [True, False])
def test_log_odds_sum_the_skill_over_the_classes(reads_belief):
    label, _, item, expert, right = crowd(3, 200, np.random.default_rng(2).uniform(0.5, 0.95, (3, 4)))
    proba = np.random.default_rng(3).dirichlet(np.ones(4), size=len(label))
    heads = fitted(3, label, proba, item, expert, right, reads_belief=reads_belief)
    phi, few = np.zeros((7, 0)), proba[:7]
    slow = [
        [sum(few[i, k] * heads.skill(phi, few).right[i, j, k] for k in range(4)) for j in range(3)] for i in range(7)
    ]
    assert np.allclose(sigmoid(heads.log_odds(phi, few)), slow, atol=1e-12)


def test_the_bound_on_the_sd_is_that_of_the_class_where_the_class_is_certain():
    label, flat, item, expert, right = crowd(3, 200, np.random.default_rng(2).uniform(0.5, 0.95, (3, 2)))
    heads = fitted(3, label, flat, item, expert, right, reads_belief=False)
    certain = np.array([[1.0, 0.0], [0.0, 1.0]])
    sd = heads.logit_sd(np.zeros((2, 0)), certain)
    expected = heads.heads.logit_sd(with_class(np.zeros((2, 0)), certain, np.array([0, 1]), reads_belief=False))
    assert np.allclose(sd, expected)
    between = heads.logit_sd(np.zeros((1, 0)), np.array([[0.5, 0.5]]))
    assert (between > 0).all()


def test_heads_that_read_no_belief_have_the_same_skill_whatever_the_model_believes():
    label, flat, item, expert, right = crowd(2, 100, np.array([[0.9, 0.6], [0.5, 0.8]]))
    heads = fitted(2, label, flat, item, expert, right, reads_belief=False)
    skill = heads.skill(np.zeros((2, 0)), np.array([[0.9, 0.1], [0.2, 0.8]])).right
    assert (skill[0] == skill[1]).all()
    again = unpack(ClassHeads, pack(heads))
    assert not again.reads_belief
    assert np.allclose(again.skill(np.zeros((1, 0)), flat[:1]).right, skill[:1], atol=1e-12)


def test_sums_are_finite_where_everybody_is_certain():
    label, flat, item, expert, right = crowd(2, 50, np.array([[0.9, 0.6], [0.5, 0.8]]))
    heads = fitted(2, label, flat, item, expert, right)
    sure = ClassHeads(
        Heads(heads.heads.prior, heads.heads.weights + 400.0, heads.heads.covariance * 0, heads.heads.n_answers),
        heads.errors,
    )
    proba = np.random.default_rng(0).dirichlet(np.ones(2), size=200)
    assert np.isfinite(sure.log_odds(np.zeros((200, 0)), proba)).all()
    assert np.isfinite(sure.logit_sd(np.zeros((200, 0)), proba)).all()
