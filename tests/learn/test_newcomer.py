"""A newcomer is one more draw from where the members came from: a Gaussian process with their spread, solved twice."""

import numpy as np
import pytest

from defero.learn.newcomer import LEAST_OFFSET_SD, WEIGHT_VARIANCE, newcomer_weights


def setting(m, n_members, seed=0, spread=0.2):
    rng = np.random.default_rng(seed)
    values = np.clip(0.5 + rng.normal(size=(m, 1)) * 0.1 + rng.normal(size=(m, n_members)) * spread, 0, 1)
    return values, rng


@pytest.mark.parametrize("n_members", [2, 5])
def test_the_weights_are_those_of_a_gaussian_process(n_members):
    values, rng = setting(30, n_members)
    new, _ = setting(7, n_members, seed=1)
    scores = (rng.random(30) < values.mean(axis=1)).astype(float)
    weights, offset = newcomer_weights(values, scores, level_sd=0.0, noise=0.2)

    def covariance(a, b):
        from_mean = [one - one.mean(axis=1, keepdims=True) for one in (a, b)]
        return WEIGHT_VARIANCE / n_members * from_mean[0] @ from_mean[1].T + LEAST_OFFSET_SD**2

    known = covariance(values, values) + 0.2 * np.eye(30)
    slow = new.mean(axis=1) + covariance(new, values) @ np.linalg.solve(known, scores - values.mean(axis=1))
    np.testing.assert_allclose(new @ weights + offset, slow, atol=1e-10)
    assert weights.sum() == pytest.approx(1)


def test_members_who_agree_leave_little_room_and_many_scores_still_win():
    values, rng = setting(400, 4, spread=0.01)
    truth = values[:, 0] + 0.35
    scores = (rng.random(400) < truth).astype(float)
    errors = []
    for n in (0, 20, 400):
        weights, offset = newcomer_weights(values[:n], scores[:n], level_sd=0.01, noise=0.2)
        errors.append(abs((values @ weights + offset - truth).mean()))
    assert errors[0] == pytest.approx(0.35, abs=0.01)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.04


def test_luck_in_twenty_scores_does_not_make_a_newcomer_the_best():
    """All members, and the newcomer, are equal: whoever is called best must not be the one with few scores."""
    called_best = 0
    for seed in range(100):
        values, rng = setting(20, 5, seed=seed, spread=0.02)
        weights, offset = newcomer_weights(values, (rng.random(20) < 0.5).astype(float), level_sd=0.02, noise=0.25)
        called_best += (values @ weights + offset > values.max(axis=1)).mean()
    assert called_best / 100 < 0.05
