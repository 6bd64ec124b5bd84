"""The draws agree with the probabilities they claim, and these with the closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core import InputError
from defero.datasets import (
    wedge,
    wedge_bayes_accuracy,
    wedge_classifier_accuracy,
    wedge_coverage,
    wedge_expert_accuracy,
    wedge_with_budget,
    wedge_with_fees,
)

FEES = np.array([0.1, 0.05, 0.0, 0.2])


@pytest.fixture(scope="module")
def two_million():
    return wedge(2_000_000, noise=0, random_state=0)


def test_the_true_probabilities_integrate_to_the_closed_forms(two_million):
    best_class, best_expert = two_million.class_proba.max(axis=1), two_million.expert_proba.max(axis=1)
    assert two_million.best_value().mean() == pytest.approx(wedge_bayes_accuracy(), abs=3e-4)
    assert best_class.mean() == pytest.approx(wedge_classifier_accuracy(), abs=8e-4)
    assert np.mean(best_class > best_expert) == pytest.approx(wedge_coverage(), abs=1.4e-3)  # 5 sigma
    np.testing.assert_allclose(two_million.expert_proba.mean(axis=0), wedge_expert_accuracy(), atol=1.1e-3)


def test_the_best_decision_under_fees_has_the_closed_form(two_million):
    net = two_million.expert_proba - FEES
    model_idx = two_million.class_proba.argmax(axis=1)
    expert = np.where(net.max(axis=1) > two_million.class_proba.max(axis=1), net.argmax(axis=1), -1)
    value = two_million.value(expert, model_idx)
    paid = np.where(expert >= 0, FEES[expert], 0.0)
    best = wedge_with_fees(FEES)
    assert np.mean(value - paid) == pytest.approx(best.utility, abs=3e-4)
    assert value.mean() == pytest.approx(best.accuracy, abs=3e-4)
    load = np.bincount(expert[expert >= 0], minlength=4) / len(expert)
    np.testing.assert_allclose(load, best.load, atol=1.4e-3)


@pytest.mark.parametrize("budget", [0.3, 0.5])
def test_deferring_the_largest_gains_within_a_budget_has_the_closed_form(two_million, budget):
    best_class, best_expert = two_million.class_proba.max(axis=1), two_million.expert_proba.max(axis=1)
    n_deferred = int(budget * len(two_million))
    gain = np.sort(best_expert - best_class)[::-1]
    assert best_class.mean() + gain[:n_deferred].sum() / len(gain) == pytest.approx(wedge_with_budget(budget), abs=5e-4)


def test_labels_and_answers_come_as_often_as_claimed(two_million):
    n = len(two_million)
    is_label = np.eye(4)[two_million.labels]
    is_right = two_million.answers == two_million.labels[:, None]
    for drawn, claimed in ((is_label, two_million.class_proba), (is_right, two_million.expert_proba)):
        sigma = np.sqrt((claimed * (1 - claimed)).sum(axis=0)) / n
        assert np.all(np.abs((drawn - claimed).mean(axis=0)) <= 5 * sigma)
        for lower, upper in ((0.0, 0.3), (0.3, 0.6), (0.6, 1.0)):  # and among items with a like claim
            inside = (claimed >= lower) & (claimed < upper)
            spread = np.sqrt((claimed * (1 - claimed))[inside].sum())
            assert abs((drawn - claimed)[inside].sum()) <= 5 * spread


def test_being_right_is_independent_of_the_label_and_of_the_others_given_x(two_million):
    is_right = two_million.answers == two_million.labels[:, None]
    surprise = is_right - two_million.expert_proba
    is_top = two_million.labels == two_million.class_proba.argmax(axis=1)
    others = [surprise[:, 1], surprise[:, 2], surprise[:, 3], is_top - two_million.class_proba.max(axis=1)]
    for other in others:
        product = surprise[:, 0] * other
        assert abs(product.mean()) <= 5 * product.std() / np.sqrt(len(product))


def test_a_wrong_answer_is_uniform_over_the_wrong_classes(two_million):
    step = (two_million.answers - two_million.labels[:, None]) % 4
    counts = np.stack([np.bincount(step[:, j], minlength=4)[1:] for j in range(4)])
    expected = counts.sum(axis=1, keepdims=True) / 3
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected))


def test_x_is_uniform(two_million):
    for column in two_million.raw.T:
        counts = np.bincount((column * 10).astype(int), minlength=10)
        assert np.all(np.abs(counts - 200_000) <= 5 * np.sqrt(200_000))


@st.composite
def benches(draw):
    n_experts = draw(st.integers(1, 4))
    one_each = st.lists(st.floats(0, 1), min_size=n_experts, max_size=n_experts)
    return wedge(
        draw(st.integers(1, 40)),
        n_classes=draw(st.integers(2, 6)),
        high=draw(one_each),
        low=draw(one_each),
        noise=draw(st.integers(0, 3)),
        random_state=draw(st.integers(0, 2**32)),
    )


@given(benches())
def test_the_truth_is_a_function_of_x(bench):
    k, j = bench.n_classes, bench.n_experts
    np.testing.assert_allclose(bench.class_proba.sum(axis=1), 1, atol=1e-12)
    assert bench.class_proba.min() >= 0
    top, region = np.floor(k * bench.raw[:, 1]).astype(int), np.floor(j * bench.raw[:, 2]).astype(int)
    rows = np.arange(len(bench))
    np.testing.assert_allclose(bench.class_proba[rows, top], 1 / k + (1 - 1 / k) * bench.raw[:, 0], atol=1e-12)
    coded = np.column_stack([bench.raw[:, 0], np.eye(k)[top], np.eye(j)[region]])
    np.testing.assert_array_equal(bench.features[:, : 1 + k + j], coded)
    assert np.all((bench.labels >= 0) & (bench.labels < k))
    assert np.all((bench.answers >= 0) & (bench.answers < k))


@given(benches(), st.data())
def test_no_decision_beats_the_best_one(bench, data):
    n, k, j = len(bench), bench.n_classes, bench.n_experts
    expert = data.draw(st.lists(st.integers(-1, j - 1), min_size=n, max_size=n))
    class_idx = data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    value = bench.value(expert, class_idx)
    slow = [bench.class_proba[i, class_idx[i]] if e == -1 else bench.expert_proba[i, e] for i, e in enumerate(expert)]
    np.testing.assert_array_equal(value, slow)
    assert np.all(value <= bench.best_value())
    assert bench.excess(expert, class_idx) == pytest.approx(np.mean(bench.best_value() - slow))


@given(benches())
def test_the_best_decision_has_no_excess(bench):
    asks = bench.expert_proba.max(axis=1) > bench.class_proba.max(axis=1)
    expert = np.where(asks, bench.expert_proba.argmax(axis=1), -1)
    assert bench.excess(expert, bench.class_proba.argmax(axis=1)) == 0.0


def test_a_seed_fixes_everything_and_noise_changes_nothing_else():
    first, second, wider = (wedge(50, noise=noise, random_state=3) for noise in (2, 2, 5))
    np.testing.assert_array_equal(first.features, second.features)
    for name in ("raw", "labels", "answers", "class_proba", "expert_proba"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
        np.testing.assert_array_equal(getattr(first, name), getattr(wider, name))
    assert wider.features.shape == (50, 1 + 4 + 4 + 5)
    assert not np.array_equal(first.labels, wedge(50, random_state=4).labels)


def test_sure_experts_are_right_in_their_region_alone():
    bench = wedge(500, n_classes=3, high=(1.0, 1.0), low=(0.0, 0.0), random_state=0)
    np.testing.assert_array_equal(bench.answers == bench.labels[:, None], bench.expert_proba == 1)


def test_a_bench_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        wedge(3, random_state=0).labels[0] = 1


@pytest.mark.parametrize(
    ("expert", "class_idx", "words"),
    [
        ([0, 0], [0, 0, 0], "expert must be 3 whole numbers"),
        ([0.0, 0.0, 1.0], [0, 0, 0], "expert must be 3 whole numbers.* of float64"),
        ([0, 4, 0], [0, 0, 0], r"expert must lie in -1 \(the model\)\.\.3, got 4 for item 1"),
        ([0, 0, -2], [0, 0, 0], "got -2 for item 2"),
        ([0, 0, 0], [0, 0], "class_idx must have 3 items"),
        ([0, 0, 0], [0, 0, 4], r"class_idx must lie in 0\.\.3, got 4 for item 2"),
    ],
)
def test_a_decision_that_does_not_fit_is_refused(expert, class_idx, words):
    with pytest.raises(InputError, match=words):
        wedge(3, random_state=0).value(expert, class_idx)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n must be a whole number of at least 1, got 0"),
        ({"n_classes": 1}, "n_classes must be a whole number of at least 2, got 1"),
        ({"noise": -1}, "noise must be a whole number of at least 0, got -1"),
        ({"high": (0.5,)}, "one probability per expert.* got 1 and 4"),
    ],
)
def test_a_setting_that_is_none_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        wedge(**{"n": 3, **options})
