"""A team whose heads are told the class, for votes: who joins, who leaves, and the folder."""

from dataclasses import replace

import numpy as np
import pytest

from defero import InputError
from defero.core.codec import pack, unpack
from defero.core.scores import sigmoid
from defero.heads import Lens, fit_class_heads, fit_heads
from defero.scorers.network import NetworkScorer
from defero.scorers.team import TeamScorer

N, D, K = 300, 3, 2
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
LABEL = (RNG.random(N) < sigmoid(X[:, 0])).astype(np.int64)
ITEM, EXPERT = np.divmod(np.arange(4 * N), 4)
RIGHT = RNG.random(4 * N) < np.where(LABEL[ITEM] == 1, 0.6, 0.9)


def team():
    heads = {"class": (RNG.normal(size=(D, K)), np.zeros(K)), "expert": (np.zeros((D, 0)), np.zeros(0))}
    base = NetworkScorer("decoupled", np.zeros(D), np.ones(D), {"class": (), "expert": ()}, heads, False)
    lens = Lens.fit(X, reads_classes=True)
    proba = base.score(X).class_proba
    seen, groups = lens.transform(X, proba), lens.groups(X, n_classes=K)
    plain = fit_heads(seen, ITEM, EXPERT, RIGHT, n_experts=4, groups=groups)
    told = fit_class_heads(seen, proba, LABEL, ITEM, EXPERT, RIGHT, n_experts=4, groups=groups)
    return TeamScorer(base, lens, plain, n_own=0, order=np.arange(4), class_heads=told)


def test_skill_is_that_of_the_heads():
    one = team()
    proba = one.base.score(X).class_proba
    skill = one.class_skill(X)
    assert skill.shape == (N, 4, K)
    assert np.array_equal(skill.right, one.class_heads.skill(one.lens.transform(X, proba), proba).right)
    assert (skill.right.mean(axis=(0, 1)).round(1) == [0.9, 0.6]).all()
    turned = replace(one, order=np.array([2, 0, 3, 1]))
    assert np.array_equal(turned.class_skill(X).right, skill.right[:, [2, 0, 3, 1]])
    without = replace(one, class_heads=None)
    assert without.class_skill(X) is None
    assert np.array_equal(without.score(X).expert_raw, one.score(X).expert_raw)  # decisions are as they were


def test_who_joins_and_leaves_changes_nobody_else():
    one = team()
    before = one.class_skill(X).right
    joined = one.with_expert(X[:50], RIGHT[:50], label_idx=LABEL[:50])
    after = joined.class_skill(X).right
    assert np.array_equal(after[:, :4], before)
    assert after.shape == (N, 5, K)
    left = joined.without_expert(1)
    assert np.array_equal(left.class_skill(X).right, np.delete(after, 1, axis=1))
    assert np.array_equal(left.without_expert(3).class_skill(X).right, np.delete(before, 1, axis=1))
    unknown = one.with_unknown()
    nothing = one.with_expert(X[:0], RIGHT[:0], label_idx=LABEL[:0])
    assert np.array_equal(unknown.class_skill(X).right, nothing.class_skill(X).right)
    assert np.array_equal(unknown.score(X).expert_raw, nothing.score(X).expert_raw)


def test_a_newcomer_needs_the_classes():
    with pytest.raises(InputError, match="label_idx must be the class of each item"):
        team().with_expert(X[:5], RIGHT[:5])


def test_saved_and_read_it_is_the_same():
    one = team().with_expert(X[:50], RIGHT[:50], label_idx=LABEL[:50]).without_expert(0)
    again = unpack(TeamScorer, pack(one))
    assert np.array_equal(again.class_skill(X).right, one.class_skill(X).right)
