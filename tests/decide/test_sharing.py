"""Experts who are about as good share the work: evenly, in whatever order cases and experts come."""

import numpy as np
import pytest

from defero import DeferralClassifier, Team, Terms
from defero.decide.rules import ALIKE, near_best

TEN = [f"dr_{j}" for j in range(10)]


def ten_equal(n=1000, seed=0, *, model=0.6):
    """A team on cases of two features: ten experts are right with nearly the same probability."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    wobble = rng.uniform(0, 0.9 * ALIKE, 10)

    def classes(X):
        return np.tile([model, 1 - model], (len(X), 1))

    def experts(X):
        return 0.8 + 0.1 * np.tanh(X[:, :1]) + wobble

    return Team.from_probabilities(classes, experts, classes=[0, 1], expert_names=TEN), X


def without_model(n=1000, seed=0):
    team, X = ten_equal(n, seed)
    return Team.from_probabilities(None, lambda X: team.scores(X).expert_proba, expert_names=TEN), X


@pytest.mark.parametrize("build", [ten_equal, without_model])
def test_among_ten_equal_experts_nobody_gets_twice_as_much_as_another(build):
    team, X = build(3000)
    decision = team.decide(X)
    assert decision.load.max() <= 2 * decision.load.min()
    assert decision.load.sum() == 3000
    best = team.scores(X).expert_proba.max(axis=1)
    assert (decision.p_right >= best - ALIKE).all()
    assert "shared evenly among 10" in decision.reason[0]


@pytest.mark.parametrize("terms", [Terms(), Terms(error_cost=40.0), Terms(cost_matrix=[[0, 1], [5, 0]])])
def test_the_order_of_cases_and_experts_makes_no_difference(terms):
    team, X = ten_equal(400)
    decision = team.decide(X, terms=terms)
    assert len(set(decision.name)) > 5
    order = np.random.default_rng(1).permutation(400)
    assert team.decide(X[order], terms=terms).name.tolist() == decision.name[order].tolist()
    one_by_one = [team.decide(row[None], terms=terms).name[0] for row in X[:20]]
    assert one_by_one == decision.name[:20].tolist()
    turned = Team.from_probabilities(
        lambda X: team.scores(X).class_proba,
        lambda X: team.scores(X).expert_proba[:, ::-1],
        classes=[0, 1],
        expert_names=TEN[::-1],
    )
    assert turned.decide(X, terms=terms).name.tolist() == decision.name.tolist()


def test_who_decides_is_who_decided_and_only_the_expert_changes():
    team, X = ten_equal(500, model=0.8)
    decision, scores = team.decide(X), team.scores(X)
    assert (decision.deferred == (scores.expert_proba.max(axis=1) >= scores.model_proba)).all()
    asked = np.flatnonzero(decision.deferred)
    assert (scores.expert_proba[asked, decision.expert[asked]] >= scores.model_proba[asked]).all()


def test_of_equal_scores_the_cheapest_share_where_no_error_cost_is_given():
    proba = np.full((600, 3), 0.7)
    team = Team.from_probabilities(None, proba, expert_names=["a", "b", "c"])
    assert sorted(set(team.decide(terms=Terms(fees=[1.0, 1.0, 2.0])).name)) == ["a", "b"]
    assert set(team.decide(terms=Terms(fees=[3.0, 1.0, 2.0])).name) == {"b"}


def test_a_key_tells_cases_with_the_same_features_apart():
    pd = pytest.importorskip("pandas")
    from dataclasses import replace

    from defero.data.table_spec import TableSpec

    table = pd.DataFrame({"id": [f"case {k}" for k in range(500)], "x": 1.0})
    proba = np.full((500, 4), 0.7)
    team = Team.from_probabilities(
        lambda X: np.full((len(X), 1), 1.0)[:, [0, 0]] / 2,
        lambda X: proba[: len(X)],
        classes=[0, 1],
        expert_names=list("abcd"),
    )
    keyed = replace(team, facts=replace(team.facts, spec=TableSpec(key="id")))
    load = keyed.decide(table).load
    assert load.max() <= 2 * load.min()
    assert set(team.decide(table[["x"]]).load) == {0, 500}


@pytest.mark.parametrize("terms", [{}, {"cost_matrix": [[0, 1], [5, 0]]}])
@pytest.mark.parametrize("absent", [[], TEN[:9], TEN])
def test_who_cannot_be_asked_is_never_asked_and_no_cost_is_infinite(terms, absent):
    """With different costs of errors an unusual case once went to an absent expert, at an infinite cost."""
    rng = np.random.default_rng(0)
    x, label = rng.normal(size=(300, 2)), rng.integers(2, size=300)
    right = rng.random((300, 10)) < 0.8
    team = DeferralClassifier().fit(x, label, experts=np.where(right, label[:, None], 1 - label[:, None])).team_
    names = [f"expert_{j}" for j in range(10)]
    away = [names[TEN.index(name)] for name in absent]
    far = np.vstack([np.full((20, 2), 50.0), x[:5]])
    decision = team.decide(far, terms=Terms(fees=0.01, absent=away, **terms), unusual="ask")
    assert not np.isin(decision.expert, [names.index(name) for name in away]).any()
    assert (decision.expert[:20] >= 0).all() == (len(away) < 10)
    assert np.isfinite(decision.expected_cost).all()
    assert np.isfinite(decision.p_right).all()


def test_worth_minus_infinity_is_never_among_the_best():
    value = np.array([[-np.inf, 0.5, 0.4], [-np.inf, -np.inf, -np.inf]])
    assert near_best(value, np.array([0.4, -np.inf])).tolist() == [[False, True, True], [False] * 3]
