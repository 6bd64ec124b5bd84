"""From logits to scores: a slow twin for each loss, the extremes, and the order of the experts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.errors import InputError
from defero.core.scores import sigmoid, softmax
from defero.scorers.network import scores_from_logits

LOSSES = ["softmax", "ova", "decoupled", "asymmetric", "moe"]


def slow_sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def slow_log_sum(values):
    return max(values) + math.log(sum(math.exp(v - max(values)) for v in values))


def slow_scores(loss, g, e, a0):
    """Return one item's class probabilities, P(model right), P(expert right), the raw scores and what ranks them."""
    softmaxed = [math.exp(v - slow_log_sum(g)) for v in g]
    if loss == "ova":
        right = [slow_sigmoid(v) for v in g]
        proba = [slow_sigmoid(v) for v in e]
        return [v / sum(right) for v in right], max(right), proba, e, proba
    if loss == "softmax":
        raw = [v - slow_log_sum(g) for v in e]
        value = [math.exp(v) for v in raw]
        return softmaxed, max(softmaxed), [min(v, 1.0) for v in value], raw, value
    if loss == "moe":
        raw = [v - slow_log_sum([a0, *e]) for v in e]
        weight = [math.exp(v) for v in raw]
        return softmaxed, math.exp(a0 - slow_log_sum([a0, *e])), weight, raw, weight
    raw = list(e)
    if loss == "asymmetric":
        best = max(range(len(g)), key=lambda k: g[k])
        raw = [v - slow_log_sum([w for k, w in enumerate(g) if k != best]) for v in e]
    proba = [slow_sigmoid(v) for v in raw]
    return softmaxed, max(softmaxed), proba, raw, proba


@st.composite
def logits(draw, size=30.0):
    n, n_classes, n_experts = draw(st.integers(1, 3)), draw(st.integers(2, 4)), draw(st.integers(0, 4))
    number = st.floats(-size, size)
    columns = draw(arrays(float, (n, n_classes + n_experts + 1), elements=number))
    return columns[:, :n_classes], columns[:, n_classes:-1], columns[:, -1]


def read(loss, classes, experts, model):
    return scores_from_logits(loss, classes, experts, model_logit=model if loss == "moe" else None)


@pytest.mark.parametrize("loss", LOSSES)
@given(logits())
def test_the_slow_twin_agrees(loss, columns):
    scores = read(loss, *columns)
    for i, (g, e, a0) in enumerate(zip(*(part.tolist() for part in columns), strict=True)):
        classes, model, experts, raw, value = slow_scores(loss, g, e, a0)
        np.testing.assert_allclose(scores.class_proba[i], classes, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(scores.model_proba[i], model, rtol=1e-9)
        np.testing.assert_allclose(scores.expert_proba[i], experts, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(scores.expert_raw[i], raw, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(scores.expert_value[i], value, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("loss", LOSSES)
@given(logits(size=1e4))
def test_everything_is_finite_and_a_probability(loss, columns):
    with np.errstate(all="raise", under="ignore"):
        scores = read(loss, *columns)
        value = scores.expert_value
    for proba in (scores.class_proba, scores.expert_proba, scores.model_proba):
        assert np.isfinite(proba).all()
        assert ((proba >= 0) & (proba <= 1)).all()
    assert np.isfinite(scores.expert_raw).all()
    assert np.isfinite(value).all()
    np.testing.assert_allclose(scores.class_proba.sum(axis=1), 1)
    if loss == "moe":
        np.testing.assert_allclose(scores.model_proba + scores.expert_proba.sum(axis=1), 1)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("extreme", [-1e4, 1e4])
def test_all_logits_at_one_extreme(loss, extreme):
    scores = read(loss, np.full((1, 3), extreme), np.full((1, 2), extreme), np.full(1, extreme))
    np.testing.assert_allclose(scores.class_proba, 1 / 3)
    assert np.isfinite(scores.expert_raw).all()


@pytest.mark.parametrize("loss", LOSSES)
@given(logits(), st.randoms(use_true_random=False))
def test_permuting_experts_permutes_their_columns(loss, columns, random):
    classes, experts, model = columns
    order = random.sample(range(experts.shape[1]), experts.shape[1])
    scores, permuted = read(loss, classes, experts, model), read(loss, classes, experts[:, order], model)
    np.testing.assert_allclose(permuted.expert_proba, scores.expert_proba[:, order], rtol=1e-12)
    np.testing.assert_allclose(permuted.expert_raw, scores.expert_raw[:, order], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(permuted.model_proba, scores.model_proba, rtol=1e-12)
    assert np.array_equal(permuted.class_proba, scores.class_proba)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_expert(loss):
    scores = read(loss, np.array([[1.0, 2.0]]), np.empty((1, 0)), np.array([0.3]))
    assert scores.n_experts == 0
    assert scores.class_idx.tolist() == [1]
    if loss == "moe":
        assert scores.model_proba.tolist() == [1.0]


def test_a_softmax_estimate_above_one_is_capped_but_ranks():
    scores = read("softmax", np.zeros((1, 2)), np.array([[3.0, 2.0, -5.0]]), None)
    assert scores.expert_proba[0, :2].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(scores.expert_value[0], np.exp([3.0, 2.0, -5.0]) / 2)
    assert scores.above_one() == pytest.approx(2 / 3)
    assert scores.link == "log"


@pytest.mark.parametrize("loss", LOSSES)
def test_one_class_is_certain(loss):
    scores = read(loss, np.array([[-3.0]]), np.array([[0.0]]), np.array([0.0]))
    assert scores.class_proba.tolist() == [[1.0]]
    if loss in {"decoupled", "asymmetric"}:
        assert scores.expert_proba.tolist() == [[0.5]]


def test_the_model_is_judged_by_its_sigmoid_in_one_vs_all():
    scores = read("ova", np.array([[2.0, 2.0]]), np.array([[0.0]]), None)
    assert scores.class_proba.tolist() == [[0.5, 0.5]]
    assert scores.model_proba[0] == pytest.approx(slow_sigmoid(2.0))


def test_sigmoid_and_softmax_by_hand():
    np.testing.assert_allclose(sigmoid(np.log([1.0, 3.0, 1 / 3])), [0.5, 0.75, 0.25])
    np.testing.assert_allclose(softmax(np.log([[1.0, 3.0]])), [[0.25, 0.75]])


def test_what_is_wrong_is_said():
    with pytest.raises(InputError, match=r"link must be one of softmax, ova, .*, got 'hinge'"):
        read("hinge", np.zeros((1, 2)), np.zeros((1, 1)), None)
    with pytest.raises(InputError, match="model_logit is missing: the mixture of experts weighs the model as well"):
        scores_from_logits("moe", np.zeros((1, 2)), np.zeros((1, 1)))
