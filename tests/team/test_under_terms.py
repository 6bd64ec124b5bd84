"""Deciding under fees and costs of errors: against the sums written out, and against the rule of accuracy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero import Team
from defero.decide.terms import Terms
from defero.decide.votes import bayes_vote
from defero.judge.record.ways import mean_cost
from defero.team import try_out
from defero.team.asking import model_answer

seeds = st.integers(0, 2**32 - 1)


def problem(seed, *, n=12, n_classes=3, n_experts=2):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), n)
    right = rng.uniform(0.3, 0.95, (n, n_experts))
    matrix = rng.integers(1, 20, (n_classes, n_classes)) * (1.0 - np.eye(n_classes))
    fees = rng.uniform(0, 3, (n, n_experts))
    return Team.from_probabilities(proba, right), proba, right, matrix, fees


@given(seeds)
def test_the_cheapest_is_chosen(seed):
    team, proba, right, matrix, fees = problem(seed)
    terms = Terms(fees=fees, cost_matrix=matrix)
    decision = team.decide(terms=terms)
    model_idx, _ = model_answer(team.scores(), terms.of(team.expert_names, team.classes))
    for i, eta in enumerate(proba):
        by_label = [sum(eta[k] * matrix[k, a] for k in range(3)) for a in range(3)]
        options = {-1: min(by_label)}
        for j in range(2):
            wrong = sum(eta[k] * (1 - right[i, j]) / 2 * matrix[k, a] for k in range(3) for a in range(3))
            options[j] = fees[i, j] + wrong
        assert decision.expected_cost[i] == pytest.approx(min(options.values()))
        assert options[int(decision.expert[i])] == pytest.approx(min(options.values()))
        assert by_label[model_idx[i]] == pytest.approx(min(by_label))


@given(seeds, st.floats(0.5, 100))
def test_equal_errors_are_the_rule_of_accuracy(seed, error_cost):
    team, _, _, _, fees = problem(seed)
    terms = Terms(fees=fees, error_cost=error_cost)
    decision = team.decide(terms=terms)
    plain = team.decide(terms=Terms(fees=fees / error_cost))
    assert decision.expert.tolist() == plain.expert.tolist()
    assert decision.expected_cost == pytest.approx(error_cost * plain.expected_cost)
    own, seven, by_item = (
        Terms(fees=times * paid, error_cost=times * error_cost).of(team.expert_names, team.classes)
        for times, paid in ((1, fees[0]), (7, fees[0]), (1, fees))
    )
    assert own.same_as(seven)
    assert not by_item.same_as(seven)


@given(seeds)
def test_the_votes_label_is_the_cheapest(seed):
    _, proba, right, matrix, _ = problem(seed)
    said = np.random.default_rng(seed).integers(0, 3, right.shape)
    everybody = np.ones(right.shape, dtype=bool)
    plain = bayes_vote(said, everybody, right, proba)
    equal = bayes_vote(said, everybody, right, proba, cost_matrix=7 * (1 - np.eye(3)))
    assert plain.label.tolist() == equal.label.tolist()
    for i, label in enumerate(bayes_vote(said, everybody, right, proba, cost_matrix=matrix).label.tolist()):
        weight = proba[i].copy()
        for j in range(2):
            other = (1 - right[i, j]) / 2
            weight *= [right[i, j] if said[i, j] == k else other for k in range(3)]
        costs = [sum(weight[k] * matrix[k, a] for k in range(3)) for a in range(3)]
        assert costs[label] == pytest.approx(min(costs))


def test_every_way_pays_fees_and_errors():
    team, _, right, matrix, fees = problem(5)
    rng = np.random.default_rng(5)
    truth, said = rng.integers(0, 3, 12), rng.integers(-1, 3, right.shape)
    trial = try_out(team, None, truth, said, disjoint=True, terms=Terms(fees=fees, cost_matrix=matrix))
    ways = {way.name: way for way in trial.ways}
    for name, way in ways.items():
        if name != "random_expert":
            assert way.errors.tolist() == matrix[truth, way.label_idx].tolist()
    answered = said >= 0
    assert ways["everybody_bayes"].fees == pytest.approx((answered * fees).sum(axis=1))
    share = answered / np.maximum(answered.sum(axis=1, keepdims=True), 1)
    own = np.where(answered, matrix[truth[:, None], np.maximum(said, 0)], 0)
    someone = answered.any(axis=1)
    assert ways["random_expert"].errors[someone] == pytest.approx((share * own).sum(axis=1)[someone])
    assert trial.model_idx.tolist() == ways["model"].label_idx.tolist()
    assert (trial.team_label_idx == ways["one"].label_idx).all()


def test_the_interval_of_a_mean_is_students():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    half = 3.182446 * values.std(ddof=1) / 2  # t of 3 degrees of freedom, from a table
    one = mean_cost(values)
    assert (one.per_case, one.low, one.high) == pytest.approx((4.0, 4.0 - half, 4.0 + half), rel=1e-6)
    assert np.isnan(mean_cost(values[:1]).low)
