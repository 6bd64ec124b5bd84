"""The log loss of heads: padded answers give what a loop over experts gives."""

import numpy as np
import pytest

from defero.learn.log_loss import ExpertLogLoss


def log_loss(counts: list[int], *, n_items: int = 30, d: int = 3) -> ExpertLogLoss:
    rng = np.random.default_rng(0)
    expert = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    item = rng.integers(0, n_items, len(expert))
    right, weight = rng.random(len(expert)) < 0.7, rng.uniform(0.5, 2.0, len(expert))
    phi = rng.normal(size=(n_items, d))
    return ExpertLogLoss.of(phi, item, expert, right, n_experts=len(counts), weight=weight)


@pytest.mark.parametrize("counts", [[5, 7, 6], [0, 4, 3], [1], [20, 20, 20, 20]])
def test_padded_answers_give_the_same_loss_and_derivatives(counts: list[int]) -> None:
    plain = log_loss(counts)
    padded = plain.padded()
    assert padded is not plain
    rng = np.random.default_rng(1)
    for experts in (np.arange(len(counts)), np.arange(len(counts))[::-1], np.flatnonzero(plain.counts)[:2]):
        heads, halves = rng.normal(size=(len(experts), 3)), rng.normal(size=(len(experts), 3, 3))
        np.testing.assert_allclose(padded.loss(heads, experts), plain.loss(heads, experts), atol=1e-12)
        for ours, twin in zip(padded.slopes(heads, experts), plain.slopes(heads, experts), strict=True):
            np.testing.assert_allclose(ours, twin, atol=1e-12)
        expected = plain.tilts(heads, halves, experts)
        np.testing.assert_allclose(padded.tilts(heads, halves, experts), expected, atol=1e-12)


@pytest.mark.parametrize("counts", [[], [0, 0]])
def test_nobody_has_answered(counts: list[int]) -> None:
    nobody = np.zeros(0, dtype=np.int64)
    assert log_loss(counts).padded().loss(np.empty((0, 3)), nobody).shape == (0,)


def test_one_busy_expert_among_many_is_not_padded() -> None:
    uneven = log_loss([400] + [2] * 40)
    assert uneven.padded() is uneven
