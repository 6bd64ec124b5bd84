"""Where skill goes by the class, heads that look at what the classifier believes know better who is right."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from defero import TwoStageDeferral

K, N = 8, 3_000


class Softmax(ClassifierMixin, BaseEstimator):
    classes_ = np.arange(K)

    def fit(self, x, y):
        return self

    def predict_proba(self, x):
        return softmax(x, axis=1)

    def __sklearn_is_fitted__(self):
        return True


def cases(seed):
    """Logits of a good network, labels, and answers of two people who each know half of the classes."""
    rng = np.random.default_rng(seed)
    label = rng.integers(K, size=N)
    logits = 6.0 * np.eye(K)[label] + 1.5 * rng.normal(size=(N, K))
    knows = np.stack([label < K // 2, label >= K // 2], axis=1)
    right = rng.random((N, 2)) < np.where(knows, 0.9, 0.2)
    wrong = (label[:, None] + rng.integers(1, K, size=(N, 2))) % K
    return logits, label, np.where(right, label[:, None], wrong)


def log_loss(team, seed):
    logits, label, said = cases(seed)
    right = said == label[:, None]
    proba = np.clip(team.predict_expert_proba(logits), 1e-6, 1 - 1e-6)
    return -np.log(np.where(right, proba, 1 - proba)).mean()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_shrunk_heads_look_at_the_classes_and_own_heads_do_not(seed):
    logits, label, said = cases(seed)
    own, shrunk = (
        log_loss(TwoStageDeferral(FrozenEstimator(Softmax()), heads=heads).fit(logits, label, experts=said), 100 + seed)
        for heads in ("separate", "shrunk")
    )
    known = -np.mean([p * np.log(p) + (1 - p) * np.log(1 - p) for p in (0.9, 0.2)])  # whoever knew the class
    assert known < shrunk < own
    assert shrunk - known < 0.6 * (own - known)
