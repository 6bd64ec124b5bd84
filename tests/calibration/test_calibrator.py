"""The calibrator on whole scores: what it gains, what it leaves alone, what is saved, and its error words."""

import json

import numpy as np
import pytest
from calibration_problems import draw_case
from hypothesis import given
from hypothesis import strategies as st

from defero.calibration import Calibrator
from defero.calibration.platt import PlattMaps
from defero.core import InputError, Scores
from defero.metrics import expected_calibration_error
from defero.scorers.links import scores_from_logits

LINKS = ["logit", "log"]
IDENTITY = PlattMaps("logit", (1.0,), (0.0,), (1.0, 0.0))


def fitted(scores, labels, correct):
    return Calibrator.fit(scores, labels, correct, np.ones_like(correct))


def experts_error(scores, correct):
    return np.mean([expected_calibration_error(p, c) for p, c in zip(scores.expert_proba.T, correct.T, strict=True)])


def experts_log_loss(scores, correct):
    return np.logaddexp(0, np.where(correct, -scores.expert_raw, scores.expert_raw)).mean()


def model_error(scores, labels):
    return expected_calibration_error(scores.model_proba, scores.class_idx == labels)


def test_logits_multiplied_by_two_and_a_half_are_undone():
    calibrator = fitted(*draw_case(500, boast=2.5, seed=1))
    scores, labels, correct = draw_case(20_000, boast=2.5, seed=2)
    honest = calibrator.apply(scores)
    assert experts_error(scores, correct) >= 0.08
    assert experts_error(honest, correct) <= 0.03
    assert model_error(scores, labels) >= 0.08
    assert model_error(honest, labels) <= 0.02
    assert calibrator.experts.pooled == pytest.approx((1 / 2.5, 0), abs=0.05)


def test_estimates_above_one_become_probabilities():
    """The softmax estimate, too large by a factor of 1.5: a third of it passes 1."""
    parts = []
    for n, seed in ((500, 1), (20_000, 2)):
        scores, labels, correct = draw_case(n, link="log", seed=seed)
        raw = scores.expert_raw + np.log(1.5)
        proba = np.exp(np.minimum(raw, 0))
        parts.append((Scores(scores.class_proba, proba, scores.model_proba, raw, "log"), labels, correct))
    honest = fitted(*parts[0]).apply(parts[1][0])
    assert parts[1][0].above_one() > 0.3
    assert honest.above_one() == 0
    assert experts_error(parts[1][0], parts[1][2]) >= 0.08
    assert experts_error(honest, parts[1][2]) <= 0.05


@pytest.mark.parametrize("boast", [1.5, 2.5])
def test_thirty_answers_an_expert_do_no_harm_on_average(boast):
    before, after = [], []
    for seed in range(20):
        calibrator = fitted(*draw_case(30, boast=boast, seed=seed, skill_seed=seed))
        scores, _, correct = draw_case(2_000, boast=boast, seed=1000 + seed, skill_seed=seed)
        honest = calibrator.apply(scores)
        before.append((experts_error(scores, correct), experts_log_loss(scores, correct)))
        after.append((experts_error(honest, correct), experts_log_loss(honest, correct)))
    assert (np.mean(after, axis=0) <= np.mean(before, axis=0)).all()


def test_thirty_answers_cost_honest_scores_little():
    """Where nothing was wrong, estimating 2 J numbers can only lose: how much, on average over 20 runs."""
    lost = []
    for seed in range(20):
        calibrator = fitted(*draw_case(30, seed=seed, skill_seed=seed))
        scores, _, correct = draw_case(2_000, seed=1000 + seed, skill_seed=seed)
        lost.append(experts_log_loss(calibrator.apply(scores), correct) - experts_log_loss(scores, correct))
    assert np.mean(lost) < 0.02


@pytest.mark.parametrize("link", LINKS)
@given(seed=st.integers(0, 1000), boast=st.floats(0.2, 8))
def test_what_a_calibration_leaves_alone(link, seed, boast):
    scores, labels, correct = draw_case(40, n_experts=3, boast=boast, link=link, seed=seed)
    honest = fitted(scores, labels, correct).apply(scores)
    assert np.array_equal(honest.class_idx, scores.class_idx)
    order = scores.expert_raw.argsort(axis=0)
    assert (np.diff(np.take_along_axis(honest.expert_raw, order, axis=0), axis=0) >= 0).all()
    assert (np.diff(np.take_along_axis(honest.expert_proba, order, axis=0), axis=0) >= 0).all()


@pytest.mark.parametrize("link", LINKS)
def test_calibrated_scores_agree_with_themselves(link):
    scores, labels, correct = draw_case(60, link=link, boast=3)
    honest = fitted(scores, labels, correct).apply(scores)
    assert honest.link == "logit"
    np.testing.assert_allclose(1 / (1 + np.exp(-honest.expert_raw)), honest.expert_proba, rtol=1e-12)
    assert np.array_equal(honest.model_proba, honest.class_proba.max(axis=1))


def test_one_vs_all_is_compared_as_calibrated_probabilities():
    """All sigmoids tiny: the largest one says nothing of how often the largest class is right."""
    rng = np.random.default_rng(0)
    classes, experts = rng.normal(-6, 1, (500, 3)), rng.normal(0, 1, (500, 2))
    scores = scores_from_logits("ova", classes, experts)
    honest = fitted(scores, scores.class_idx, rng.random((500, 2)) < 0.5).apply(scores)
    assert scores.model_proba.max() < 0.2
    assert np.array_equal(honest.model_proba, honest.class_proba.max(axis=1))
    assert honest.model_proba.min() > 1 / 3


@pytest.mark.parametrize("link", LINKS)
def test_permuting_experts_permutes_the_scores(link):
    scores, labels, correct = draw_case(100, n_experts=5, boast=2, link=link)
    order = [3, 0, 4, 1, 2]
    permuted = Scores(
        scores.class_proba, scores.expert_proba[:, order], scores.model_proba, scores.expert_raw[:, order], link
    )
    plain = fitted(scores, labels, correct).apply(scores)
    again = fitted(permuted, labels, correct[:, order]).apply(permuted)
    np.testing.assert_allclose(again.expert_proba, plain.expert_proba[:, order], rtol=0, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_extreme_scores_stay_finite(link):
    rng = np.random.default_rng(0)
    raw = rng.choice([-1e4, -1.0, 0.0, 1.0, 1e4], (200, 3))
    classes = np.eye(3)[rng.integers(0, 3, 200)]
    scores = Scores(classes, np.zeros_like(raw), np.ones(200), raw, link)
    honest = fitted(scores, rng.integers(0, 3, 200), rng.random((200, 3)) < 0.5).apply(scores)  # Scores checks it
    assert np.isfinite(honest.expert_raw).all()


def test_no_experts_and_no_items():
    scores, labels, _ = draw_case(50, n_experts=0)
    assert fitted(scores, labels, np.ones((50, 0), bool)).apply(scores).expert_proba.shape == (50, 0)
    scores, labels, correct = draw_case(0, n_experts=2)
    calibrator = fitted(scores, labels, correct)
    assert calibrator.temperature == 1.0
    assert calibrator.experts.slope == (1.0, 1.0)
    assert len(calibrator.apply(scores)) == 0


@pytest.mark.parametrize("link", LINKS)
def test_settings_survive_json_exactly(link):
    scores, labels, correct = draw_case(70, boast=1.7, link=link)
    calibrator = fitted(scores, labels, correct)
    again = Calibrator.from_settings(json.loads(json.dumps(calibrator.settings())))
    assert again == calibrator
    assert np.array_equal(again.apply(scores).expert_raw, calibrator.apply(scores).expert_raw)


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": None},
        {"temperature": float("nan")},
        {"experts": None},
        {"experts": {"method": "platt", "link": "logit", "slope": [1.0]}},
        {"experts": {**IDENTITY.settings(), "method": "guess"}},
        {"experts": {**IDENTITY.settings(), "pooled": []}},
    ],
)
def test_damaged_settings_say_so(change):
    with pytest.raises(InputError, match=r"settings must be what settings\(\) returns, got something else"):
        Calibrator.from_settings({**Calibrator(1.0, IDENTITY).settings(), **change})


def test_a_mixture_of_experts_cannot_be_calibrated():
    scores = scores_from_logits("moe", np.zeros((2, 2)), np.zeros((2, 1)), model_logit=np.zeros(2))
    with pytest.raises(InputError, match="a mixture of experts' weights are no probabilities and cannot be calibrated"):
        fitted(scores, [0, 1], np.ones((2, 1), bool))


@pytest.mark.parametrize(
    ("labels", "correct", "observed", "words"),
    [
        ([0], [[1], [1]], [[1], [1]], r"label_idx must have shape \(2,\), one class number per item, got \(1,\)"),
        ([0, 1], [[1]], [[1], [1]], r"correct must have the shape \(2, 1\) of the experts' scores, got \(1, 1\)"),
        ([0, 1], [[1], [1]], [1, 1], r"observed must have the shape \(2, 1\) of the experts' scores, got \(2,\)"),
        ([0, 1], [[2], [1]], [[1], [1]], "correct must be True or False .* in each cell, got other values"),
    ],
)
def test_fit_names_the_wrong_argument(labels, correct, observed, words):
    scores = Scores.from_probabilities([[0.5, 0.5]] * 2, [[0.5]] * 2)
    with pytest.raises(InputError, match=words):
        Calibrator.fit(scores, labels, correct, observed)


def test_apply_takes_the_scores_that_fit_took():
    calibrator = Calibrator(1.0, IDENTITY)
    with pytest.raises(InputError, match="scores must be of the 1 experts of fit, got 2 columns"):
        calibrator.apply(Scores.from_probabilities([[1.0]], [[0.5, 0.5]]))
    softmax = Scores([[1.0]], [[0.5]], [1.0], [[np.log(0.5)]], "log")
    with pytest.raises(InputError, match="scores must have the link 'logit' of fit, got 'log'; pass the scores as"):
        calibrator.apply(softmax)


def test_a_temperature_must_be_positive():
    with pytest.raises(InputError, match=r"temperature must be positive and finite, got -1.0"):
        Calibrator(-1.0, IDENTITY)
