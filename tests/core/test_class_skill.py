import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero import InputError
from defero.core.posterior import ClassSkill, uniform_errors


def drawn(seed):
    rng = np.random.default_rng(seed)
    n, j, k = rng.integers(1, 5), rng.integers(0, 4), rng.integers(2, 5)
    errors = (1 - np.eye(k)) * rng.uniform(0.1, 1.0, (k, k))
    return ClassSkill(rng.random((n, j, k)), errors / errors.sum(axis=1, keepdims=True)), rng


def test_by_hand():
    skill = ClassSkill(np.array([[[0.9, 0.6, 0.5]]]), np.array([[0, 0.25, 0.75], [0.5, 0, 0.5], [0.2, 0.8, 0]]))
    one = np.array([0])
    assert skill.likelihood(one, one)[0] == pytest.approx(
        np.array([[0.9, 0.025, 0.075], [0.2, 0.6, 0.2], [0.1, 0.4, 0.5]])
    )
    assert np.exp(skill.log_likelihood(one, one, np.array([1]), eps=1e-6)[0]) == pytest.approx([0.025, 0.6, 0.4])


@given(st.integers(0, 10_000))
def test_answers_to_each_truth_add_up_to_one_and_both_forms_agree(seed):
    skill, rng = drawn(seed)
    items, experts = np.nonzero(np.ones(skill.shape[:2], dtype=bool))
    table = skill.likelihood(items, experts, eps=1e-6)
    assert table.shape == (len(items), skill.shape[2], skill.shape[2])
    assert table.sum(axis=2) == pytest.approx(np.ones(table.shape[:2]))
    said = rng.integers(skill.shape[2], size=len(items))
    logs = skill.log_likelihood(items, experts, said, eps=1e-6)
    for a in range(len(items)):  # the slow twin, as it is written
        for k in range(skill.shape[2]):
            right = min(max(skill.right[items[a], experts[a], k], 1e-6), 1 - 1e-6)
            slow = right if said[a] == k else (1 - right) * skill.errors[k, said[a]]
            assert table[a, k, said[a]] == pytest.approx(slow)
            assert logs[a, k] == pytest.approx(np.log(slow))


def test_certainty_is_clipped_and_no_logarithm_is_infinite():
    skill = ClassSkill(np.array([[[0.0, 1.0]]]), uniform_errors(2))
    one = np.array([0])
    assert np.isfinite(skill.log_likelihood(one, one, np.array([0]), eps=1e-6)).all()
    assert skill.likelihood(one, one)[0].tolist() == [[0.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("right", "errors", "message"),
    [
        (np.zeros((2, 2)), uniform_errors(2), r"right must have shape \(n, J, K\) with two or more classes"),
        (np.zeros((2, 2, 1)), np.zeros((1, 1)), "two or more classes"),
        (np.full((1, 1, 2), 1.5), uniform_errors(2), r"right must be probabilities in \[0, 1\]"),
        (np.full((1, 1, 2), np.nan), uniform_errors(2), r"right must be probabilities in \[0, 1\]"),
        (np.zeros((1, 1, 2)), uniform_errors(3), r"errors must have shape \(2, 2\), got \(3, 3\)"),
        (np.zeros((1, 1, 2)), np.full((2, 2), 0.5), "errors must be 0 on the diagonal"),
        (np.zeros((1, 1, 3)), np.eye(3)[[1, 2, 0]], "errors must be 0 on the diagonal, positive elsewhere"),
        (np.zeros((1, 1, 2)), 2 * uniform_errors(2), "sum to 1 in each row"),
    ],
)
def test_what_it_refuses(right, errors, message):
    with pytest.raises(InputError, match=message):
        ClassSkill(right, errors)
