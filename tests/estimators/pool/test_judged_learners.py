"""Marks of a judge who errs: trees and heads learn the marks themselves, so that no target is clipped."""

import numpy as np
import pytest

from defero import ExpertPool, Team
from defero.judge import Judge


@pytest.mark.parametrize("model", ["trees", "heads", "ridge"])
def test_no_learner_is_biased_by_the_judges_errors(model, tmp_path):
    rng = np.random.default_rng(0)
    n = 3000
    X = rng.integers(0, 2, (n, 1)) + rng.normal(size=(n, 1)) * 0.01
    right = np.where(X > 0.5, 0.95, 0.1) * np.array([[1.0, 0.9]])
    truth = rng.random(right.shape) < right
    marks = np.where(truth, rng.random(truth.shape) < 0.9, rng.random(truth.shape) < 0.3).astype(float)
    pool = ExpertPool(model, judge=Judge(0.9, 0.7)).fit(X, marks)
    expected = pool.predict_expert_proba(X)
    for low in (True, False):
        rows = (X[:, 0] > 0.5) != low
        np.testing.assert_allclose(expected[rows].mean(axis=0), right[rows].mean(axis=0), atol=0.05)
    uncalibrated = pool.team_.scorer.parts[0].predict(X)
    np.testing.assert_allclose(uncalibrated.mean(axis=0), right.mean(axis=0), atol=0.04)
    pool.save(tmp_path / "pool")
    np.testing.assert_array_equal(Team.load(tmp_path / "pool").scores(X).expert_proba, expected)
