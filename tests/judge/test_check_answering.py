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
    checked,
    few_of_many,
    one_expert,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from defero.core.errors import InputError
from defero.judge import AnsweringCheck, answering, check_answering
from defero.judge.answering import directions, who_answered

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
    assert check_answering(item, expert, label, n_classes=n_classes, n_experts=n_experts).depends_on_label


def test_answering_by_features_and_label_is_an_alarm():
    item, expert, label, x, n_classes, n_experts = by_features(0)
    kept = np.random.default_rng(0).random(len(item)) < np.where(label[item] == 1, 0.9, 0.5)
    found = check_answering(item[kept], expert[kept], label, x, n_classes=n_classes, n_experts=n_experts)
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
    found = check_answering(item, np.zeros(len(item), int), label, n_classes=2, n_experts=1)
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
    found = check_answering(item, expert, label, n_classes=n_classes, n_experts=n_experts)
    assert not anything(found)
    assert found.sentence() == "No sign that answering depends on the label."
    assert found.rates.shape == (n_experts, n_classes)


def test_who_answered_everything_tells_nothing():
    label = np.array([0, 1] * 50)
    everything = np.arange(100)
    found = check_answering(everything, np.zeros(100, int), label, np.eye(100)[:, :3], n_classes=2, n_experts=1)
    assert np.isnan([found.p_label, found.p_features]).all()
    assert not anything(found)


@pytest.mark.parametrize("shape", [(100, 300), (100, 900)])
def test_more_features_than_items(shape):
    rng = np.random.default_rng(0)
    item, expert = np.nonzero(rng.random((100, 3)) < 0.3)
    found = check_answering(item, expert, rng.integers(2, size=100), rng.normal(size=shape), n_classes=2, n_experts=3)
    assert not anything(found)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_experts_and_answers_may_come_in_any_order(seed):
    rng = np.random.default_rng(seed)
    label, x = rng.integers(3, size=40), rng.normal(size=(40, 2))
    item, expert = np.nonzero(rng.random((40, 4)) < 0.4)
    found = check_answering(item, expert, label, x, n_classes=3, n_experts=4)
    order, other = rng.permutation(len(item)), rng.permutation(4)
    again = check_answering(item[order], other[expert[order]], label, x, n_classes=3, n_experts=4)
    np.testing.assert_allclose(again.rates[other], found.rates)
    assert (again.p_label, again.p_features) == pytest.approx((found.p_label, found.p_features), abs=0.01)
    assert again.shift == pytest.approx(found.shift)


def test_the_p_value_equals_that_of_all_permutations(monkeypatch):
    """One expert who answered 3 of 7 items: the ratio is that of the drawn sum, here with its exact law."""
    monkeypatch.setattr(answering, "N_SHUFFLES", 3_999)
    values = np.array([[-1.0], [0.3], [0.1], [2.0], [-0.4], [-0.9], [0.7]])
    values -= values.mean(axis=0)
    who = who_answered([1, 3, 6], [0, 0, 0], np.zeros(7, int), n_classes=1, n_experts=1)
    ratios = [
        chosen.sum() ** 2 / (chosen**2).sum()
        for chosen in (values[list(order)[:3], 0] for order in permutations(range(7)))
    ]
    seen = values[[1, 3, 6], 0].sum() ** 2 / (values[[1, 3, 6], 0] ** 2).sum()
    centred = who.per_item - who.per_item.mean()
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
    who = who_answered(*np.nonzero(observed), label, n_classes=3, n_experts=5)
    np.testing.assert_allclose(who.sums(values), observed.T @ values, atol=1e-12)
    assert who.by_class.tolist() == [[int((observed[:, j] & (label == k)).sum()) for k in range(3)] for j in range(5)]
    assert who.per_item.tolist() == observed.sum(axis=1).tolist()


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
    assert check_answering(item, expert, label, x, n_classes=4, n_experts=800).depends_on_label
    assert time.process_time() - start < 15
    tracemalloc.start()
    check_answering(item, expert, label, n_classes=4, n_experts=800)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000 * 800 * 8  # less than one (n, J) array of floats


GOOD = {
    "item_idx": [0, 1],
    "expert_idx": [0, 1],
    "label_idx": [0, 1, 1],
    "features": None,
    "n_classes": 2,
    "n_experts": 2,
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"item_idx": [0, 3]}, r"item_idx must lie in 0..2, got 3 for item 1"),
        ({"expert_idx": [-1, 0]}, r"expert_idx must lie in 0..1, got -1 for item 0"),
        ({"label_idx": [0, 2, 1]}, r"label_idx must lie in 0..1, got 2 for item 1"),
        ({"label_idx": NOBODY}, "label_idx must hold at least one item"),
        ({"item_idx": [0.0, 1.0]}, "item_idx must be whole numbers, got dtype float64"),
        ({"expert_idx": [0]}, "expert_idx must have 2 items like the other arguments, got 1"),
        ({"item_idx": [1, 1], "expert_idx": [0, 0]}, "got item 1 of expert 0 twice; keep one"),
        ({"features": [[1.0]]}, "features must have 3 rows, one per item, got 1"),
        ({"features": [[1.0], [np.nan], [0.0]]}, "features must be finite"),
        ({"n_experts": -1}, "n_experts must be a whole number of at least 0, got -1"),
        ({"n_classes": 1.5}, "n_classes must be a whole number of at least 0, got 1.5"),
        ({"classes": ["a"]}, "classes must be 2 names, one per class, got 1"),
        ({"expert_names": ["a"]}, "expert_names must be 2 names"),
    ],
)
def test_wrong_input_is_named(wrong, message):
    with pytest.raises(InputError, match=message):
        check_answering(**{**GOOD, **wrong})


def test_nothing_can_be_changed_afterwards():
    found = check_answering(**GOOD)
    assert isinstance(found, AnsweringCheck)
    with pytest.raises(ValueError, match="read-only"):
        found.rates[0, 0] = 1


@pytest.mark.skipif("DEFERO_DATA" not in os.environ, reason="DEFERO_DATA names no folder with the public data sets")
@pytest.mark.parametrize("name", ["sentiment-polarity-crowd", "keswani-toxicity", "labelme-crowd"])
def test_crowds_that_were_dealt_their_work_give_no_alarm(name):
    from defero.datasets import load_dataset

    table = load_dataset(name)
    item, expert = np.nonzero(table.observed)
    found = check_answering(
        item, expert, table.label_idx, n_classes=len(table.classes), n_experts=table.observed.shape[1]
    )
    assert not found.depends_on_label
