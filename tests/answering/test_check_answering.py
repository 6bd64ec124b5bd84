"""Does the check speak where answering depends on the label, and keep silent where it does not?"""

import os
import time
import tracemalloc

import numpy as np
import pytest
from answering_studies import (
    AT_RANDOM,
    BY_FEATURES,
    at_random_five_of_203,
    by_features,
    by_one_of_many,
    by_taste,
    checked,
    few_of_many,
    one_expert,
)
from hypothesis import given
from hypothesis import strategies as st

from defero.answering import AnsweringCheck, check_answering
from defero.answering.chances import expert_chances, label_left_over
from defero.answering.inputs import who_answered
from defero.answering.wording import UNSEEN
from defero.core.errors import InputError

NOBODY = np.empty(0, dtype=int)


def anything(found):
    return found.depends_on_label or found.depends_on_features


def test_label_dependent_answering_raises_the_warning():
    found = checked(one_expert(0, rates=(0.2, 0.9), n=10_000))
    assert found.depends_on_label
    assert not found.depends_on_features
    np.testing.assert_allclose(found.answers_by_class, [0.2, 0.9], atol=0.02)
    assert found.shift == pytest.approx(0.359, abs=0.03)  # 0.27 / 0.41 - 0.3
    words = found.describe()
    told = (
        "Whether a case was answered depends on its label (p at most 0.01, adjusted for three questions): class 1 got"
    )
    assert words[0].startswith(told)
    assert "answer_weights='label'." in words[1]
    after = found.describe(weighted="label")
    assert (after[0], after[2:]) == (words[0], words[2:])
    assert "were weighted" in after[1]
    assert "answer_weights=" not in after[1]
    assert words[-1] == UNSEEN


def test_label_dependent_answering_always_raises_it():
    assert all(checked(one_expert(seed, rates=(0.2, 0.9), n=300)).depends_on_label for seed in range(20))


def test_at_random_two_hundred_studies_give_few_alarms():
    alarms = [
        anything(checked(one_expert(seed, rates=(0.41, 0.41)), rng=np.random.default_rng(seed))) for seed in range(200)
    ]
    assert np.mean(alarms) <= 0.085


def test_at_random_five_of_203_experts_give_few_alarms():
    alarms = [anything(checked(at_random_five_of_203(seed), rng=np.random.default_rng(seed))) for seed in range(30)]
    assert np.mean(alarms) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("study", AT_RANDOM, ids=lambda study: study.__name__)
def test_at_random_in_every_way_gives_few_alarms(study):
    alarms = [anything(checked(study(seed), rng=np.random.default_rng(seed))) for seed in range(200)]
    assert np.mean(alarms) <= 0.085


@pytest.mark.parametrize("study", BY_FEATURES, ids=lambda study: study.__name__)
def test_answering_by_the_features_is_told_and_is_no_alarm(study):
    found = [checked(study(seed), rng=np.random.default_rng(seed)) for seed in range(4)]
    assert sum(one.depends_on_features for one in found) >= 3
    assert not any(one.depends_on_label for one in found)


@pytest.mark.slow
@pytest.mark.parametrize("study", BY_FEATURES, ids=lambda study: study.__name__)
def test_answering_by_the_features_gives_few_alarms(study):
    assert (
        np.mean([checked(study(seed), rng=np.random.default_rng(seed)).depends_on_label for seed in range(100)]) <= 0.1
    )


def test_answering_by_the_features_alarms_where_they_are_not_known():
    item, expert, label, _, n_classes, n_experts = by_features(0)
    assert check_answering(item, expert, label, n_classes=n_classes, n_experts=n_experts).depends_on_label


def test_answering_by_features_and_label_is_an_alarm():
    item, expert, label, x, n_classes, n_experts = by_features(0)
    kept = np.random.default_rng(0).random(len(item)) < np.where(label[item] == 1, 0.9, 0.5)
    found = check_answering(item[kept], expert[kept], label, x, n_classes=n_classes, n_experts=n_experts)
    assert found.pool_depends
    assert found.depends_on_features
    assert any("answer_weights='label+features'" in one for one in found.describe())
    assert "beyond what the features predict" in found.describe()[0]


def test_taste_shows_although_each_item_got_five_answers():
    found = checked(by_taste(0))
    assert np.isnan(found.p_pool)
    assert found.experts_differ
    assert found.depends_on_label
    assert "Who answered which class differs from expert to expert" in found.describe()[0]


def test_one_of_many_is_named():
    for seed in range(5):
        found = checked(by_one_of_many(seed), classes=["dog", "cat"])
        assert found.dependent_experts.tolist() == [7]
        assert found.oddest[7] in (0, 1)
        assert not found.pool_depends
    told = next(one for one in found.describe() if one.startswith("Of the answers of expert_7"))
    assert "where 5" in told or "where 4" in told  # about half were expected of either class


def test_p_values_of_experts_are_adjusted_for_experts_classes_and_questions():
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=300)
    item, expert = np.nonzero(rng.random((300, 4)) < np.where(label[:, None] == np.arange(4), 0.4, 0.2))
    found = check_answering(item, expert, label, n_classes=3, n_experts=4)
    who = who_answered(item, expert, label, n_classes=3, n_experts=4)
    raw = expert_chances(who, label_left_over(label, np.empty((300, 0)))).min(axis=1)
    least = np.argmin(raw)
    assert found.p_expert[least] == pytest.approx(3 * 4 * 3 * raw[least])  # questions, experts, classes
    assert 0 < found.p_expert[least] < 1
    assert found.p_label == min(found.p_pool, found.p_spread, found.p_expert[least])


def test_a_shift_too_small_to_matter_is_no_alarm_of_the_pool():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 30_000)
    item = np.flatnonzero(rng.random(60_000) < np.where(label == 1, 0.515, 0.50))
    found = check_answering(item, np.zeros(len(item), int), label, n_classes=2, n_experts=1)
    assert found.p_pool < 0.05
    assert not found.pool_depends


@pytest.mark.parametrize(
    ("case", "first"),
    [
        ((NOBODY, NOBODY, [0, 1, 0], 2, 2), "No answers"),
        ((NOBODY, NOBODY, [0, 1, 0], 2, 0), "No answers"),
        (([0, 1], [0, 0], [0, 0, 0], 1, 1), "Not enough variation to test whether the 2 answers "),
        (([0], [0], [0], 1, 1), "Not enough variation to test whether the 1 answer "),
        (([0, 1, 2], [0, 0, 0], [0, 1, 0], 2, 1), "No sign that answering depends on the label (3 answers)"),
        (([0], [0], [0, 1], 2, 1), "No sign that answering depends on the label (1 answer)"),
    ],
)
def test_edges_are_silent(case, first):
    item, expert, label, n_classes, n_experts = case
    found = check_answering(item, expert, label, n_classes=n_classes, n_experts=n_experts)
    assert not found.depends_on_label
    assert not found.depends_on_features
    assert found.describe()[0].startswith(first)
    assert found.p_expert.shape == (n_experts,)


def test_who_answered_everything_tells_nothing():
    label = np.array([0, 1] * 50)
    everything = np.arange(100)
    found = check_answering(everything, np.zeros(100, int), label, np.eye(100)[:, :3], n_classes=2, n_experts=1)
    assert np.isnan(found.p_pool)
    assert np.isnan(found.p_features)
    assert found.p_expert.tolist() == [1.0]
    assert not found.depends_on_label


def test_who_never_saw_a_class_cannot_be_cured():
    label = np.array([0, 1] * 50)
    item = np.concatenate([np.arange(100), np.flatnonzero(label == 1)])
    expert = np.repeat([0, 1], [100, 50])
    found = check_answering(item, expert, label, n_classes=3, n_experts=2, expert_names=["ann", "bob"], classes="abc")
    assert found.dependent_experts.tolist() == [1]
    assert any(one.startswith("Some never answered a class") and "bob (class a)" in one for one in found.describe())
    assert np.isnan(found.answers_by_class[2])
    alone = check_answering(item[100:], expert[100:], label, n_classes=2, n_experts=2)
    assert any(one.startswith("Nobody answered a case of class 0") for one in alone.describe())


@pytest.mark.parametrize("shape", [(100, 300), (100, 900)])
def test_more_features_than_items(shape):
    rng = np.random.default_rng(0)
    item, expert = np.nonzero(rng.random((100, 3)) < 0.3)
    found = check_answering(item, expert, rng.integers(2, size=100), rng.normal(size=shape), n_classes=2, n_experts=3)
    assert not anything(found)


@given(st.integers(0, 10_000))
def test_experts_and_answers_may_come_in_any_order(seed):
    rng = np.random.default_rng(seed)
    label, x = rng.integers(3, size=40), rng.normal(size=(40, 2))
    item, expert = np.nonzero(rng.random((40, 4)) < 0.4)
    found = check_answering(item, expert, label, x, n_classes=3, n_experts=4)
    order, other = rng.permutation(len(item)), rng.permutation(4)
    again = check_answering(item[order], other[expert[order]], label, x, n_classes=3, n_experts=4)
    np.testing.assert_allclose(again.p_expert[other], found.p_expert, rtol=1e-9)
    np.testing.assert_allclose(again.rates[other], found.rates)
    np.testing.assert_allclose(again.expert_shift[other], found.expert_shift, atol=1e-12)
    assert (again.p_pool, again.depends_on_label) == (found.p_pool, found.depends_on_label)


def test_ten_thousand_items_and_800_experts_take_seconds_and_little_memory():
    rng = np.random.default_rng(0)
    item, expert = few_of_many(rng, 10_000, 800)
    label, x = rng.integers(4, size=10_000), rng.normal(size=(10_000, 20))
    expert[label[item] == 3] %= 400  # so that no test can stop early
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
        ({"expert_idx": [0]}, "expert_idx must have 2 entries like item_idx, got 1"),
        ({"item_idx": [1, 1], "expert_idx": [0, 0]}, "got item 1 of expert 0 twice; keep one"),
        ({"features": [[1.0]]}, "features must have 3 rows, one per item, got 1"),
        ({"features": [[1.0], [np.nan], [0.0]]}, "features must be finite"),
        ({"n_experts": -1}, "n_experts must be a whole number, 0 or more, got -1"),
        ({"n_classes": True}, "n_classes must be a whole number, 0 or more, got True"),
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
