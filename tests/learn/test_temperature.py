"""One temperature for the classes: a hand value, a slow twin, what a minimum must satisfy, and the edges."""

import numpy as np
import pytest
from calibration_problems import draw_classes, softmax
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from defero.core.errors import InputError
from defero.learn.logistic import apply_temperature, fit_temperature


def log_loss(class_proba, labels, weight=None):
    return np.average(-np.log(class_proba[np.arange(len(labels)), labels]), weights=weight)


def test_by_hand():
    temperature = fit_temperature([[0.9, 0.1]] * 3, [0, 0, 1])
    assert temperature == pytest.approx(np.log(9) / np.log(2), abs=1e-12)
    assert apply_temperature([[0.9, 0.1]], temperature) == pytest.approx(np.array([[2 / 3, 1 / 3]]))


def test_honest_probabilities_stay():
    logits, labels = draw_classes(100_000)
    assert fit_temperature(softmax(logits), labels) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("boast", [0.25, 2.5, 8.0])
def test_boasting_is_undone(boast):
    logits, labels = draw_classes(50_000)
    temperature = fit_temperature(softmax(boast * logits), labels)
    assert temperature == pytest.approx(boast, rel=0.03)
    undone = apply_temperature(softmax(boast * logits), temperature)
    assert np.abs(undone - softmax(logits)).max() < 0.02


@given(st.integers(0, 10_000), st.floats(0.3, 4), st.integers(2, 5))
def test_scipy_finds_the_same(seed, boast, n_classes):
    logits, labels = draw_classes(40, n_classes=n_classes, seed=seed)
    proba, weight = softmax(boast * logits), np.random.default_rng(seed).random(40)
    slow = minimize_scalar(
        lambda log_t: log_loss(softmax(boast * logits / np.exp(log_t)), labels, weight),
        bounds=(np.log(0.05), np.log(20)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert fit_temperature(proba, labels, weight) == pytest.approx(np.exp(slow.x), rel=1e-4)


@given(st.integers(0, 10_000), st.floats(0.1, 10), st.integers(1, 30))
def test_the_loss_never_rises_on_the_items_of_the_fit(seed, boast, n):
    logits, labels = draw_classes(n, seed=seed)
    proba = softmax(boast * logits)
    assert log_loss(apply_temperature(proba, fit_temperature(proba, labels)), labels) <= log_loss(proba, labels) + 1e-8


@given(st.integers(0, 10_000), st.floats(0.05, 20))
def test_no_class_changes_rank(seed, temperature):
    proba = softmax(draw_classes(20, seed=seed)[0])
    scaled = apply_temperature(proba, temperature)
    assert np.array_equal(scaled.argmax(axis=1), proba.argmax(axis=1))
    in_order = np.take_along_axis(scaled, proba.argsort(axis=1), axis=1)
    assert (np.diff(in_order, axis=1) >= 0).all()
    np.testing.assert_allclose(scaled.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_a_weight_counts_like_copies():
    logits, labels = draw_classes(50)
    proba, copies = softmax(3 * logits), np.arange(50) % 3
    repeated = fit_temperature(np.repeat(proba, copies, axis=0), np.repeat(labels, copies))
    assert fit_temperature(proba, labels, copies) == pytest.approx(repeated, rel=1e-9)


@pytest.mark.parametrize(
    ("class_proba", "labels", "weight"),
    [
        (np.empty((0, 3)), np.empty(0, int), None),
        (np.full((5, 3), 1 / 3), [0, 1, 2, 0, 0], None),
        (np.ones((4, 1)), [0] * 4, None),
        ([[0.9, 0.1]], [1], [0.0]),
    ],
    ids=["no items", "equal probabilities", "one class", "no weight"],
)
def test_nothing_to_learn_is_temperature_one(class_proba, labels, weight):
    assert fit_temperature(class_proba, labels, weight) == 1.0


def test_the_bounds_hold():
    assert fit_temperature([[0.9, 0.1]] * 5, [0] * 5) == pytest.approx(0.05)
    assert fit_temperature([[0.9, 0.1]] * 5, [1] * 5) == pytest.approx(20)


def test_zeros_of_a_tree_stay_finite():
    proba = np.array([[1.0, 0.0]] * 10)
    temperature = fit_temperature(proba, [0] * 9 + [1])
    assert apply_temperature(proba, temperature)[0, 0] == pytest.approx(0.9, abs=1e-6)
    np.testing.assert_allclose(apply_temperature(proba, 1.0), proba, rtol=0, atol=3e-9)


@pytest.mark.parametrize(
    ("labels", "weight", "words"),
    [
        ([0], None, r"label_idx must have 2 items .*, got 1"),
        ([0, 2], None, r"label_idx must lie in 0..1, got 2 for item 1"),
        ([0.0, 1.0], None, "label_idx must be whole numbers, got dtype float64; .*ExpertTable.label_idx"),
        ([0, 1], [1.0], r"weight must have 2 items .*, got 1"),
        ([0, 1], [1.0, -1.0], "weight must be finite and not negative, got -1 for item 1; pass 0"),
    ],
)
def test_errors_name_the_argument(labels, weight, words):
    with pytest.raises(InputError, match=words):
        fit_temperature([[0.5, 0.5]] * 2, labels, weight)


def test_probabilities_that_underflow_to_zero_keep_their_rank():
    proba = np.array([[1.0, 1e-200, 0.0, 1e-30]])
    scaled = apply_temperature(proba, 20.0)
    assert scaled[0].argsort(kind="stable").tolist() == [1, 2, 3, 0]
    assert (scaled > 0).all()


def test_a_temperature_is_positive():
    with pytest.raises(InputError, match="temperature must be positive and finite, got 0"):
        apply_temperature([[0.5, 0.5]], 0.0)


@pytest.mark.parametrize("n_labels", [10, 19])
def test_a_dozen_labels_cure_a_boast_and_cost_an_honest_model_little(n_labels):
    """Of 200 draws, on 500 new labels: an honest model loses about 0.01 nats on average, one that boasts gains 0.5."""
    lost, gained = [], []
    for seed in range(200):
        logits, labels = draw_classes(n_labels + 500, seed=seed)
        for boast, change in ((1.0, lost), (4.0, gained)):
            proba = softmax(boast * logits)
            chosen = fit_temperature(proba[:n_labels], labels[:n_labels], prior=10)
            after = apply_temperature(proba[n_labels:], chosen)
            change.append(log_loss(proba[n_labels:], labels[n_labels:]) - log_loss(after, labels[n_labels:]))
    assert np.mean(lost) > -0.015
    assert np.mean(gained) > 0.4
