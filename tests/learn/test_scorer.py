import numpy as np
import pytest
from defero.heads import Heads, Lens, fit_heads, fit_prior
from defero.scorers.team import TeamScorer

from defero import InputError
from defero.core.codec import pack, unpack
from defero.core.scores import sigmoid
from defero.scorers.network import NetworkScorer

N, D, K = 300, 3, 2
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
ITEM, EXPERT = np.divmod(np.arange(4 * N), 4)
RIGHT = RNG.random(4 * N) < sigmoid(0.5 + X[ITEM, EXPERT % D])


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


def shrunk(hidden=0):
    base = network(4, hidden=hidden).without_experts()
    lens = Lens.fit(X, reads_classes=True, n_hidden=hidden)
    phi = lens.transform(X, base.score(X).class_proba, base.hidden(X) if hidden else None)
    heads = fit_heads(phi, ITEM, EXPERT, RIGHT, n_experts=4, groups=lens.groups(X, n_classes=K))
    return TeamScorer(base, lens, heads, n_own=0, order=np.arange(4))


def own(loss="decoupled"):
    lens = Lens.fit(X, reads_classes=False)
    prior = fit_prior(X, ITEM, EXPERT, RIGHT, n_experts=4)
    return TeamScorer(network(4, loss), lens, Heads.none(prior), n_own=4, order=np.arange(4))


def test_heads_give_the_experts_and_the_base_the_classes():
    team = shrunk()
    scores = team.score(X)
    base = team.base.score(X)
    phi = team.lens.transform(X, base.class_proba)
    assert np.array_equal(scores.class_proba, base.class_proba)
    assert np.array_equal(scores.model_proba, base.model_proba)
    assert np.array_equal(scores.expert_proba, team.heads.proba(phi))
    assert np.array_equal(team.logit_posterior(X)[1], team.heads.logit_sd(phi))


def test_a_base_that_knows_everybody_is_left_alone():
    team = own()
    assert np.array_equal(team.score(X).expert_raw, team.base.score(X).expert_raw)
    assert np.isnan(team.logit_posterior(X)[1]).all()


@pytest.mark.parametrize("make", [shrunk, own, lambda: own("softmax"), lambda: own("asymmetric"), lambda: shrunk(5)])
def test_who_joins_changes_nobody_else_and_who_leaves_neither(make):
    team = make()
    before = team.score(X)
    joined = team.with_expert(X[:50], RIGHT[:50])
    scores = joined.score(X)
    assert (scores.n_experts, scores.link) == (5, before.link)
    assert np.array_equal(scores.expert_raw[:, :4], before.expert_raw)
    assert np.array_equal(scores.class_proba, before.class_proba)
    left = joined.without_expert(1)
    assert np.array_equal(left.score(X).expert_raw, np.delete(scores.expert_raw, 1, axis=1))
    twice = left.with_expert(X[50:90], RIGHT[50:90]).without_expert(3)
    assert np.array_equal(twice.score(X).expert_raw[:, :3], left.score(X).expert_raw[:, :3])
    assert np.isfinite(twice.logit_posterior(X)[1][:, 3]).all()
    assert np.array_equal(left.logit_posterior(X)[1][:, 3], joined.logit_posterior(X)[1][:, 4])


def test_a_newcomer_beside_softmax_has_a_log_probability():
    team = own("softmax").with_expert(X[:50], RIGHT[:50])
    scores = team.score(X)
    assert np.allclose(np.exp(scores.expert_raw[:, 4]), scores.expert_proba[:, 4])


def test_nobody_joins_a_mixture_of_experts():
    with pytest.raises(InputError, match="no expert can join; fit again"):
        own("moe").with_expert(X[:5], RIGHT[:5])


def test_without_answers_a_newcomer_is_the_population():
    team = shrunk()
    newcomer = team.with_expert(X[:0], np.zeros(0, dtype=bool)).score(X).expert_proba[:, 4]
    prior = team.heads.prior
    design = prior.design(team.lens.transform(X, team.base.score(X).class_proba))
    variance = np.einsum("ia,ab,ib->i", design, prior.covariance(), design)
    assert np.allclose(newcomer, sigmoid(design @ prior.mean / np.sqrt(1 + np.pi * variance / 8)))


@pytest.mark.parametrize("hidden", [0, 5])
def test_saved_and_read_it_scores_the_same(tmp_path, hidden):
    team = shrunk(hidden).with_expert(X[:50], RIGHT[:50]).without_expert(0)
    again = unpack(TeamScorer, pack(team))
    assert np.array_equal(again.score(X).expert_raw, team.score(X).expert_raw)
    assert np.array_equal(again.logit_posterior(X)[1], team.logit_posterior(X)[1])
