"""Brier's score beside scikit-learn's and its own laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from defero.core.errors import InputError
from defero.judge import brier_score


def test_by_hand():
    assert brier_score([0.5, 1.0, 0.2], [True, True, False]) == pytest.approx((0.25 + 0 + 0.04) / 3)


def test_it_equals_scikit_learn():
    rng = np.random.default_rng(0)
    confidence = rng.beta(2, 1, 500).round(2).clip(0.01, 0.99)
    correct = rng.random(500) < confidence**2
    assert brier_score(confidence, correct) == pytest.approx(brier_score_loss(correct, confidence), abs=1e-14)


def test_experts_are_averaged_or_kept_apart():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.05, 0.95, (60, 3))
    correct, observed = rng.random((60, 3)) < confidence, rng.random((60, 3)) < 0.5
    observed[:, 1] = False
    alone = [brier_score(confidence[observed[:, j], j], correct[observed[:, j], j]) for j in (0, 2)]
    each = brier_score(confidence, correct, observed=observed, average=None)
    np.testing.assert_allclose(each, [alone[0], np.nan, alone[1]])
    assert brier_score(confidence, correct, observed=observed) == pytest.approx(np.mean(alone))


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_the_truth_is_the_best_claim(truth, claim):
    def expected(s):
        return truth * brier_score([s], [True]) + (1 - truth) * brier_score([s], [False])

    assert expected(truth) <= expected(claim) + 1e-12


def test_nothing_observed_is_nan():
    assert math.isnan(brier_score([], []))
    assert math.isnan(brier_score([0.5], [True], observed=[False]))
    assert math.isnan(brier_score(np.empty((3, 0)), np.empty((3, 0))))


def test_a_strange_average_is_named():
    with pytest.raises(InputError, match="average must be one of experts, None, got 'items'"):
        brier_score([0.5], [True], average="items")
