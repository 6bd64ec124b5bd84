"""A weighted mean of several models of the classes, in log-probabilities, with a map of the largest one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.codec import Within
from defero.core.errors import InputError
from defero.core.scores import Scores, logit, sigmoid, softmax
from defero.scorers import Scorer
from defero.scorers.network import NetworkScorer
from defero.scorers.trees import TreesScorer

KINDS: dict[str, type[Scorer]] = {"trees": TreesScorer, "network": NetworkScorer}
"""What can be blended: a folder cannot nest blends in blends."""
MOST_PARTS = 8
_TINY = 1e-12
_MOST_LOG_ODDS = 7.0
"""Probabilities beyond 0.999 are taken as that where the largest is mapped."""


def _identity() -> FloatArray:
    return np.array([0.0, 1.0])


@dataclass(frozen=True, eq=False)
class BlendScorer:
    """P(y = k | x) proportional to the product of p_b(k)^w_b over the parts b.

    Attributes
    ----------
    parts : B scorers with J = 0
    weights : (B,)
        Not negative.
    top : (2,)
        a and b of the map of the largest class probability q, logit P = a + b logit q; (0, 1) changes nothing.
    """

    kind: ClassVar[str] = "blend"
    parts: Annotated[tuple[Annotated[Scorer, KINDS], ...], Within(1, MOST_PARTS)]
    weights: FloatArray
    top: FloatArray = field(default_factory=_identity)

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.parts),) or not (np.isfinite(self.weights) & (self.weights >= 0)).all():
            raise InputError(f"must be {len(self.parts)} numbers of at least 0.", argument="weights")
        if self.top.shape != (2,) or not np.isfinite(self.top).all() or self.top[1] < 0:
            raise InputError("must be two finite numbers, the second at least 0.", argument="top")
        odd = [part.kind for part in self.parts if part.kind not in KINDS]
        if odd or not self.parts:
            raise InputError(f"must be scorers of the kinds {', '.join(KINDS)}, got {odd}.", argument="parts")

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features; no experts."""
        class_proba = blended([part.score(features).class_proba for part in self.parts], self.weights)
        if (self.top != _identity()).any():
            class_proba = with_top(class_proba, self.top)
        return Scores.from_probabilities(class_proba, np.empty((len(features), 0)))


def blended(class_probas: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """Return the weighted geometric mean of B class probabilities (n, K), normalised.

    >>> blended([np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])], np.array([1.0, 1.0])).round(3).tolist()
    [[0.9, 0.1]]
    """
    logits = sum(w * np.log(np.maximum(proba, _TINY)) for w, proba in zip(weights, class_probas, strict=True))
    return softmax(np.asarray(logits))


def with_top(class_proba: FloatArray, top: FloatArray) -> FloatArray:
    """Return class probabilities (n, K) whose largest one q is mapped by logit P = a + b logit q.

    The other classes share the rest as before. The largest stays the largest.

    >>> with_top(np.array([[0.6, 0.3, 0.1]]), np.array([0.5, 1.0])).round(3).tolist()
    [[0.712, 0.216, 0.072]]
    >>> with_top(np.array([[0.5, 0.4, 0.1]]), np.array([-9.0, 1.0])).round(3).tolist()  # no lower than the second
    [[0.444, 0.444, 0.111]]
    """
    if class_proba.shape[1] < 2:
        return class_proba
    rows, first = np.arange(len(class_proba)), class_proba.argmax(axis=1)
    largest = class_proba[rows, first]
    others = np.maximum(class_proba, _TINY)
    others[rows, first] = 0.0
    others /= others.sum(axis=1, keepdims=True)
    a, b = top
    mapped = sigmoid(a + b * np.clip(logit(largest), -_MOST_LOG_ODDS, _MOST_LOG_ODDS))
    second = others.max(axis=1)
    mapped = np.maximum(mapped, second / (1 + second) * (1 + _TINY))
    proba = others * (1 - mapped)[:, None]
    proba[rows, first] = mapped
    return proba
