import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core import InputError
from defero.judge import calibration_by_group, skill_by_class, wilson_interval


@given(st.integers(0, 40), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_groups_equal_the_obvious_loop(n_items, n_experts, seed):
    rng = np.random.default_rng(seed)
    shape = n_items, n_experts
    confidence, correct, observed = rng.random(shape), rng.random(shape) < 0.5, rng.random(shape) < 0.6
    groups = rng.choice(["c", "a", "b"], n_items)
    found = calibration_by_group(confidence, correct, groups, observed=observed, level=0.9)
    assert found.groups.tolist() == sorted(set(groups.tolist()))
    assert found.count.shape == (len(found.groups), n_experts)
    for g, group in enumerate(found.groups):
        inside = observed & (groups == group)[:, None]
        for j in range(n_experts):
            check(found.count[g, j], found.promised[g, j], found.accuracy[g, j], (found.low[g, j], found.high[g, j]),
                  confidence[inside[:, j], j], correct[inside[:, j], j])  # fmt: skip


def check(count, promised, realised, ends, confidence, correct):
    assert count == len(confidence)
    if count:
        assert (promised, realised) == pytest.approx((confidence.mean(), correct.mean()))
        assert ends == wilson_interval(correct.sum(), count, level=0.9)
    else:
        assert np.isnan([promised, realised, *ends]).all()


def test_one_forecaster_and_numbered_groups():
    found = calibration_by_group([0.9, 0.7, 0.2], [1, 0, 0], [5, 5, -1])
    assert found.groups.tolist() == [-1, 5]
    assert found.count.tolist() == [[1], [2]]
    assert found.promised.ravel() == pytest.approx([0.2, 0.8])
    assert found.accuracy.tolist() == [[0.0], [0.5]]
    with pytest.raises(ValueError, match="read-only"):
        found.promised[0] = 0.0


def test_an_expert_who_is_honest_overall_is_not_so_given_the_true_class():
    # Right on every item of class 0 and on none of class 1; the item gives no hint: 0.5 is honest.
    label_idx = np.arange(1000) % 2
    correct = (label_idx == 0)[:, None]
    predicted = np.arange(1000) // 2 % 2
    honest = calibration_by_group(np.full((1000, 1), 0.5), correct, predicted)
    np.testing.assert_array_equal(honest.accuracy, [[0.5], [0.5]])
    skill = skill_by_class(correct, label_idx, 2)
    np.testing.assert_array_equal(skill.accuracy, [[1.0, 0.0]])


@given(st.integers(0, 40), st.integers(1, 3), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_skill_equals_the_obvious_loop(n_items, n_experts, n_classes, seed):
    rng = np.random.default_rng(seed)
    label_idx, observed = rng.integers(0, n_classes, n_items), rng.random((n_items, n_experts)) < 0.6
    correct = rng.random((n_items, n_experts)) < 0.5
    skill = skill_by_class(correct, label_idx, n_classes, observed=observed, level=0.9)
    assert skill.accuracy.shape == skill.low.shape == (n_experts, n_classes)
    for j in range(n_experts):
        for k in range(n_classes):
            right = [correct[i, j] for i in range(n_items) if label_idx[i] == k and observed[i, j]]
            assert skill.count[j, k] == len(right)
            accuracy = np.mean(right) if right else np.nan
            assert skill.accuracy[j, k] == pytest.approx(accuracy, nan_ok=True)
            expected = wilson_interval(sum(right), len(right), level=0.9)
            np.testing.assert_array_equal((skill.low[j, k], skill.high[j, k]), expected)


def test_nothing_at_all_has_a_shape():
    assert calibration_by_group([], [], []).promised.shape == (0, 1)
    assert calibration_by_group(np.zeros((2, 0)), np.zeros((2, 0)), [0, 1]).count.shape == (2, 0)
    assert skill_by_class(np.zeros((0, 2)), np.zeros(0, int), 3).count.tolist() == [[0, 0, 0]] * 2
    assert skill_by_class([1, 0], [0, 0], 1).accuracy.tolist() == [[0.5]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: calibration_by_group([0.5], [1], ["a", "b"]), "groups must have 1 items"),
        (lambda: calibration_by_group([0.5], [1], [None]), "groups must be given in every row, got none"),
        (
            lambda: calibration_by_group([0.5, 0.5], [1, 1], np.array(["a", 1], dtype=object)),
            "groups must be all names or all numbers, got both",
        ),
        (lambda: calibration_by_group([0.5], [1], ["a"], level=2), "level must lie in"),
        (lambda: skill_by_class([[1]], [1], 1), r"label_idx must lie in 0\.\.0, got 1 for item 0"),
        (lambda: skill_by_class([[1]], [0.0], 1), "label_idx must be whole numbers"),
        (lambda: skill_by_class([[1]], [0, 1], 2), "label_idx must have 1 items"),
        (lambda: skill_by_class([[2]], [0], 2), "correct must be True or False"),
        (lambda: skill_by_class([[1]], [0], 0), "n_classes must be a whole number of at least 1"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
