"""An expert of whom nothing is known is taken to be as good as the others on average."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.scores import Scores, sigmoid
from defero.team.scoring import fill_with_pool_mean


@given(arrays(float, (3, 4), elements=st.floats(0, 1)), arrays(bool, (4,)))
def test_the_silent_get_the_mean_of_those_who_answered(proba, answered):
    scores = Scores.from_probabilities(np.full((3, 1), 1.0), proba)
    filled = fill_with_pool_mean(scores, answered)
    for i in range(3):
        heard = [proba[i, j] for j in range(4) if answered[j]]
        for j in range(4):
            expected = proba[i, j] if answered[j] or not heard else sum(heard) / len(heard)
            assert filled.expert_proba[i, j] == pytest.approx(expected)
    np.testing.assert_allclose(sigmoid(filled.expert_raw), filled.expert_proba, atol=1e-12)
    assert np.array_equal(filled.class_proba, scores.class_proba)
    assert np.array_equal(filled.model_proba, scores.model_proba)


@pytest.mark.parametrize("answered", [[True, True], [False, False]])
def test_nothing_changes_where_all_or_nobody_answered(answered):
    scores = Scores.from_probabilities([[1.0]], [[0.2, 0.9]])
    assert fill_with_pool_mean(scores, np.array(answered)) is scores


@pytest.mark.parametrize("link", ["log", "weight"])
def test_the_raw_score_follows_its_link(link):
    raw = np.log([[0.5, 0.25, 0.125]])
    filled = fill_with_pool_mean(Scores([[1.0]], np.exp(raw), [0.5], raw, link), np.array([True, True, False]))
    assert filled.expert_proba[0].tolist() == pytest.approx([0.5, 0.25, 0.375])
    assert np.exp(filled.expert_raw[0]).tolist() == pytest.approx([0.5, 0.25, 0.375])
    assert filled.link == link


def test_a_mean_of_nought_has_a_finite_logarithm():
    scores = Scores([[1.0]], [[0.0, 0.5]], [0.5], [[-800.0, -0.7]], "log")
    assert np.isfinite(fill_with_pool_mean(scores, np.array([True, False])).expert_raw).all()
