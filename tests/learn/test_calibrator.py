"""The calibrator on whole scores: what it gains, what it leaves alone, what is saved, and its error words."""

import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from calibration_problems import draw_case, draw_experts, sigmoid
from hypothesis import given, settings
from hypothesis import strategies as st

from defero.core import InputError, Scores
from defero.core.codec import Packed, pack, unpack
from defero.core.errors import ModelFolderError
from defero.judge import expected_calibration_error
from defero.judge.smooth import smooth_calibration_error
from defero.learn.calibrator import Calibrator, Method, fit_experts
from defero.scorers.network import scores_from_logits

LINKS = ["logit", "log"]
METHODS = get_args(Method)


def plain(temperature=1.0, link="logit", line=(0.0, 1.0)):
    """Return a calibrator of one expert, as of eight cases with one answer."""
    return Calibrator(temperature, link, np.array(line), np.zeros(1), 0.5, 0.5, np.full(1, 0.5), 8, 1)


OF_IDENTITY = pack(plain())


def fitted(scores, labels, correct, observed=None, *, method="auto"):
    seen = np.ones_like(correct) if observed is None else observed
    return Calibrator.fit(scores, labels, correct, seen, method=method)


def experts_error(scores, correct):
    return smooth_calibration_error(scores.expert_proba, correct)


def model_error(scores, labels):
    return smooth_calibration_error(scores.model_proba, scores.class_idx == labels)


def test_logits_multiplied_by_two_and_a_half_are_undone():
    calibrator = fitted(*draw_case(500, boast=2.5, seed=1))
    scores, labels, correct = draw_case(10_000, boast=2.5, seed=2)
    honest = calibrator.apply(scores)
    assert experts_error(scores, correct) >= 0.08
    assert experts_error(honest, correct) <= 0.03
    assert model_error(scores, labels) >= 0.08
    assert model_error(honest, labels) <= 0.02
    assert calibrator.temperature == pytest.approx(2.5, abs=0.3)
    assert calibrator.line[1] == pytest.approx(1 / 2.5, abs=0.05)


def test_honest_scores_hardly_change():
    """Thirty cases and ten experts, twenty draws: what the map costs on new cases is small."""
    cost = []
    for seed in range(20):
        calibrator = fitted(*draw_case(30, seed=seed, skill_seed=seed))
        new, _, correct = draw_case(1_000, seed=100 + seed, skill_seed=seed)
        after = calibrator.apply(new)
        loss = [np.logaddexp(0, np.where(correct, -one.expert_raw, one.expert_raw)).mean() for one in (new, after)]
        cost.append(loss[1] - loss[0])
    assert np.mean(cost) < 0.005


def test_estimates_above_one_become_probabilities():
    """The softmax estimate, too large by a factor of 1.5: a third of it passes 1."""
    parts = []
    for n, seed in ((500, 1), (10_000, 2)):
        scores, labels, correct = draw_case(n, link="log", seed=seed)
        raw = scores.expert_raw + np.log(1.5)
        proba = np.exp(np.minimum(raw, 0))
        parts.append((Scores(scores.class_proba, proba, scores.model_proba, raw, "log"), labels, correct))
    honest = fitted(*parts[0]).apply(parts[1][0])
    assert parts[1][0].above_one() > 0.3
    assert honest.above_one() == 0
    assert expected_calibration_error(parts[1][0].expert_proba, parts[1][2]) >= 0.08
    assert expected_calibration_error(honest.expert_proba, parts[1][2]) <= 0.04


def test_who_boasts_is_brought_down_and_who_has_few_answers_stays_with_the_others():
    logits, correct = draw_experts(2_000, n_experts=4)
    claimed = logits + np.array([0.0, 0.0, 0.0, 1.0])
    observed = np.ones_like(correct)
    observed[3:, 1] = False
    shift = fit_experts(claimed, correct, observed, link="logit")[1]
    assert shift[3] - shift[[0, 2]].mean() == pytest.approx(-1.0, abs=0.3)
    assert abs(shift[1]) < 0.25 * abs(shift[3])


def test_an_expert_without_answers_gets_the_pooled_map():
    """Two others who boast alike: the silent one is brought down with them."""
    scores, labels, correct = draw_case(400, n_experts=3, boast=3)
    observed = np.ones_like(correct)
    observed[:, 1] = False
    calibrator = fitted(scores, labels, correct, observed)
    assert calibrator.shift[1] == 0
    before, after = (
        smooth_calibration_error(one.expert_proba[:, 1], correct[:, 1]) for one in (scores, calibrator.apply(scores))
    )
    assert before > 0.08
    assert after < 0.5 * before
    assert calibrator.n_answers == 800


def test_it_never_turns_an_order_round():
    """Whoever looks better is worse: the slope of the map stays at 0."""
    scores, labels, correct = draw_case(500, n_experts=2)
    honest = fitted(scores, labels, ~correct).apply(scores)
    assert np.ptp(honest.expert_raw, axis=0).max() == 0


@pytest.mark.parametrize("link", LINKS)
def test_none_is_the_identity(link):
    scores, labels, correct = draw_case(200, boast=3, link=link)
    same = fitted(scores, labels, correct, method="none").apply(scores)
    np.testing.assert_allclose(same.expert_proba, scores.expert_proba, rtol=0, atol=1e-12)
    assert np.array_equal(same.class_proba, scores.class_proba)
    assert np.array_equal(same.model_proba, scores.model_proba)


def test_none_leaves_one_vs_all_as_it_is():
    """The largest sigmoid is not the largest class probability, and decides."""
    rng = np.random.default_rng(0)
    scores = scores_from_logits("ova", rng.normal(0, 2, (300, 3)), rng.normal(0, 1, (300, 2)))
    same = fitted(scores, rng.integers(0, 3, 300), rng.random((300, 2)) < 0.5, method="none").apply(scores)
    assert not np.array_equal(scores.model_proba, scores.class_proba.max(axis=1))
    assert np.array_equal(same.model_proba, scores.model_proba)


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
@settings(max_examples=20)
@given(seed=st.integers(0, 1000), boast=st.floats(0.2, 8))
def test_what_a_calibration_leaves_alone(link, seed, boast):
    scores, labels, correct = draw_case(40, n_experts=3, boast=boast, link=link, seed=seed)
    honest = fitted(scores, labels, correct).apply(scores)
    assert np.array_equal(honest.class_idx, scores.class_idx)
    order = scores.expert_raw.argsort(axis=0)
    assert (np.diff(np.take_along_axis(honest.expert_raw, order, axis=0), axis=0) >= 0).all()
    assert honest.link == "logit"
    np.testing.assert_allclose(sigmoid(honest.expert_raw), honest.expert_proba, rtol=1e-12)


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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("case", ["no items", "one item", "nobody answered", "all right", "all wrong", "all equal"])
def test_poor_input_gives_defined_scores(method, link, case):
    n = {"no items": 0, "one item": 1}.get(case, 40)
    scores, labels, correct = draw_case(n, n_experts=3, link=link, boast=2)
    observed = np.full_like(correct, case != "nobody answered")
    if case.startswith("all "):
        correct = np.full_like(correct, True) if case == "all right" else correct & (case == "all equal")
    if case == "all equal":
        raw = np.full(correct.shape, -0.5)
        scores = Scores(scores.class_proba, np.full(raw.shape, 0.5), scores.model_proba, raw, link)
    honest = fitted(scores, labels, correct, observed, method=method).apply(scores)
    assert np.isfinite(honest.expert_raw).all()
    assert honest.expert_proba.shape == (n, 3)
    if case in ("nobody answered", "no items"):
        np.testing.assert_allclose(honest.expert_proba, scores.expert_proba, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_no_experts(method):
    scores, labels, _ = draw_case(50, n_experts=0)
    calibrator = fitted(scores, labels, np.ones((50, 0), bool), method=method)
    assert calibrator.apply(scores).expert_proba.shape == (50, 0)
    assert len(calibrator.describe()) == 1


@pytest.mark.parametrize("link", LINKS)
def test_some_experts_keep_their_maps_and_a_newcomer_changes_nobody_s(link):
    scores, labels, correct = draw_case(300, n_experts=5, boast=2, link=link)
    calibrator = fitted(scores, labels, correct)
    raw = scores.expert_raw
    some = [3, 0]
    np.testing.assert_array_equal(
        calibrator.take(some).expert_log_odds(raw[:, some]), calibrator.expert_log_odds(raw)[:, some]
    )
    wide = np.column_stack([raw, raw[:, 0]])
    more = calibrator.with_newcomer()
    np.testing.assert_array_equal(more.expert_log_odds(wide)[:, :5], calibrator.expert_log_odds(raw))
    pooled = calibrator.expert_log_odds(raw)[:, 0] - calibrator.shift[0]
    np.testing.assert_allclose(more.expert_log_odds(wide)[:, 5], pooled, atol=1e-12)
    assert (more.temperature, more.n_labels, more.n_answers) == (calibrator.temperature, 300, 1_500)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("link", LINKS)
def test_settings_survive_json_exactly(link, method):
    scores, labels, correct = draw_case(70, boast=1.7, link=link)
    calibrator = fitted(scores, labels, correct, method=method)
    packed = pack(calibrator)
    again = unpack(Calibrator, replace(packed, manifest=json.loads(json.dumps(packed.manifest))))
    assert (again.temperature, again.keeps_model) == (calibrator.temperature, calibrator.keeps_model)
    assert np.array_equal(again.accuracy, calibrator.accuracy)
    assert np.array_equal(again.apply(scores).expert_raw, calibrator.apply(scores).expert_raw)


def test_what_was_done_is_said():
    assert plain(1.5, "log", (0.1, 0.5)).describe() == [
        "Looked at 8 cases. The model: its class probabilities get temperature 1.50 (it claimed too much).",
        "Experts: one map for all and a shift of each, by 1 answer.",
    ]
    assert plain().describe() == [
        "Looked at 8 cases. The model: not corrected.",
        "Experts: not corrected, by 1 answer.",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": None},
        {"temperature": float("nan")},
        {"link": None},
        {"link": "guess"},
        {"model_accuracy": 2},
        {"n_answers": -1},
        {"n_answers": [1, 2, 3]},
    ],
)
def test_damaged_settings_say_so(change):
    with pytest.raises(ModelFolderError, match=r"model\.json: .* fit again or restore it"):
        unpack(Calibrator, Packed({**OF_IDENTITY.manifest, **change}, OF_IDENTITY.arrays))


def test_a_method_must_be_known():
    scores, labels, correct = draw_case(5)
    with pytest.raises(InputError, match="method must be one of auto, none, got 'platt'"):
        fitted(scores, labels, correct, method="platt")


@pytest.mark.parametrize(
    ("labels", "correct", "observed", "words"),
    [
        ([0], [[1], [1]], [[1], [1]], r"label_idx must have 2 items .*, got 1"),
        ([0, 1], [[1]], [[1], [1]], r"correct must have shape \(2, 1\) of the other arguments, got \(1, 1\)"),
        ([0, 1], [[1], [1]], [1, 1], r"observed must have shape \(2, 1\) of the other arguments, got \(2,\)"),
        ([0, 1], [[2], [1]], [[1], [1]], "correct must be True or False .* in each cell, got 2 at row 0, column 0"),
    ],
)
def test_fit_names_the_wrong_argument(labels, correct, observed, words):
    scores = Scores.from_probabilities([[0.5, 0.5]] * 2, [[0.5]] * 2)
    with pytest.raises(InputError, match=words):
        Calibrator.fit(scores, labels, correct, observed)


def test_apply_takes_the_scores_that_fit_took():
    calibrator = plain()
    with pytest.raises(InputError, match="scores must be of the 1 experts of fit, got 2 columns"):
        calibrator.apply(Scores.from_probabilities([[1.0]], [[0.5, 0.5]]))
    softmax = Scores([[1.0]], [[0.5]], [1.0], [[np.log(0.5)]], "log")
    with pytest.raises(InputError, match="scores must have the link 'logit' of fit, got 'log'; pass the scores as"):
        calibrator.apply(softmax)


def test_a_temperature_must_be_positive():
    with pytest.raises(InputError, match=r"temperature must be positive and finite, got -1.0"):
        plain(-1.0)


@pytest.mark.parametrize("method", METHODS)
def test_a_mixture_of_experts_cannot_be_calibrated(method):
    scores = scores_from_logits("moe", np.zeros((2, 2)), np.zeros((2, 1)), model_logit=np.zeros(2))
    with pytest.raises(InputError, match="a mixture of experts' weights are no probabilities and cannot be calibrated"):
        fitted(scores, [0, 1], np.ones((2, 1), bool), method=method)
