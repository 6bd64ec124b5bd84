"""Near-copies are found, strangers are left alone, and hard items fool nobody."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools_of_experts import pool

from defero.core.errors import InputError
from defero.judge import shared_errors

HIDDEN = {"hidden": 2.0, "loads": (0.2, 1.8)}
LAWS = {
    "strangers": {},
    "two classes": {"n_classes": 2},
    "ten classes": {"n_classes": 10},
    "hidden difficulty": HIDDEN,
    "hidden difficulty, two classes": {**HIDDEN, "n_classes": 2},
    "miscalibrated": {"seen": 1.0, "miscalibrated": 0.3},
    "miscalibrated and hidden": {"seen": 1.0, "miscalibrated": 0.3, **HIDDEN},
    "each class its own skill": {"by_class": 1.5},
}
RARE = {"accuracy": (0.95, 0.99), **HIDDEN}


def alarms(n_simulations, **law):
    return sum(bool(shared_errors(*pool(seed, **law)).pairs) for seed in range(n_simulations))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_strangers_are_named_in_at_most_8_of_100_simulations(law):
    assert alarms(100, **law) <= 8


def test_strangers_who_rarely_err_are_left_alone_on_hard_items():
    assert alarms(100, **RARE) <= 8


@pytest.mark.parametrize("n_experts", [2, 3, 4, 5])
def test_few_strangers_are_left_alone_on_hard_items(n_experts):
    assert alarms(50, n_experts=n_experts, **HIDDEN) <= 4


def test_many_strangers_with_few_shared_answers_are_left_alone():
    law = {"n_experts": 60, "n": 800, "answered": 0.2, **HIDDEN}
    assert alarms(10, **law) <= 1


@pytest.mark.parametrize("law", ["strangers", "two classes", "hidden difficulty", "miscalibrated and hidden"])
def test_two_near_copies_are_found_in_at_least_98_of_100_simulations(law):
    found = [shared_errors(*pool(seed, copy=0.95, **LAWS[law])) for seed in range(100)]
    assert sum((0, 1) in {(pair.first, pair.second) for pair in one.pairs} for one in found) >= 98
    assert sum(one.groups == ((0, 1),) for one in found) >= 92
    assert np.mean([one.correlation[0, 1] for one in found]) == pytest.approx(0.95, abs=0.06)


@pytest.mark.parametrize("copies", [3, 5, 8, 10])
def test_copies_of_copies_are_one_group(copies):
    for seed in range(5):
        found = shared_errors(*pool(seed, copy=0.95, copies=copies, hidden=1.0))
        assert found.groups == (tuple(range(copies)),)


def test_two_groups_stay_two():
    answers, labels, stated = pool(0, hidden=1.0)
    answers[:450, 3], answers[:450, 9] = answers[:450, 7], answers[:450, 5]
    found = shared_errors(answers, labels, stated, expert_names=list("abcdefghij"))
    assert found.group_names == (("d", "h"), ("f", "j"))
    assert found.sentences[0] == "d and h err together: count them as one person."
    assert found.caution == "d and h err together: count them as one person. So do 1 more group of experts."


def test_a_weak_tie_is_no_copy():
    answers, labels, stated = pool(1, n=4000, copy=0.5)
    (pair,) = shared_errors(answers, labels, stated).pairs
    assert pair.correlation == pytest.approx(0.5, abs=0.08)
    assert not pair.near_copies
    assert pair.voices == pytest.approx(2 / (1 + pair.correlation))


def test_a_pair_is_counted_as_by_hand():
    answers, labels, stated = pool(2, copy=0.95, answered=0.8)
    (pair,) = shared_errors(answers, labels, stated).pairs
    both = [(a, b, y) for (a, b, *_), y in zip(answers.tolist(), labels.tolist(), strict=True) if a >= 0 and b >= 0]
    assert pair.n_shared == len(both)
    assert pair.agreement == pytest.approx(np.mean([a == b for a, b, _ in both]))
    assert pair.both_wrong == sum(a != y and b != y for a, b, y in both)
    assert pair.same_wrong == sum(a == b != y for a, b, y in both)
    assert 0 <= pair.p_value < 0.05


def test_the_matrix_is_beyond_hard_items_and_says_what_the_pairs_say():
    found = shared_errors(*pool(3, copy=0.9, n=2000, hidden=2.0))
    (pair,) = found.pairs
    assert found.correlation[0, 1] == found.correlation[1, 0] == pair.correlation
    strangers = found.correlation[np.triu_indices(10, 1)]
    strangers = strangers[strangers < 0.5]
    assert found.typical > 0.2
    assert np.abs(strangers).mean() < 0.06
    assert np.isnan(np.diag(found.correlation)).all()


@given(st.integers(0, 10**6))
def test_the_order_of_experts_items_and_classes_is_nothing(seed):
    rng = np.random.default_rng(seed)
    answers, labels, stated = pool(seed % 50, n=120, n_experts=5, copy=0.9, answered=0.8, hidden=1.0)
    found = shared_errors(answers, labels, stated)
    order, rows, renamed = rng.permutation(5), rng.permutation(120), rng.permutation(3)
    said = np.where(answers >= 0, renamed[answers], -1)
    other = shared_errors(said[rows][:, order], renamed[labels][rows], stated[rows][:, order])
    assert np.allclose(other.correlation, found.correlation[np.ix_(order, order)], equal_nan=True, atol=1e-6)
    assert (other.n_shared == found.n_shared[np.ix_(order, order)]).all()
    assert {frozenset(order[list(group)].tolist()) for group in other.groups} == {frozenset(g) for g in found.groups}
    assert np.array_equal(found.correlation, found.correlation.T, equal_nan=True)


def test_somebody_who_never_answers_changes_nothing():
    answers, labels, stated = pool(0, copy=0.95)
    found = shared_errors(answers, labels, stated)
    silent = np.column_stack([answers, np.full(500, -1)])
    other = shared_errors(silent, labels, np.column_stack([stated, np.full(500, 0.7)]))
    assert np.allclose(other.correlation[:10, :10], found.correlation, equal_nan=True)
    assert np.isnan(other.correlation[10]).all()
    assert other.groups == found.groups
    assert other.n_shared[10].tolist() == [0] * 11


def test_few_shared_answers_say_nothing():
    answers, labels, _ = pool(0, copy=1.0, n_experts=4)
    answers[19:, 1] = -1
    found = shared_errors(answers, labels)
    assert np.isnan(found.correlation[1]).all()
    assert found.pairs == ()
    answers[:, 0] = -1
    answers[:20, 0] = answers[:20, 1] = np.where(np.arange(20) % 2, labels[:20], (labels[:20] + 1) % 3)
    assert shared_errors(answers, labels).groups == ((0, 1),)


@pytest.mark.parametrize(("n", "n_experts"), [(0, 0), (0, 3), (5, 0), (30, 1), (1, 2)])
def test_little_is_no_crash(n, n_experts):
    found = shared_errors(np.zeros((n, n_experts), dtype=int), np.zeros(n, dtype=int))
    assert found.correlation.shape == found.n_shared.shape == (n_experts, n_experts)
    assert np.isnan(found.correlation).all()
    assert (found.pairs, found.groups, found.caution) == ((), (), None)
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("right", [True, False])
def test_experts_who_are_always_right_or_always_wrong_are_no_copies(right):
    labels = np.arange(300) % 2
    answers = np.repeat((labels if right else 1 - labels)[:, None], 4, axis=1)
    found = shared_errors(answers, labels, np.full(4, 1.0))
    assert found.pairs == ()


def test_json_has_the_matrix_of_fifty_experts_at_most():
    answers, labels, stated = pool(0, copy=0.95)
    told = json.loads(json.dumps(shared_errors(answers, labels, stated).to_dict(), allow_nan=False))
    assert len(told["correlation"]) == 10
    assert told["correlation"][0][0] is None
    assert told["groups"] == [["expert_0", "expert_1"]]
    assert told["pairs"][0]["experts"] == ["expert_0", "expert_1"]
    assert shared_errors(np.tile(answers, 6)[:, :51], labels).to_dict()["correlation"] is None


def test_nothing_given_is_changed_and_nothing_found_can_be():
    answers, labels, stated = pool(0)
    before = answers.copy(), labels.copy(), stated.copy()
    found = shared_errors(answers, labels, stated)
    assert all((one == other).all() for one, other in zip((answers, labels, stated), before, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        found.correlation[0, 1] = 0.0


def test_wrong_arguments_are_named():
    answers, labels, stated = pool(0, n=30)
    with pytest.raises(InputError, match=r"answers must have two axes \(n, J\)"):
        shared_errors(labels, labels)
    with pytest.raises(InputError, match="labels must have 30 items like the other arguments"):
        shared_errors(answers, labels[:5])
    with pytest.raises(InputError, match="answers must be class numbers, -1 where missing, got dtype float64"):
        shared_errors(answers * 1.0, labels)
    with pytest.raises(InputError, match="labels must be 0 or more, got -1"):
        shared_errors(answers, labels - 1)
    with pytest.raises(InputError, match="expert_proba must have shape"):
        shared_errors(answers, labels, stated[:, :3])
    with pytest.raises(InputError, match=r"expert_proba must lie in \[0, 1\]"):
        shared_errors(answers, labels, stated + 1)
    with pytest.raises(InputError, match="expert_names must be 10 names"):
        shared_errors(answers, labels, expert_names=["ann"])
    with pytest.raises(InputError, match="level must lie in"):
        shared_errors(answers, labels, level=95)
