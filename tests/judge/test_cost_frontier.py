"""The frontier of cost against questions, by hand and against sums written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero import Team
from defero.decide.terms import Terms
from defero.judge.accuracy import DeferralCurve, trial_curve
from defero.judge.record.cautions import cheaper_way
from defero.judge.record.team import team_record
from defero.team import record_of, try_out


def trial_of(seed, *, n=15):
    rng = np.random.default_rng(seed)
    team = Team.from_probabilities(rng.dirichlet(np.ones(2), n), rng.uniform(0.3, 1, (n, 3)))
    matrix = np.array([[0.0, 3.0], [11.0, 1.0]])
    terms = Terms(fees=rng.uniform(0, 2, (n, 3)), cost_matrix=matrix)
    said = rng.integers(-1, 2, (n, 3))
    return try_out(team, None, rng.integers(0, 2, n), said, disjoint=True, terms=terms), matrix


@given(st.integers(0, 2**32 - 1))
def test_each_point_is_the_cost_of_so_many_questions(seed):
    trial, matrix = trial_of(seed)
    curve, decision = trial_curve(trial), trial.decision
    gain = decision.best_value - decision.model_value
    queue = sorted(np.flatnonzero(decision.best_expert >= 0).tolist(), key=lambda i: (-gain[i], i))
    for count in range(len(queue) + 1):
        total = 0.0
        for i, truth in enumerate(trial.label_idx.tolist()):
            expert = int(decision.best_expert[i])
            asked = i in queue[:count]
            label = trial.answer_idx[i, expert] if asked else trial.model_idx[i]
            total += matrix[truth, label] + (trial.question_fees[i, expert] if asked else 0.0)
        assert curve.cost[count] == pytest.approx(total / 15)
        assert curve.rate[count] == count / 15
    deferred = int(decision.deferred.sum())
    one = next(way for way in trial.ways if way.name == "one")
    assert curve.cost[deferred] == pytest.approx(one.cost.mean())  # the team itself is on the curve


def test_shares_that_cannot_be_reached_have_no_cost():
    same = np.zeros(3)
    curve = DeferralCurve(np.array([0.0, 0.25, 0.5]), same, same, same, np.array([4.0, 2.0, 3.0]))
    values = {row["asked"]: row["total"] for row in curve.costs()}
    assert (values[0.0], values[0.5], values[0.6], values[1.0]) == (4.0, 3.0, None, None)


def test_a_way_that_costs_less_is_named():
    n = 400
    team = Team.from_probabilities(np.tile([0.9, 0.1], (n, 1)), np.full((n, 1), 0.99), expert_names=["ann"])
    truth, said = np.zeros(n, int), np.ones((n, 1), int)  # ann is asked and always wrong
    fees = Terms(fees=[0.001])
    costs = record_of(team, try_out(team, None, truth, said, disjoint=True, terms=fees)).costs
    sentence = cheaper_way(costs)
    assert "the model alone costs" in sentence
    assert costs.team.against_model.high < 0
    assert record_of(team, try_out(team, None, truth, said, disjoint=True)).costs is None


def test_cheap_labels_are_no_idle_model():
    rng = np.random.default_rng(0)
    label_idx, n = rng.integers(0, 2, 200), 200
    proba = np.where(np.arange(2) == label_idx[:, None], 0.7, 0.3)
    team = Team.from_probabilities(proba, np.full((n, 1), 0.5))
    terms = Terms(fees=np.ones((n, 1)), cost_matrix=np.array([[0.0, 1.0], [100.0, 0.0]]))
    trial = try_out(team, None, label_idx, np.full((n, 1), -1), disjoint=True, terms=terms)
    record = team_record(trial, rng=rng)
    assert record.model.value < 0.6  # every case is called the dear class
    assert not [one for one in record.cautions if "tell the classes apart" in one]
