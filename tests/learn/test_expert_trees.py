"""Trees on top of the skill: grown where they gain, judged by answers that they have not seen."""

from dataclasses import replace

import numpy as np
import pytest
from skill_crowds import answers_of, flat, skill_of

from defero.core.codec import pack, unpack
from defero.core.scores import sigmoid
from defero.learn.boost import Bins
from defero.learn.classes import TreeColumns, Trees
from defero.learn.fit_skill import _stage, grow_expert_trees
from defero.learn.skill import Skill

N, K = 900, 2
FOLD = np.arange(N) % 3
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (N, 2))
LABEL = RNG.integers(K, size=N)
KNOWS = X[:, 0] * X[:, 1] > 0  # no plane tells these cases from the others
BINS, COLUMNS = Bins(X, 0), TreeColumns.of(2)


def crowd(p_right, n_answers, *, seed=0):
    """Return answers of experts who are right on item i with p_right[i, j], to their first n_answers[j] items."""
    rng = np.random.default_rng(seed)
    expert = np.repeat(np.arange(len(n_answers)), n_answers)
    item = np.concatenate([rng.permutation(N)[:m] for m in n_answers])
    right = rng.random(len(item)) < p_right[item, expert]
    return answers_of(X, flat(N, K), LABEL, item, expert, right, len(n_answers))


def grown(answers, judged=(0, 1, 2)):
    return grow_expert_trees(answers, answers.held_out(FOLD, answers.by_fold(FOLD)), BINS, FOLD, judged)


@pytest.fixture(scope="module")
def specialists():
    corner = np.where(KNOWS, 0.95, 0.2)
    return crowd(np.column_stack([corner, 0.3 + 0.9 * (1 - corner) / 2, corner]), [900, 900, 90])


def test_who_has_a_corner_and_many_answers_gets_trees(specialists):
    trees = grown(specialists)
    assert trees.experts.tolist() == [0, 1]  # the third has answered too little
    skill = skill_of(X, specialists)
    more = replace(skill, trees=Trees(COLUMNS, trees.forest), tree_experts=trees.experts)
    plain, right = skill.right(X, flat(N, K))[:, 0, 0], more.right(X, flat(N, K))[:, 0, 0]
    truth = np.where(KNOWS, 0.95, 0.2)
    assert np.abs(right - truth).mean() < 0.4 * np.abs(plain - truth).mean()
    np.testing.assert_array_equal(more.right(X, flat(N, K))[:, 2], skill.right(X, flat(N, K))[:, 2])


def test_nobody_gets_trees_where_planes_tell_all():
    plane = sigmoid(1.0 + 2.0 * X[:, :1] + np.array([0.0, 0.5]))
    assert grown(crowd(plane, [900, 900])) is None
    assert grown(crowd(np.full((N, 2), 0.8), [99, 40])) is None  # too few answers


def test_held_out_trees_have_not_seen_the_fold(specialists, monkeypatch):
    """Other answers in a fold change the trees of the others, and not those by which the fold is judged."""
    monkeypatch.setattr("defero.learn.fit_skill.STAGES", np.array([0.0, 1.0]))  # how many there are stays
    start = specialists.held_out(FOLD, specialists.by_fold(FOLD))
    changed = np.flatnonzero((FOLD[specialists.item_idx] == 1) & (specialists.item_idx % 40 == 1))
    other = specialists.right.copy()
    other[changed] = ~other[changed]
    before, after = (
        grow_expert_trees(one, start, BINS, FOLD, [0, 1, 2]) for one in (specialists, replace(specialists, right=other))
    )
    assert [len(one.output) for one in before.by_fold] == [len(one.output) for one in after.by_fold]
    np.testing.assert_array_equal(after.by_fold[1].predict(X), before.by_fold[1].predict(X))
    for k in (0, 2):
        assert (after.by_fold[k].predict(X) != before.by_fold[k].predict(X)).any()
    assert (after.forest.predict(X) != before.forest.predict(X)).any()


def test_one_judged_fold_gives_the_forest_of_that_fold(specialists):
    one = grown(specialists, judged=[2])
    assert len(one.by_fold) == 1
    place = int(np.flatnonzero(one.experts == 0)[0])
    corner = one.by_fold[0].predict(X[FOLD == 2])[:, place]
    assert corner[KNOWS[FOLD == 2]].mean() > 1 > -0.5 > corner[~KNOWS[FOLD == 2]].mean()


def test_skill_with_trees_is_taken_told_by_cells_and_saved(specialists):
    trees, even = grown(specialists), flat(N, K)
    skill = replace(skill_of(X, specialists), trees=Trees(COLUMNS, trees.forest), tree_experts=trees.experts)
    table = skill.right(X, even)
    alone = skill.of_answers(X, even, specialists.item_idx, specialists.expert_idx)
    np.testing.assert_allclose(alone, table[specialists.item_idx, specialists.expert_idx], rtol=0, atol=1e-12)
    for some in ([1, 0], [2, 1], [2]):
        np.testing.assert_allclose(skill.take(some).right(X, even), table[:, some], rtol=0, atol=1e-12)
    assert skill.take([2]).trees is None
    joined = skill.with_expert(X[:9], even[:9], LABEL[:9], np.ones(9)).with_unknown()
    np.testing.assert_array_equal(joined.right(X, even)[:, :3], table)
    np.testing.assert_array_equal(unpack(Skill, pack(joined)).right(X, even), joined.right(X, even))


def test_an_answer_of_weight_0_grows_nothing(specialists):
    used = np.arange(len(specialists.item_idx)) % 5 > 0
    other = np.where(used, specialists.right, ~specialists.right)
    weights = replace(specialists, weight=used.astype(float))
    start = weights.held_out(FOLD, weights.by_fold(FOLD))
    one, two = (
        grow_expert_trees(each, start, BINS, FOLD, [0, 1, 2]) for each in (weights, replace(weights, right=other))
    )
    np.testing.assert_array_equal(one.forest.predict(X), two.forest.predict(X))


def test_trees_that_are_no_better_beyond_chance_are_left_out():
    """The least loss is 3 below none; a standard error is the root of the sum of squares."""
    loss = np.array([100.0, 98.0, 97.0, 99.0])
    assert _stage(loss, np.array([0.0, 1.0, 8.9, 1.0])) == 2
    assert _stage(loss, np.array([0.0, 1.0, 9.1, 1.0])) == 0
    assert _stage(np.array([100.0, 101.0]), np.zeros(2)) == 0
