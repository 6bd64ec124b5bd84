"""Two stages after one classifier: what is learned from, what is left for calibration, and what stays as it is."""

import numpy as np
import pytest
from scipy.special import softmax

from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool
from defero_verma2023.training.two_stage import after_one_classifier, head_features

N, K, J = 500, 10, 3
POOL = cifar10_sim1_pool(n_experts=J, variant="as_published")


def outputs(seed, n=N):
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=n)
    logits = 3.0 * np.eye(K)[labels] + rng.normal(size=(n, K))
    return TeamOutputs("softmax", logits, np.empty((n, 0)), np.empty((n, 0), np.int64), labels)


def changed(part, rows):
    """The same outputs, with other logits and labels in some rows."""
    logits, labels = part.class_logits.copy(), part.labels.copy()
    logits[rows], labels[rows] = logits[rows][:, ::-1], (labels[rows] + 1) % K
    return TeamOutputs("softmax", logits, part.expert_logits, part.answers, labels)


@pytest.fixture(scope="module")
def halves():
    """Rows that are learned from, and rows that are left, as seed 7 deals them."""
    rows = np.random.default_rng([7, 3]).permutation(N)
    return np.sort(rows[: N // 2]), np.sort(rows[N // 2 :])


def test_half_is_learned_from_and_the_other_half_is_left(halves):
    fit, left = halves
    validation, test = outputs(0), outputs(1)
    team = after_one_classifier(validation, test, POOL, seed=7)
    assert team.recipe["n_fit"] == len(fit)
    np.testing.assert_array_equal(team.validation.labels, validation.labels[left])
    same = after_one_classifier(changed(validation, left), test, POOL, seed=7)
    other = after_one_classifier(changed(validation, fit), test, POOL, seed=7)
    np.testing.assert_array_equal(same.test.scores.expert_proba, team.test.scores.expert_proba)
    assert not np.allclose(other.test.scores.expert_proba, team.test.scores.expert_proba, atol=0.01)


def test_what_the_heads_say_is_known():
    """The heads of the kept runs expected more of features: of 250 answers each they said up to 0.11 more or less."""
    test = outputs(1)
    team = after_one_classifier(outputs(0), test, POOL, seed=7)
    known = [[0.662486, 0.731501, 0.614141], [0.671616, 0.699751, 0.649624], [0.031693, 0.026737, 0.038438]]
    np.testing.assert_allclose(team.test.scores.expert_proba[:3], known, rtol=0, atol=1e-6)
    np.testing.assert_allclose(team.test.scores.class_proba, test.scores.class_proba, rtol=1e-9)


def test_heads_read_what_a_finished_network_believes_as_it_is():
    logits = np.log([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    read, proba = head_features(logits), softmax(logits, axis=1)
    log_odds = np.log(proba / (1 - proba))
    np.testing.assert_allclose(read, np.column_stack([proba[:, :2], log_odds, log_odds.max(axis=1), logits]))
    assert np.abs(head_features(np.array([[0.0, 900.0, 0.0]]))[0, :6]).max() == 7  # nobody is quite sure
