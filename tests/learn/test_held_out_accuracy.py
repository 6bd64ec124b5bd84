"""Nobody is surer of an unusual case than they are right on average."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.codec import pack, unpack
from defero.core.errors import InputError
from defero.core.scores import Scores
from defero.learn.calibrator import Calibrator

share = st.floats(0.01, 0.99)


def drawn(rng, n=8, n_classes=3, n_experts=2):
    return Scores.from_probabilities(rng.dirichlet(np.full(n_classes, 0.2), n), rng.random((n, n_experts)))


def of_accuracy(model, newcomer, experts):
    """Return a calibrator that changes nothing but what is bounded."""
    n_experts = len(experts)
    line, shift = np.array([0.0, 1.0]), np.zeros(n_experts)
    return Calibrator(1.0, "logit", line, shift, model, newcomer, np.array(experts), 8, 8)


@given(st.integers(0, 2**32 - 1), share, share, arrays(np.bool_, 8))
def test_bounded_scores_keep_the_label_and_the_other_rows(seed, model, expert, rows):
    scores = drawn(np.random.default_rng(seed))
    bounded = of_accuracy(model, 0.5, (expert, expert)).bound(scores, rows)
    np.testing.assert_array_equal(bounded.class_idx, scores.class_idx)
    for name in ("class_proba", "expert_proba", "model_proba", "expert_raw"):
        np.testing.assert_array_equal(getattr(bounded, name)[~rows], getattr(scores, name)[~rows])
    assert (bounded.model_proba[rows] <= max(model, 1 / 3)).all()
    assert (bounded.class_proba[rows] <= max(model, 1 / 3) + 1e-6).all()
    assert (bounded.expert_proba[rows] <= expert).all()
    np.testing.assert_allclose(bounded.class_proba.sum(axis=1), 1.0)


def test_counts_by_hand():
    scores = Scores.from_probabilities([[0.9, 0.1]] * 8, [[0.5, 0.5]] * 8)
    labels = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    correct = np.array([[True, False]] * 8)
    observed = np.array([[True, False]] * 6 + [[True, True]] * 2)
    calibrator = Calibrator.fit(scores, labels, correct, observed)
    assert calibrator.model_accuracy == pytest.approx(7 / 10)
    assert calibrator.newcomer_accuracy == pytest.approx(9 / 12)
    assert calibrator.accuracy == pytest.approx(((8 + 7.5) / 18, 7.5 / 12))
    assert calibrator.with_newcomer().accuracy[-1] == calibrator.newcomer_accuracy
    assert calibrator.take([1]).accuracy.tolist() == [calibrator.accuracy[1]]


def test_nothing_seen_is_even_odds_and_all_right_is_not_sure():
    nobody = Calibrator.fit(
        Scores.from_probabilities([[0.9, 0.1]], np.empty((1, 0))), np.array([0]), *np.empty((2, 1, 0), dtype=bool)
    )
    assert (nobody.newcomer_accuracy, len(nobody.accuracy)) == (0.5, 0)
    assert nobody.model_accuracy == pytest.approx(2 / 3)


def test_a_calibrator_keeps_it_with_its_experts():
    rng = np.random.default_rng(0)
    scores, labels = drawn(rng, n=60), rng.integers(0, 3, 60)
    calibrator = Calibrator.fit(scores, labels, rng.random((60, 2)) < 0.7, np.ones((60, 2)))
    again = unpack(Calibrator, pack(calibrator))
    np.testing.assert_array_equal(again.accuracy, calibrator.accuracy)
    assert calibrator.take([1]).accuracy == calibrator.accuracy[1:]
    assert len(calibrator.with_newcomer().accuracy) == 3
    with pytest.raises(InputError, match="accuracy"):
        replace(calibrator, accuracy=np.array([0.5]))
