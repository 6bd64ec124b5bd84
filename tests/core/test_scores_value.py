"""Scores: checked once, frozen, and the one place where class and expert columns meet."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.errors import InputError
from defero.core.scores import Scores, logit
from defero.scorers.network import sigmoid

GOOD = {
    "class_proba": [[0.75, 0.25], [0.5, 0.5]],
    "expert_proba": [[0.5, 1.0, 0.0], [0.5, 0.5, 0.5]],
    "model_proba": [0.75, 0.5],
    "expert_raw": np.zeros((2, 3)),
    "link": "logit",
}


def test_the_obvious_questions():
    scores = Scores(**GOOD)
    assert (len(scores), scores.n_classes, scores.n_experts) == (2, 2, 3)
    assert scores.class_idx.tolist() == [0, 0]
    assert scores.above_one() == 0
    assert np.isnan(Scores.from_probabilities([[1.0]], np.empty((1, 0))).above_one())


def test_no_items_are_scores_too():
    scores = Scores.from_probabilities(np.empty((0, 2)), np.empty((0, 3)))
    assert (len(scores), scores.class_idx.shape, scores.expert_value.shape) == (0, (0,), (0, 3))


def test_nothing_can_be_assigned_or_written():
    mine = np.array(GOOD["class_proba"])
    scores = Scores(**{**GOOD, "class_proba": mine})
    mine[0] = [0.0, 1.0]
    assert scores.class_proba[0].tolist() == [0.75, 0.25]
    for name in GOOD:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(scores, name, None)
    for array in (scores.class_proba, scores.expert_proba, scores.model_proba, scores.expert_raw):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class_proba": [0.5, 0.5]}, r"class_proba must have two axes \(n, columns\), got shape \(2,\)"),
        ({"class_proba": [["a"], ["b"]]}, "class_proba: row 0, column 0: 'a' is not a number; pass numbers"),
        (
            {"class_proba": [[np.nan, 1], [0, 1]]},
            "class_proba must be finite, got nan at row 0, column 0; fill or drop",
        ),
        ({"class_proba": [[2.0, -1.0], [0, 1]]}, "class_proba must lie in .0, 1., got 2 at row 0, column 0; pass prob"),
        ({"class_proba": [[0.5, 0.5], [0.5, 0.6]]}, "class_proba must sum to 1 in each row, got 1.1 for item 1"),
        ({"expert_proba": [[0.5, 1.5, 0], [0, 0, 0]]}, "expert_proba must lie in .0, 1., got 1.5 at row 0, column 1"),
        (
            {"expert_proba": [[0.5, 1, 0]]},
            r"expert_proba must have shape \(2, J\) like class_proba, got \(1, 3\)",
        ),
        ({"expert_raw": np.zeros((2, 2))}, r"expert_raw must have shape \(2, 3\) of expert_proba, got \(2, 2\)"),
        ({"expert_raw": np.zeros((1, 3))}, r"expert_raw must have shape \(2, 3\) of expert_proba, got \(1, 3\)"),
        ({"expert_raw": np.full((2, 3), -np.inf)}, "expert_raw must be finite, got -inf at row 0, column 0"),
        ({"model_proba": [0.5]}, r"model_proba must have shape \(2,\) like class_proba, got \(1,\)"),
        ({"model_proba": [0.5, 1.5]}, "model_proba must lie in .0, 1., got 1.5"),
        (
            {"model_proba": [[0.5, 0.5], [0, 0]]},
            r"model_proba must have shape \(2,\) like class_proba, got \(2, 2\)",
        ),
        ({"link": "probit"}, "link must be one of logit, log, weight, share, got 'probit'"),
    ],
)
def test_what_is_wrong_is_said(change, message):
    with pytest.raises(InputError, match=message):
        Scores(**{**GOOD, **change})


def test_a_log_link_ranks_beyond_one():
    raw = np.log([[2.0, 3.0, 0.5]])
    scores = Scores([[1.0]], np.minimum(np.exp(raw), 1), [1.0], raw, "log")
    np.testing.assert_allclose(scores.expert_value, [[2.0, 3.0, 0.5]])
    assert scores.above_one() == pytest.approx(2 / 3)
    assert np.isfinite(Scores([[1.0]], [[1.0]], [1.0], [[1e4]], "log").expert_value).all()


@pytest.mark.parametrize("link", ["logit", "weight"])
def test_other_links_rank_by_the_probability(link):
    scores = Scores(**{**GOOD, "link": link, "expert_raw": np.ones((2, 3))})
    assert np.array_equal(scores.expert_value, scores.expert_proba)


@given(arrays(float, (5,), elements=st.floats(0, 1)))
def test_logit_is_finite_and_undone_by_the_sigmoid(proba):
    back = sigmoid(logit(proba))
    assert np.isfinite(logit(proba)).all()
    np.testing.assert_allclose(back, proba, rtol=1e-9, atol=1e-300)


def test_columns_are_called_by_the_names_of_classes_and_experts():
    scores = Scores.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.7]])
    assert list(scores.to_frame().columns) == ["p_model", "p_class_0", "p_class_1", "p_expert_0"]
    named = scores.named(np.array([False, True]), ("ann",))
    assert list(named.take(slice(1, 2)).to_frame().columns) == [
        "p_model",
        "p_class_False",
        "p_class_True",
        "p_expert_ann",
    ]
    assert scores.expert_names is None
