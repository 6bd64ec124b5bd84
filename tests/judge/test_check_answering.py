"""Does the check speak where answering depends on the label, and keep silent where it does not?"""

import os
import time
import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from answering_studies import (
    BY_FEATURES,
    at_random_five_of_203,
    by_features,
    by_one_of_many,
    by_taste,
    check,
    checked,
    few_of_many,
    one_expert,
    who_said,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from defero.core.errors import InputError
from defero.judge import AnsweringCheck, answering, check_answering
from defero.judge.answering import WhoAnswered, directions

NOBODY = np.empty(0, dtype=int)


def anything(found):
    return found.depends_on_label or found.depends_on_features


def test_label_dependent_answering_is_told_with_the_remedy():
    found = checked(one_expert(0, rates=(0.2, 0.9), n=10_000))
    assert (found.depends_on_label, found.depends_on_features) == (True, False)
    np.testing.assert_allclose(found.rates, [[0.2, 0.9]], atol=0.02)
    assert found.shift == pytest.approx(0.359, abs=0.03)  # 0.27 / 0.41 - 0.3
    assert found.sentence() == (
        "Whether a case was answered depends on its label (p = 0.0025): of the answers of expert_0 33 % are to "
        "class 0 where 70 % were expected; accuracies learned from these answers can be off by up to 37 points; use "
        "answer_weights='label'."
    )
    weighted = found.sentence(weighted="label")
    assert weighted.endswith("were expected; the model was fitted with answer_weights='label'.")


def test_clear_dependence_is_always_found():
    assert all(checked(one_expert(seed, rates=(0.2, 0.9), n=300)).depends_on_label for seed in range(5))


def test_at_random_p_values_are_uniform_or_larger():
    """The slow study has the levels of 500 runs in five ways of answering."""
    studies = [one_expert(seed, rates=(0.41, 0.41), n=200) for seed in range(80)]
    found = [checked(study, rng=np.random.default_rng(seed)) for seed, study in enumerate(studies)]
    p_label = np.array([one.p_label for one in found])
    for level in (0.05, 0.2, 0.5):
        assert (p_label <= level).mean() <= level + 2.5 * np.sqrt(level / len(found))
    assert np.isnan([one.p_features for one in found]).all()


def test_at_random_five_of_203_experts_give_few_alarms():
    alarms = [anything(checked(at_random_five_of_203(seed), rng=np.random.default_rng(seed))) for seed in range(8)]
    assert sum(alarms) <= 1


@pytest.mark.parametrize("study", BY_FEATURES, ids=lambda study: study.__name__)
def test_answering_by_the_features_is_told_and_is_no_alarm(study):
    """The slow study has 100 runs of each."""
    found = checked(study(0), rng=np.random.default_rng(0))
    assert (found.depends_on_features, found.depends_on_label) == (True, False)
    assert "if the model does not read these well, use answer_weights='label+features'." in found.sentence()


def test_answering_by_the_features_alarms_where_they_are_not_known():
    item, expert, label, _, n_classes, n_experts = by_features(0)
    assert check(item, expert, label, n_classes=n_classes, n_experts=n_experts).depends_on_label


def test_answering_by_features_and_label_is_an_alarm():
    item, expert, label, x, n_classes, n_experts = by_features(0)
    kept = np.random.default_rng(0).random(len(item)) < np.where(label[item] == 1, 0.9, 0.5)
    found = check(item[kept], expert[kept], label, x, n_classes=n_classes, n_experts=n_experts)
    assert (found.depends_on_label, found.depends_on_features) == (True, True)
    told = found.sentence()
    assert "depends on its label, beyond what the features predict (p = " in told
    assert ", and on its features; " in told
    assert told.endswith("use answer_weights='label+features'.")
    by_label = "the model was fitted with answer_weights='label'; use answer_weights='label+features'."
    assert found.sentence(weighted="label").endswith(by_label)
    by_both = "the model was fitted with answer_weights='label+features'."
    assert found.sentence(weighted="label+features").endswith(by_both)


def test_taste_shows_although_each_item_got_five_answers():
    found = checked(by_taste(0))
    assert found.depends_on_label
    assert "of the answers of expert_" in found.sentence()


def test_one_of_many_is_named():
    for seed in range(5):
        found = checked(by_one_of_many(seed), classes=["dog", "cat"])
        assert found.depends_on_label
        assert found.oddest[0] == 7
    assert "of the answers of expert_7 9" in found.sentence()
    assert "are to class cat where 5" in found.sentence()


def test_a_shift_too_small_to_matter_is_no_alarm():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 30_000)
    item = np.flatnonzero(rng.random(60_000) < np.where(label == 1, 0.515, 0.50))
    found = check(item, np.zeros(len(item), int), label, n_classes=2, n_experts=1)
    assert found.shift < 0.01
    assert not found.depends_on_label


@pytest.mark.parametrize(
    "case",
    [
        (NOBODY, NOBODY, [0, 1, 0], 2, 2),
        (NOBODY, NOBODY, [0, 1, 0], 2, 0),
        ([0, 1], [0, 0], [0, 0, 0], 1, 1),
        ([0], [0], [0], 1, 1),
        ([0, 1, 2], [0, 0, 0], [0, 1, 0], 2, 1),
        ([0], [0], [0, 1], 2, 1),
    ],
)
def test_edges_are_silent(case):
    item, expert, label, n_classes, n_experts = case
    found = check(item, expert, label, n_classes=n_classes, n_experts=n_experts)
    assert not anything(found)
    assert found.sentence() == "No sign that answering depends on the label."
    assert found.rates.shape == (n_experts, n_classes)


def test_who_answered_everything_tells_nothing():
    label = np.array([0, 1] * 50)
    everything = np.arange(100)
    found = check(everything, np.zeros(100, int), label, np.eye(100)[:, :3], n_classes=2, n_experts=1)
    assert np.isnan([found.p_label, found.p_features]).all()
    assert not anything(found)


@pytest.mark.parametrize("shape", [(100, 300), (100, 900)])
def test_more_features_than_items(shape):
    rng = np.random.default_rng(0)
    item, expert = np.nonzero(rng.random((100, 3)) < 0.3)
    found = check(item, expert, rng.integers(2, size=100), rng.normal(size=shape), n_classes=2, n_experts=3)
    assert not anything(found)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_experts_and_answers_may_come_in_any_order(seed):
    rng = np.random.default_rng(seed)
    label, x = rng.integers(3, size=40), rng.normal(size=(40, 2))
    item, expert = np.nonzero(rng.random((40, 4)) < 0.4)
    found = check(item, expert, label, x, n_classes=3, n_experts=4)
    order, other = rng.permutation(len(item)), rng.permutation(4)
    again = check(item[order], other[expert[order]], label, x, n_classes=3, n_experts=4)
    np.testing.assert_allclose(again.rates[other], found.rates)
    assert (again.p_label, again.p_features) == pytest.approx((found.p_label, found.p_features), abs=0.01)
    assert again.shift == pytest.approx(found.shift)


def test_the_p_value_equals_that_of_all_permutations(monkeypatch):
    """One expert who answered 3 of 7 items: the ratio is that of the drawn sum, here with its exact law."""
    monkeypatch.setattr(answering, "N_SHUFFLES", 3_999)
    values = np.array([[-1.0], [0.3], [0.1], [2.0], [-0.4], [-0.9], [0.7]])
    values -= values.mean(axis=0)
    who = WhoAnswered.of(who_said([1, 3, 6], [0, 0, 0], 7, n_classes=1, n_experts=1), np.zeros(7, int))
    ratios = [
        chosen.sum() ** 2 / (chosen**2).sum()
        for chosen in (values[list(order)[:3], 0] for order in permutations(range(7)))
    ]
    seen = values[[1, 3, 6], 0].sum() ** 2 / (values[[1, 3, 6], 0] ** 2).sum()
    per_item = who.answers.per_item()
    centred = per_item - per_item.mean()
    pooled = [
        (centred @ values[list(order), 0]) ** 2 / (centred**2 @ values[list(order), 0] ** 2)
        for order in permutations(range(7))
    ]
    exact = [np.mean(np.array(ratios) >= seen - 1e-12)]
    exact.append(np.mean(np.array(pooled) >= (centred @ values[:, 0]) ** 2 / (centred**2 @ values[:, 0] ** 2) - 1e-12))
    p_value = answering._p_value(who, values, None, rng=np.random.default_rng(0))
    assert min(exact) - 0.03 <= p_value <= sum(exact) + 0.03


def test_sums_equal_a_loop():
    rng = np.random.default_rng(0)
    observed = rng.random((30, 5)) < 0.4
    label, values = rng.integers(3, size=30), rng.normal(size=(30, 2))
    who = WhoAnswered.of(who_said(*np.nonzero(observed), 30, n_classes=3, n_experts=5), label)
    np.testing.assert_allclose(who.sums(values), observed.T @ values, atol=1e-12)
    assert who.by_class.tolist() == [[int((observed[:, j] & (label == k)).sum()) for k in range(3)] for j in range(5)]


@pytest.mark.parametrize("d", [1, 3, 40, 700])
def test_directions_are_level_and_few(d):
    rng = np.random.default_rng(0)
    towards = directions(rng.normal(size=(200, d)) * rng.exponential(size=d))
    assert towards.shape == (200, 2 * min(d, 6))
    np.testing.assert_allclose(towards.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(towards.std(axis=0), 1, atol=1e-9)


def test_ten_thousand_items_and_800_experts_take_seconds_and_little_memory():
    rng = np.random.default_rng(0)
    item, expert = few_of_many(rng, 10_000, 800)
    label, x = rng.integers(4, size=10_000), rng.normal(size=(10_000, 20))
    expert[label[item] == 3] %= 400
    item, expert = np.unique(np.column_stack([item, expert]), axis=0).T
    start = time.process_time()
    assert check(item, expert, label, x, n_classes=4, n_experts=800).depends_on_label
    assert time.process_time() - start < 15
    tracemalloc.start()
    check(item, expert, label, n_classes=4, n_experts=800)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000 * 800 * 8  # less than one (n, J) array of floats


@pytest.mark.parametrize(
    ("labels", "features", "message"),
    [
        ([0, 2, 1], None, r"label_idx must lie in 0..1, got 2 for item 1"),
        ([0, 1], None, "label_idx must have 3 items like the other arguments, got 2"),
        ([0.0, 1.0, 1.0], None, "label_idx must be whole numbers, got dtype float64"),
        ([0, 1, 1], [[1.0]], "features must have 3 rows, one per item, got 1"),
        ([0, 1, 1], [[1.0], [np.nan], [0.0]], "features must be finite"),
    ],
)
def test_wrong_input_is_named(labels, features, message):
    answers = who_said([0, 1], [0, 1], 3, n_classes=2, n_experts=2)
    with pytest.raises(InputError, match=message):
        check_answering(answers, labels, features)


def test_without_items_there_is_nothing_to_check():
    with pytest.raises(InputError, match="label_idx must hold at least one item"):
        check_answering(who_said(NOBODY, NOBODY, 0, n_classes=2, n_experts=2), NOBODY)


def test_nothing_can_be_changed_afterwards():
    found = check([0, 1], [0, 1], [0, 1, 1], n_classes=2, n_experts=2)
    assert isinstance(found, AnsweringCheck)
    with pytest.raises(ValueError, match="read-only"):
        found.rates[0, 0] = 1


@pytest.mark.skipif("DEFERO_DATA" not in os.environ, reason="DEFERO_DATA names no folder with the public data sets")
@pytest.mark.parametrize("name", ["sentiment-polarity-crowd", "keswani-toxicity", "labelme-crowd"])
def test_crowds_that_were_dealt_their_work_give_no_alarm(name):
    from defero.datasets import load_dataset

    table = load_dataset(name)
    found = check_answering(table.coded, table.label_idx)
    assert not found.depends_on_label
