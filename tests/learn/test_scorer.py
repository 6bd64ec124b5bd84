"""SkillScorer: a base gives the classes and its own experts, the skill the others; who joins changes nobody else."""

import numpy as np
import pytest
from skill_crowds import answers_of, flat, skill_of

from defero import InputError
from defero.core.codec import pack, unpack
from defero.core.scores import sigmoid
from defero.learn.heads import Heads
from defero.learn.scorer import SkillScorer
from defero.learn.skill import Directions, Skill, summed
from defero.scorers.network import NetworkScorer

N, D, K = 300, 3, 2
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
LABEL = RNG.integers(K, size=N)
ITEM, EXPERT = np.divmod(np.arange(4 * N), 4)
RIGHT = RNG.random(4 * N) < sigmoid(0.5 + X[ITEM, EXPERT % D] + LABEL[ITEM])


def network(n_experts, loss="decoupled", hidden=0):
    rng = np.random.default_rng(1)
    layers = ((rng.normal(size=(D, hidden)), np.zeros(hidden)),) if hidden else ()
    seen = (hidden or D) + (K if hidden else 0)
    heads = {
        "class": (rng.normal(size=(D, K)), np.zeros(K)),
        "expert": (rng.normal(size=(seen, n_experts)), np.zeros(n_experts)),
    }
    if loss == "moe":
        heads["model"] = (rng.normal(size=(seen, 1)), np.zeros(1))
    return NetworkScorer(loss, np.zeros(D), np.ones(D), {"class": (), "expert": layers}, heads, bool(hidden))


def read(base):
    hidden = base.hidden(X)
    return np.column_stack([X, hidden]) if hidden.shape[1] else X


def skilled(hidden=0):
    """The skill of four experts beside a base that knows none."""
    base = network(4, hidden=hidden).without_experts()
    seen, proba = read(base), base.score(X).class_proba
    return SkillScorer(base, skill_of(seen, answers_of(seen, proba, LABEL, ITEM, EXPERT, RIGHT, 4)), 0, np.arange(4))


def own(loss="decoupled", hidden=0):
    """A base that knows all four, and a population for those who join."""
    base = network(4, loss, hidden)
    seen = read(base)
    answers = answers_of(seen, flat(N, K), LABEL, ITEM, EXPERT, RIGHT, 4)
    nobody = Heads.none(answers.population(np.arange(4 * N)))
    return SkillScorer(base, Skill(Directions.fit(seen), nobody, K, reads_belief=False), 4, np.arange(4))


MAKERS = [skilled, own, lambda: own("softmax"), lambda: own("asymmetric"), lambda: own(hidden=5)]


def test_the_base_gives_the_classes_and_the_skill_the_experts():
    team = skilled()
    scores, base = team.score(X), team.base.score(X)
    assert np.array_equal(scores.class_proba, base.class_proba)
    assert np.array_equal(scores.model_proba, base.model_proba)
    right = team.skill.right(X, base.class_proba)
    np.testing.assert_allclose(scores.expert_proba, summed(right, base.class_proba), atol=1e-12)
    np.testing.assert_array_equal(team.right_by_class(X), right)


def test_a_base_that_knows_everybody_is_left_alone():
    team = own()
    assert np.array_equal(team.score(X).expert_raw, team.base.score(X).expert_raw)
    assert np.isnan(team.logit_posterior(X)[1]).all()
    np.testing.assert_array_equal(team.right_by_class(X)[:, :, 0], team.base.score(X).expert_proba)


def test_the_posterior_s_middle_gives_back_the_probability():
    team = skilled()
    middle, sd = team.logit_posterior(X)
    np.testing.assert_allclose(sigmoid(middle / np.sqrt(1 + np.pi * sd**2 / 8)), team.score(X).expert_proba)


@pytest.mark.parametrize("make", MAKERS)
def test_who_joins_changes_nobody_else_and_who_leaves_neither(make):
    team = make()
    before = team.score(X)
    joined = team.with_expert(X[:50], RIGHT[:50], label_idx=LABEL[:50])
    scores = joined.score(X)
    assert (scores.n_experts, scores.link) == (5, before.link)
    np.testing.assert_allclose(scores.expert_raw[:, :4], before.expert_raw, rtol=0, atol=1e-12)
    assert np.array_equal(scores.class_proba, before.class_proba)
    left = joined.without_expert(1)
    np.testing.assert_allclose(left.score(X).expert_raw, np.delete(scores.expert_raw, 1, axis=1), atol=1e-12)
    np.testing.assert_allclose(left.right_by_class(X), np.delete(joined.right_by_class(X), 1, axis=1), atol=1e-12)
    twice = left.with_expert(X[50:90], RIGHT[50:90], label_idx=LABEL[50:90]).without_expert(3)
    np.testing.assert_allclose(twice.score(X).expert_raw[:, :3], left.score(X).expert_raw[:, :3], atol=1e-12)
    assert np.isfinite(twice.logit_posterior(X)[1][:, 3]).all()


@pytest.mark.parametrize("make", MAKERS)
def test_saved_and_read_it_scores_the_same(make):
    team = make().with_expert(X[:50], RIGHT[:50], label_idx=LABEL[:50]).without_expert(0)
    again = unpack(SkillScorer, pack(team))
    assert np.array_equal(again.score(X).expert_raw, team.score(X).expert_raw)
    assert np.array_equal(again.right_by_class(X), team.right_by_class(X))


def test_a_newcomer_beside_softmax_has_a_log_probability():
    scores = own("softmax").with_expert(X[:50], RIGHT[:50], label_idx=LABEL[:50]).score(X)
    assert np.allclose(np.exp(scores.expert_raw[:, 4]), scores.expert_proba[:, 4])


def test_nobody_joins_a_mixture_of_experts():
    with pytest.raises(InputError, match="no expert can join; fit again"):
        own("moe").with_expert(X[:5], RIGHT[:5], label_idx=LABEL[:5])


@pytest.mark.parametrize("make", MAKERS)
def test_without_answers_a_newcomer_is_the_population(make):
    team = make()
    unknown, told_nothing = team.with_unknown(), team.with_expert(X[:0], RIGHT[:0], label_idx=LABEL[:0])
    np.testing.assert_array_equal(unknown.score(X).expert_raw, told_nothing.score(X).expert_raw)


def test_odd_parts_are_refused():
    team = skilled()
    with pytest.raises(InputError, match="base must be a scorer that has no skill itself"):
        SkillScorer(team, team.skill, 0, np.arange(4))
    with pytest.raises(InputError, match="order must name one of 4 experts"):
        SkillScorer(team.base, team.skill, 0, np.arange(5))
