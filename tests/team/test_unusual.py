"""What a router makes of a row of numbers far beyond those that it was fitted on."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from defero import Team, TwoStageDeferral
from defero.core.errors import InputError


def test_matrices_have_a_usual_range_too(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=400) > 0).astype(int)
    experts = np.where(rng.random((400, 2)) < 0.8, y[:, None], 1 - y[:, None])
    team = TwoStageDeferral(LogisticRegression(), LogisticRegression())
    team.fit(X[:200], y[:200], experts=experts[:200])
    team.calibrate(X[200:], y[200:], experts=experts[200:])
    odd = np.array([[999.0, 0.0, 0.0], [0.1, 0.0, -999.0], [1.0, 0.0, 0.0]])
    decision = team.decide(odd)
    assert decision.unusual.tolist() == ["column 0", "column 2", ""]
    assert decision.expected_cost[0] > 0.01
    assert team.predict(odd)[0] == 1
    assert (team.decide(odd, unusual="ask").expert[:2] >= 0).all()
    team.save(tmp_path / "model")
    again = Team.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decide(odd).unusual, decision.unusual)
    np.testing.assert_array_equal(again.decide(odd).expected_cost, decision.expected_cost)


def test_a_wrong_choice_is_refused_before_anything_is_scored():
    router = Team.from_probabilities([[0.9, 0.1]], [[0.8]], expert_names=["ann"])
    with pytest.raises(InputError, match=r"unusual must be one of flag, ask, got 'aks'"):
        router.decide(unusual="aks")
    assert router.decide().unusual.tolist() == [""]


def test_what_is_added_for_the_chosen_expert_does_not_exceed_the_bound():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=400) > 0).astype(int)
    experts = np.where(rng.random((400, 2)) < 0.8, y[:, None], 1 - y[:, None])
    router = TwoStageDeferral().fit(X[:200], y[:200], experts=experts[:200]).team_
    router.calibrate(X[200:], y[200:], experts[200:])
    router.selection = replace(router.selection, weights=np.array([3.0, 1.0, 0.0]))
    odd = router.decide(np.array([[0.01, 0.0, -999.0], [0.01, 0.0, 0.0]]), unusual="ask")
    most = max(router.calibrator.accuracy)
    assert odd.p_right[0] <= most < odd.p_right[1]
