"""Two stages after one classifier: what is learned from, what is left for calibration, and what stays as it is."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from defero import TwoStageDeferral
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool
from defero_verma2023.training.two_stage import FinishedNetwork, after_one_classifier

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


def test_it_is_shrunk_heads_beside_the_network_as_it_is(halves):
    fit, _ = halves
    validation, test = outputs(0), outputs(1)
    team = after_one_classifier(validation, test, POOL, seed=7)
    answers = POOL.draw(validation.labels, rng=np.random.default_rng([7, 1]))
    network = FrozenEstimator(FinishedNetwork().fit(validation.class_logits, validation.labels))
    twin = TwoStageDeferral(network, heads="shrunk")
    twin.fit(validation.class_logits[fit], validation.labels[fit], experts=answers[fit])
    np.testing.assert_allclose(
        team.test.scores.expert_proba, twin.predict_expert_proba(test.class_logits), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(team.test.scores.class_proba, test.scores.class_proba, rtol=1e-9)


def test_a_finished_network_says_what_it_believes():
    logits = np.log([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    network = FinishedNetwork().fit(logits, np.array([0, 2]))
    np.testing.assert_array_equal(network.predict(logits), [0, 2])
    assert network.score(logits, [0, 1]) == 0.5
